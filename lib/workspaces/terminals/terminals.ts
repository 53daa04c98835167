/**
 * Terminals of a folder: shells that a person opened there, with the output they have shown. All chats in the folder have
 * the same ones. They outlive the page and end when they are closed, unused for a day, or with the service.
 */
import { randomBytes } from 'node:crypto'
import { basename, isAbsolute } from 'node:path'
import { userInfo } from 'node:os'
import { sentence, type Words } from '../../base/sentences.ts'
import { type Clock, every, toSeconds } from '../../base/clock.ts'
import { conflict, missing, tooMany, unavailable } from '../../errors.ts'
import type { Terminal, TerminalOutput, TerminalSize } from '../../schema/terminal.ts'
import { realPath } from '../../store/path-within.ts'
import { OutputBuffer } from './output-buffer.ts'
import { PseudoTerminal, terminalProblem } from './pseudo-terminal.ts'
import { isProgram } from '../../base/find-program.ts'

export type PersonShell = {
  command: readonly [string, ...string[]]
  env: Readonly<Record<string, string>>
}

const isShell = (path: string | null | undefined): path is string =>
  path != null && isAbsolute(path) && isProgram(path)

/** That of the passwd entry; undefined for a user without one, as in some containers. */
const passwdShell = (): string | null | undefined => {
  try {
    return userInfo().shell
  } catch {
    return undefined
  }
}

/** Accounts of services have a shell that refuses to run. */
const isInteractive = (path: string): boolean => !/^(?:nologin|false)$/.test(basename(path))

/**
 * `env` has no secrets of the service. HOME is the person's own also where the commands of a profile get another one: this
 * is the person's terminal, with the person's logins.
 */
export const personShell = (
  env: Readonly<Record<string, string>>,
  userHome: string,
): PersonShell => {
  const shells = [env.SHELL, passwdShell(), '/bin/bash'].filter(isShell)
  const shell = shells.find(isInteractive) ?? '/bin/sh'
  const hasLocale = Boolean(env.LC_ALL || env.LC_CTYPE || env.LANG)
  return {
    // A login shell on macOS, where profile files set the search path and other terminals do the same.
    command: process.platform === 'darwin' ? [shell, '-i', '-l'] : [shell, '-i'],
    env: {
      ...env,
      // A service of the system has no locale, and without one no program prints more than ASCII.
      ...(hasLocale ? {} : { LANG: 'C.UTF-8' }),
      HOME: userHome,
      SHELL: shell,
      TERM: 'xterm-256color',
      COLORTERM: 'truecolor',
    },
  }
}

const MAX_PER_FOLDER = 8
const MAX_TERMINALS = 32
const MAX_OPENED_PER_MINUTE = 30
/** Input that the program has not read. */
const MAX_UNREAD_BYTES = 1_000_000
/** An ended terminal is listed with its exit code for this long. */
const ENDED_RETENTION_MS = 30 * 60_000
/** Closed after this long without input, output, and a page that reads it. */
const IDLE_MS = 24 * 60 * 60_000
const CHECK_MS = 10 * 60_000
/** Below the idle limit of common proxies. */
const READ_WAIT_MS = 20_000
/** Collects what a program writes at once into one reply. */
const SETTLE_MS = 4
/** About 20 MB/s are read, so that a program that prints without end does not block the event loop. */
const UNITS_PER_SLICE = 1_000_000
const SLICE_MS = 50
const MAX_CLIENTS = 50

type TerminalEntry = {
  id: string
  /** The folder, and the profile whose chats work in it. */
  place: string
  shell: string
  cwd: string
  size: TerminalSize
  /** Milliseconds since 1970. The other moments are of the monotonic clock. */
  startedAt: number
  clock: Clock
  pty: PseudoTerminal
  output: OutputBuffer
  exitCode: number | null
  endedAt: number | null
  usedAtMs: number
  /** Number of the last input of each client. */
  inputs: Map<string, number>
  /** Resolves waiting reads. */
  waiting: Set<() => void>
  slice: number
}

export type OpenTerminal = {
  command: readonly [string, ...string[]]
  cwd: string
  env: Readonly<Record<string, string>>
  size: TerminalSize
}

