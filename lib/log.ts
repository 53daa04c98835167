/** The log: one line per event on standard output, problems on standard error. */
import { messageOf } from './errors.ts'

export type Log = {
  /** A finished request. `path` has no query, which may contain secrets. */
  request(method: string, path: string, status: number, ms: number): void
  info(text: string, extra?: unknown): void
  warn(text: string, extra?: unknown): void
  /** `error` may be any caught value; its stack is logged. */
  error(text: string, error?: unknown): void
  flush(): void
  close(): void
}

/** Lines are batched for this long: one write per request would cost a third of the throughput (storage.md, B5). */
const JOIN_MS = 20
const MAX_PATH = 2_000

/** Prevents log injection: a line break in a client's input would start a new line. */
const oneLine = (text: string): string =>
  text.replace(/\r?\n/g, ' ⏎ ').replace(/[\0-\x1f\x7f]/g, ' ')

const extraOf = (extra: unknown): string => (extra === undefined ? '' : ` ${JSON.stringify(extra)}`)

export type LogOptions = {
  out?: (text: string) => void
  err?: (text: string) => void
  /** Removes secrets from lines that may quote input. */
  redact?: (text: string) => string
}

/** A closed pipe must not end the server. */
const consoleWriter = (stream: NodeJS.WriteStream) => {
  stream.on('error', () => {
    // There is no other output to report it on.
  })
  return (text: string) => void stream.write(text)
}

export const createLog = ({
  out = consoleWriter(process.stdout),
  err = consoleWriter(process.stderr),
  redact = text => text,
}: LogOptions = {}): Log => {
  let lines: string[] = []
  let timer: NodeJS.Timeout | undefined
  let second = 0
  let stamp = ''

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (lines.length === 0) return
    const text = lines.join('')
    lines = []
    out(text)
  }
  const add = (line: string) => {
    lines.push(line)
    timer ??= setTimeout(flush, JOIN_MS)
  }
  const now = (): string => {
    const at = Math.floor(Date.now() / 1000)
    if (at !== second) {
      second = at
      stamp = `${new Date(at * 1000).toISOString().slice(0, 19)}Z`
    }
    return stamp
  }
  /** Problems are written immediately, after the batched lines. */
  const urgent = (text: string) => {
    flush()
    err(`[webui] ${oneLine(redact(text))}\n`)
  }

  return {
    request(method, path, status, ms) {
      const name = JSON.stringify(path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path)
      add(
        `[webui] {"ts":"${now()}","method":${JSON.stringify(method)},"path":${name},"status":${status},"ms":${Math.round(ms * 10) / 10}}\n`,
      )
    },
    info: (text, extra) => add(`[webui] ${oneLine(redact(text + extraOf(extra)))}\n`),
    warn: (text, extra) => urgent(`${now()} warning: ${text}${extraOf(extra)}`),
    error(text, error) {
      const stack =
        error instanceof Error
          ? (error.stack ?? messageOf(error))
          : error === undefined
            ? ''
            : String(error)
      urgent(`${now()} error: ${text}${stack === '' ? '' : `: ${stack}`}`)
    },
    flush,
    close: flush,
  }
}
