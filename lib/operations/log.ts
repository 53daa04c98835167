/**
 * The log: one line per event, as text or as JSON. Information goes to standard output, problems to standard error. Every
 * line of a request has its id, which the response has in `X-Request-Id`.
 */
import { redact, redactValue } from '../base/redact/redact.ts'
import { shorten } from '../base/shorten.ts'
import { type Clock, fromSeconds, systemClock, toSeconds } from '../base/clock.ts'
import { isObject } from '../base/json.ts'
import { requestScope } from '../base/request-scope.ts'
import { messageOf } from '../errors.ts'
import { LOG_LEVELS, type LogLevel, type LogSettings } from '../schema/log-settings.ts'

export type FinishedRequest = {
  method: string
  /** Without the query, which may contain secrets. */
  path: string
  status: number
  ms: number
  /** Logged at the level `debug` unless it failed: health checks would fill the log. */
  isQuiet?: boolean
}

export type Log = {
  request(finished: FinishedRequest): void
  debug(text: string, extra?: unknown): void
  info(text: string, extra?: unknown): void
  /** Nothing but our own words, so nothing to mask: the first line of a start, which does not wait until all secrets are known. */
  own(text: string): void
  warn(text: string, extra?: unknown): void
  /** `error` may be any caught value, whose stack is logged, or an object with details. */
  error(text: string, error?: unknown): void
  flush(): void
  close(): void
}

/** Lines are batched for this long: one write per request would cost a third of the throughput. */
const JOIN_MS = 20
const BATCH_BYTES = 64 * 1024
/** Bytes of a UTF-16 unit. */
const MAX_UTF8 = 3
const MAX_PATH = 2_000
const MAX_MASKED = 1_000

/**
 * What a terminal or an editor does not show as it is: control characters (C0 with escape sequences, C1), and those that
 * are invisible or change the direction of text.
 */