export type TerminalInput = { client: string; n: number; data: string }
export type TerminalRead = { after: number; signal: AbortSignal }

const toView = (entry: TerminalEntry): Terminal => ({
  terminal_id: entry.id,
  shell: entry.shell,
  cwd: entry.cwd,
  ...entry.size,
  status: entry.endedAt === null ? 'running' : 'exited',
  exit_code: entry.exitCode,
  started_at: toSeconds(entry.startedAt),
})

const wake = (entry: TerminalEntry): void => {
  for (const resume of entry.waiting) resume()
}

const addOutput = (entry: TerminalEntry, text: string): void => {
  if (text === '') return
  entry.output.append(text)
  entry.usedAtMs = entry.clock.monotonic()
  wake(entry)
  entry.slice += text.length
  if (entry.slice < UNITS_PER_SLICE) return
  entry.slice = 0
  entry.pty.setPaused(true)
  entry.clock.timer(SLICE_MS, () => entry.pty.setPaused(false))
}

/** Bounded: clients choose their names. */
const remember = <T>(map: Map<string, T>, key: string, value: T): void => {
  map.delete(key)
  map.set(key, value)
  if (map.size > MAX_CLIENTS) map.delete(map.keys().next().value!)
}

const waitForOutput = (entry: TerminalEntry, waitMs: number, signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    const finish = () => {
      cancel()
      entry.waiting.delete(settle)
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const settle = () => void entry.clock.timer(SETTLE_MS, finish)
    const cancel = entry.clock.timer(waitMs, finish)
    entry.waiting.add(settle)
    signal.addEventListener('abort', finish, { once: true })
    if (signal.aborted) finish()
  })

export class Terminals {
  readonly #options
  readonly #clock: Clock
  readonly #entries = new Map<string, TerminalEntry>()
  /** Places of terminals that are being opened. */
  readonly #opening: string[] = []
  #openedAtMs: number[] = []
  #isClosed = false
  readonly #stopChecks: () => void

  constructor(options: {
    clock: Clock
    /** Where `script` and `stty` are looked for. */
    path: string | undefined
    /** False: no terminal can be opened. */
    isEnabled: boolean
  }) {
    this.#options = options
    this.#clock = options.clock
    this.#stopChecks = every(this.#clock, CHECK_MS, () => this.#dropUnused())
  }

  #in(place: string): TerminalEntry[] {
    return [...this.#entries.values()].filter(entry => entry.place === place)
  }

  /** Why no terminal can be opened; null when one can. */
  problem(): Words | null {
    return this.#options.isEnabled ? terminalProblem(this.#options.path) : sentence('terminal.off')
  }