const UNSEEN = /[\0-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

const escapeUnseen = (text: string): string =>
  text.replace(UNSEEN, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Prevents log injection: a line break in a client's input would start a new line. */
const oneLine = (text: string): string => escapeUnseen(text.replace(/\r?\n/g, ' ⏎ '))

/** JSON with the same escapes, which are valid in its strings; elsewhere it has none of these characters. */
const jsonLine = (value: unknown): string => escapeUnseen(JSON.stringify(value))

const NAMES: Readonly<Record<LogLevel, string>> = {
  error: 'error',
  warn: 'warning',
  info: 'info',
  debug: 'debug',
}

/** A closed pipe must not end the server. */
const consoleWriter = (stream: NodeJS.WriteStream) => {
  stream.on('error', () => {
    // There is no other output to report it on.
  })
  return (text: string) => void stream.write(text)
}

/** Times of the clock in whole seconds, formatted once each. */
class Stamps {
  readonly #clock: Clock
  #second = 0
  #stamp = ''

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): string {
    const at = Math.floor(toSeconds(this.#clock.now()))
    if (at !== this.#second) {
      this.#second = at
      this.#stamp = `${new Date(fromSeconds(at)).toISOString().slice(0, 19)}Z`
    }
    return this.#stamp
  }
}

/** Masked paths, as JSON. Most are asked for again and again; the results are dropped soon, because new secrets may become known. */
class MaskedPaths {
  readonly #cache = new Map<string, string>()

  of(path: string): string {
    const cached = this.#cache.get(path)
    if (cached !== undefined) return cached
    if (this.#cache.size >= MAX_MASKED) this.#cache.clear()
    const line = jsonLine(redact(shorten(path, MAX_PATH)))
    this.#cache.set(path, line)
    return line
  }
}

/** Collects lines as bytes: V8 would copy texts that wait, piece by piece. Flushes itself when it is full. */
class Batch {
  readonly #out: (text: string) => void
  #bytes: Buffer | undefined
  #size = 0

  constructor(out: (text: string) => void) {
    this.#out = out
  }

  flush(): void {
    if (this.#size === 0) return
    const text = this.#bytes!.toString('utf8', 0, this.#size)
    this.#size = 0
    this.#out(text)
  }

  add(line: string): void {
    const most = line.length * MAX_UTF8
    if (most > BATCH_BYTES - this.#size) this.flush()
    if (most > BATCH_BYTES) {
      this.#out(line)
      return
    }
    this.#bytes ??= Buffer.allocUnsafeSlow(BATCH_BYTES)
    this.#size += this.#bytes.write(line, this.#size)
  }
}

const stackOf = (error: unknown): string | undefined => {
  if (error === undefined) return undefined
  return error instanceof Error ? (error.stack ?? messageOf(error)) : String(error)
}

/** What one line says besides time and level; everything in it is masked. */
type LogLine = { text: string; extra: unknown; error: string | undefined; id: string | undefined }

type Format = (head: { ts: string; level: LogLevel; cell: string | null }, line: LogLine) => string

/** What the text form of each line begins with. */
const markOf = (cell: string | null): string => (cell === null ? '[webui]' : `[webui ${cell}]`)

const toText: Format = ({ ts, level, cell }, { text, extra, error, id }) => {
  const more = extra === undefined ? '' : ` ${JSON.stringify(extra)}`
  const request = id === undefined ? '' : ` (request ${JSON.parse(id)})`
  return `${markOf(cell)} ${ts} ${NAMES[level]}: ${oneLine(`${text}${error === undefined ? '' : `: ${error}`}${more}`)}${request}\n`
}

const toJson: Format = ({ ts, level, cell }, { text, extra, error, id }) =>
  `${jsonLine({ ts, level, cell: cell ?? undefined, message: text, request_id: id && JSON.parse(id), error, data: extra })}\n`

/** The usual ones, which are JSON with quotes around them. */
const METHOD = /^[A-Z]+$/

/** As the request listener makes them. Others come from a proxy, and could be anything. */
const OWN_ID = /^[0-9a-f]{12}-[0-9a-z]{1,12}$/

export const createLog = ({
  format = 'text',
  level: least = 'info',
  cell = null,
  clock = systemClock,
  out = consoleWriter(process.stdout),
  err = consoleWriter(process.stderr),
}: Partial<LogSettings> & {
  clock?: Clock
  out?: (text: string) => void
  err?: (text: string) => void
} = {}): Log => {
  const batch = new Batch(out)
  let timer: NodeJS.Timeout | undefined
  const stamps = new Stamps(clock)
  const paths = new MaskedPaths()
  /** As JSON. */
  const requestId = (): string | undefined => {
    const id = requestScope()?.id
    if (id === undefined) return undefined
    return OWN_ID.test(id) ? `"${id}"` : paths.of(id)
  }
  const isShown = (level: LogLevel) => LOG_LEVELS.indexOf(level) <= LOG_LEVELS.indexOf(least)
  const isInfo = isShown('info')
  const isDebug = isShown('debug')
  const [mark, ofCell] = [markOf(cell), cell === null ? '' : `,"cell":${jsonLine(cell)}`]
  const toLine = format === 'json' ? toJson : toText

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    batch.flush()
  }
  const add = (line: string) => {
    batch.add(line)
    timer ??= setTimeout(flush, JOIN_MS)
  }
  const lineOf = (level: LogLevel, line: Omit<LogLine, 'id'>) =>
    toLine({ ts: stamps.now(), level, cell }, { ...line, id: requestId() })
  const write = (level: LogLevel, text: string, extra?: unknown, error?: string) => {
    if (!isShown(level)) return
    const line = lineOf(level, {
      text: redact(text),
      extra: extra === undefined ? undefined : redactValue(extra),
      error: error && redact(error),
    })
    if (level === 'info' || level === 'debug') return add(line)
    // Problems are written immediately, after the batched lines.
    flush()
    err(line)
  }

  return {
    request({ method, path, status, ms, isQuiet = false }) {
      // A wrong token of a collector is to be found, too.
      const level = isQuiet && status < 400 ? 'debug' : 'info'
      if (level === 'debug' ? !isDebug : !isInfo) return
      const head =
        format === 'json'
          ? `{"ts":"${stamps.now()}","level":"${level}"${ofCell}`
          : `${mark} {"ts":"${stamps.now()}"`
      const id = requestId()
      add(
        `${head},"method":${METHOD.test(method) ? `"${method}"` : jsonLine(method)},"path":${paths.of(path)},"status":${status},"ms":${Math.round(ms * 10) / 10}${id === undefined ? '' : `,"request_id":${id}`}}\n`,
      )
    },
    debug: (text, extra) => write('debug', text, extra),
    info: (text, extra) => write('info', text, extra),
    own: text => void (isInfo && add(lineOf('info', { text, extra: undefined, error: undefined }))),
    warn: (text, extra) => write('warn', text, extra),
    error: (text, error) =>
      isObject(error) && !(error instanceof Error)
        ? write('error', text, error)
        : write('error', text, undefined, stackOf(error)),
    flush,
    close: flush,
  }
}