  async #remove(entry: TerminalEntry): Promise<void> {
    await entry.pty.kill()
    this.#entries.delete(entry.id)
    wake(entry)
  }

  #dropUnused(): void {
    const at = this.#clock.monotonic()
    for (const entry of this.#entries.values()) {
      const isExpired = entry.endedAt !== null && at - entry.endedAt > ENDED_RETENTION_MS
      if (isExpired || at - entry.usedAtMs > IDLE_MS) void this.#remove(entry)
    }
  }

  #requireCapacity(place: string): void {
    const running = [...this.#entries.values()].filter(({ endedAt }) => endedAt === null)
    const own = running.filter(entry => entry.place === place).length
    const opening = this.#opening.filter(each => each === place).length
    if (own + opening >= MAX_PER_FOLDER)
      throw tooMany(`${MAX_PER_FOLDER} terminals are open in this folder. Close one first.`, {
        code: 'too_many_terminals',
        values: { max: MAX_PER_FOLDER },
      })
    if (running.length + this.#opening.length >= MAX_TERMINALS)
      throw tooMany(`${MAX_TERMINALS} terminals are open on this server. Close one first.`, {
        code: 'too_many_terminals',
        values: { max: MAX_TERMINALS },
      })
    const at = this.#clock.monotonic()
    this.#openedAtMs = this.#openedAtMs.filter(each => at - each < 60_000)
    if (this.#openedAtMs.length >= MAX_OPENED_PER_MINUTE)
      throw tooMany('Too many terminals were opened. Wait a minute, then try again.', {
        code: 'too_many_terminals_opened',
      })
    this.#openedAtMs.push(at)
  }

  async #open(place: string, options: OpenTerminal): Promise<Terminal> {
    if (this.#isClosed) throw unavailable('The server is shutting down.', { code: 'shutting_down' })
    const reason = this.problem()
    if (reason) throw unavailable(reason, { code: 'terminal_unavailable', values: { reason } })
    this.#requireCapacity(place)
    const output = new OutputBuffer()
    const early: string[] = []
    let receive = (text: string): void => {
      early.push(text)
    }
    this.#opening.push(place)
    try {
      const pty = await PseudoTerminal.open({
        ...options,
        onOutput: text => receive(text),
      })
      const entry: TerminalEntry = {
        id: `term_${randomBytes(8).toString('hex')}`,
        place,
        shell: basename(options.command[0]),
        cwd: options.cwd,
        size: options.size,
        clock: this.#clock,
        startedAt: this.#clock.now(),
        pty,
        output,
        exitCode: null,
        endedAt: null,
        usedAtMs: this.#clock.monotonic(),
        inputs: new Map(),
        waiting: new Set(),
        slice: 0,
      }
      receive = text => addOutput(entry, text)
      for (const text of early) receive(text)
      this.#entries.set(entry.id, entry)
      void pty.ended.then(code => {
        entry.exitCode = code
        entry.endedAt = this.#clock.monotonic()
        wake(entry)
      })
      // The service was stopped in between.
      if (this.#isClosed) await this.#remove(entry)
      return toView(entry)
    } finally {
      this.#opening.splice(this.#opening.indexOf(place), 1)
    }
  }

  #find(place: string, id: string): TerminalEntry {
    const entry = this.#entries.get(id)
    if (entry?.place !== place) throw missing('Terminal not found', { code: 'terminal_not_found' })
    return entry
  }

  async #read(entry: TerminalEntry, { after, signal }: TerminalRead): Promise<TerminalOutput> {
    entry.usedAtMs = this.#clock.monotonic()
    if (after === entry.output.end && entry.endedAt === null)
      await waitForOutput(entry, READ_WAIT_MS, signal)
    return { ...entry.output.read(after), terminal: toView(entry) }
  }

  /** The terminals of a folder, for the chats of a profile; those of others are not visible. */
  of(profile: string, folder: string) {
    // Also of a folder that is gone: what still runs there can be read and closed.
    const place = `${profile}\0${realPath(folder)}`
    return {
      list: (): Terminal[] =>
        this.#in(place).map(entry => {
          const programs = entry.endedAt === null ? entry.pty.programs() : []
          return { ...toView(entry), ...(programs && { programs }) }
        }),
      open: (options: OpenTerminal) => this.#open(place, options),
      /** Output after a position; waits up to 20 s for some. */
      read: (id: string, options: TerminalRead) => this.#read(this.#find(place, id), options),
      /** Writes input once: a client numbers its inputs, and repeats one whose reply was lost under the same number. */
      write: (id: string, { client, n, data }: TerminalInput): void => {
        const entry = this.#find(place, id)
        if (n <= (entry.inputs.get(client) ?? 0)) return
        if (entry.endedAt !== null)
          throw conflict('The terminal has ended.', { code: 'terminal_ended' })
        if (entry.pty.unreadBytes() + data.length > MAX_UNREAD_BYTES)
          throw unavailable('The program in the terminal does not read its input.', {
            code: 'terminal_not_reading',
          })
        remember(entry.inputs, client, n)
        entry.usedAtMs = this.#clock.monotonic()
        entry.pty.write(data)
      },
      resize: async (id: string, size: TerminalSize): Promise<void> => {
        const entry = this.#find(place, id)
        if (entry.size.cols === size.cols && entry.size.rows === size.rows) return
        entry.size = size
        await entry.pty.resize(size)
      },
      /** Ends it with everything that runs in it, and forgets it. */
      close: (id: string): Promise<void> => this.#remove(this.#find(place, id)),
    }
  }

  isAnyOpen(): boolean {
    return [...this.#entries.values()].some(({ endedAt }) => endedAt === null)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopChecks()
    await Promise.all([...this.#entries.values()].map(entry => this.#remove(entry)))
  }
}
