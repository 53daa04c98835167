/** Background processes of a session: started by its turns, visible to it alone, killed with it or with the service. */
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'
import { type Clock, toSeconds } from '../base/clock.ts'
import {
  type Exit,
  killGroup,
  readThrottled,
  spawnGroup,
  terminateGroup,
  waitForClose,
} from '../base/process.ts'
import { TerminalScreen } from '../base/terminal-screen.ts'
import type {
  Processes,
  ProcessHandover,
  ProcessStart,
  ProcessView,
} from '../agent/tool-services.ts'

/** Kept of a process for the agent to read, as by the host agent. */
const MAX_OUTPUT_CHARS = 200_000
const MAX_PROCESSES = 64
/** Running at the same time in a session. Each exceeded its time limit, so more of them are likely a mistake. */
const MAX_ADOPTED = 8
const FINISHED_RETENTION_MS = 30 * 60_000
/** Between SIGTERM and SIGKILL. */
const KILL_AFTER_MS = 1_000
const MAX_INPUT_CHARS = 100_000
const WRITE_TIMEOUT_MS = 5_000

type Entry = {
  id: string
  owner: string
  given: Pick<ProcessStart, 'command' | 'cwd' | 'notify' | 'access'>
  /** It was started in the foreground. */
  isAdopted: boolean
  child: ChildProcess
  /** Milliseconds since 1970. */
  startedAt: number
  /** Of the monotonic clock, as `endedAt`. */
  begunAt: number
  endedAt: number | null
  exitCode: number | null
  /** Output so far, truncated at the front in large steps. */
  text: string
  /** Keeps lines that may still change, until someone reads them. */
  screen: TerminalScreen
  /** Characters truncated at the front. */
  droppedChars: number
  /** Characters of the whole output that were polled. */
  polledChars: number
  /** Input since the last line end. */
  typed: string
  ended: Promise<void>
}

const isRunning = ({ endedAt }: Entry): boolean => endedAt === null

const addOutput = (entry: Entry, text: string): void => {
  entry.text += text
  const excess = entry.text.length - MAX_OUTPUT_CHARS
  if (excess > MAX_OUTPUT_CHARS / 4) {
    entry.text = entry.text.slice(excess)
    entry.droppedChars += excess
  }
}

const collectOutput = (entry: Entry, decoder: StringDecoder): void => {
  const { stdout } = entry.child
  const add = (text: string) => entry.screen.write(text)
  readThrottled(stdout, bytes => add(decoder.write(bytes)))
  stdout?.once('end', () => add(decoder.end()))
}

/** The retained end of the output, without terminal escape sequences. */
const outputOf = (entry: Entry) => {
  entry.screen.flush()
  const excess = Math.max(0, entry.text.length - MAX_OUTPUT_CHARS)
  return {
    text: stripVTControlCharacters(entry.text.slice(excess)),
    left_out: entry.droppedChars + excess,
  }
}

/** Output since the last poll. */
const pollOutput = (entry: Entry): string => {
  entry.screen.flush()
  const added = entry.text.slice(Math.max(0, entry.polledChars - entry.droppedChars))
  entry.polledChars = entry.droppedChars + entry.text.length
  return stripVTControlCharacters(added)
}

const requireInput = (entry: Entry) => {
  if (!isRunning(entry)) throw new Error('The process has ended.')
  const { stdin } = entry.child
  if (!stdin)
    throw new Error('The process has no input, because it was not started with background=true.')
  return stdin
}

const writeInput = (entry: Entry, data: string): Promise<void> => {
  const stdin = requireInput(entry)
  if (data.length > MAX_INPUT_CHARS)
    throw new Error(`At most ${MAX_INPUT_CHARS} characters can be written at once.`)
  return new Promise((resolve, reject) => {
    if (stdin.writableEnded) return reject(new Error('Its input has been closed.'))
    const timer = setTimeout(
      () => reject(new Error('The process does not read its input.')),
      WRITE_TIMEOUT_MS,
    )
    stdin.write(data, error => {
      clearTimeout(timer)
      if (error) reject(new Error('The process has closed its input.'))
      else resolve()
    })
  })
}

const endInput = async (entry: Entry): Promise<void> => {
  const stdin = requireInput(entry)
  if (!stdin.writableEnded) await new Promise<void>(resolve => stdin.end(resolve))
}

/** Resolves when the process ends, after `timeoutMs`, or when `signal` aborts. */
const waitForEnd = (
  clock: Clock,
  entry: Entry,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> =>
  new Promise(resolve => {
    const cancel = clock.timer(timeoutMs, done)
    function done() {
      cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
    if (signal.aborted) done()
    void entry.ended.then(done)
  })

const terminate = async (entry: Entry): Promise<void> => {
  if (!isRunning(entry)) return
  const cancelKill = terminateGroup(entry.child, KILL_AFTER_MS)
  await entry.ended
  cancelKill()
  // The shell may have exited while its children ignore SIGTERM.
  killGroup(entry.child, 'SIGKILL')
}

const createEntry = (
  own: Pick<Entry, 'owner' | 'given' | 'isAdopted' | 'child' | 'startedAt' | 'begunAt'>,
): Entry => {
  const entry: Entry = {
    ...own,
    id: `proc_${randomBytes(6).toString('hex')}`,
    endedAt: null,
    exitCode: null,
    text: '',
    screen: new TerminalScreen(text => addOutput(entry, text)),
    droppedChars: 0,
    polledChars: 0,
    typed: '',
    ended: Promise.resolve(),
  }
  return entry
}

type Begun = Pick<Entry, 'startedAt' | 'begunAt'>

const spawnEntry = (owner: string, given: ProcessStart, begun: Begun): Entry => {
  const { placed } = given
  const stdio = ['pipe', 'pipe', 'ignore'] as const
  const child = spawnGroup(placed.file, placed.args, { ...placed, stdio })
  const entry = createEntry({ owner, given, isAdopted: false, child, ...begun })
  collectOutput(entry, new StringDecoder('utf8'))
  // EPIPE after the process exited: its status says so.
  child.stdin.on('error', () => undefined)
  return entry
}

const adoptEntry = (owner: string, given: ProcessHandover, begun: Begun): Entry => {
  const { child, output, decoder } = given
  const entry = createEntry({ owner, given, isAdopted: true, child, ...begun })
  entry.droppedChars = output.omitted
  addOutput(entry, output.text)
  entry.polledChars = entry.droppedChars + entry.text.length
  collectOutput(entry, decoder)
  return entry
}

const waitForSpawn = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })

export type ProcessesOptions = {
  clock: Clock
  /** The current id of a session: its id can change. */
  resolve?: (sessionId: string) => string | undefined
  /** A process with `notify` has exited. Must not throw. */
  onEnded?: (sessionId: string, view: ProcessView) => void
  /** Ends commands that have left their process group; called last. */
  endOthers?: () => Promise<void>
  maxProcesses?: number
  maxAdopted?: number
}

export class ProcessRegistry {
  readonly #options: ProcessesOptions
  readonly #clock: Clock
  readonly #entries = new Map<string, Entry>()
  #isClosed = false

  constructor(options: ProcessesOptions) {
    this.#options = options
    this.#clock = options.clock
  }

  #currentId(sessionId: string) {
    return this.#options.resolve?.(sessionId) ?? sessionId
  }

  #begun(elapsedMs = 0): Begun {
    return {
      startedAt: this.#clock.now() - elapsedMs,
      begunAt: this.#clock.monotonic() - elapsedMs,
    }
  }

  #isOwnedBy(owner: string) {
    return (entry: Entry) => this.#currentId(entry.owner) === this.#currentId(owner)
  }

  #toView(entry: Entry): ProcessView {
    return {
      session_id: entry.id,
      command: entry.given.command,
      cwd: entry.given.cwd,
      pid: entry.child.pid ?? 0,
      status: isRunning(entry) ? 'running' : 'exited',
      exit_code: entry.exitCode,
      uptime: Math.round(toSeconds((entry.endedAt ?? this.#clock.monotonic()) - entry.begunAt)),
      started_at: toSeconds(entry.startedAt),
    }
  }

  #dropExpired(): void {
    for (const entry of this.#entries.values())
      if (entry.endedAt !== null && this.#clock.monotonic() - entry.endedAt > FINISHED_RETENTION_MS)
        this.#entries.delete(entry.id)
  }

  /** Evicts the oldest finished process when the registry is full. Throws when all are running. */
  #requireCapacity(): void {
    this.#dropExpired()
    const { maxProcesses = MAX_PROCESSES } = this.#options
    if (this.#entries.size < maxProcesses) return
    const finished = [...this.#entries.values()].find(entry => !isRunning(entry))
    if (!finished)
      throw new Error(`${maxProcesses} processes are running already. End one with process kill.`)
    this.#entries.delete(finished.id)
  }

  async #watch(entry: Entry, closed: Promise<Exit>): Promise<void> {
    // A failed spawn is reported by `start`.
    const exit = await closed.catch(() => null)
    if (!exit) return
    entry.exitCode = exit.code ?? (exit.signal === 'SIGKILL' ? 137 : 143)
    entry.endedAt = this.#clock.monotonic()
    if (exit.note !== undefined) entry.screen.write(`\n${exit.note}\n`)
    if (entry.given.notify && !this.#isClosed)
      this.#options.onEnded?.(entry.owner, this.#toView(entry))
  }

  async #start(owner: string, given: ProcessStart): Promise<ProcessView> {
    if (this.#isClosed) throw new Error('The server is shutting down.')
    this.#requireCapacity()
    const entry = spawnEntry(owner, given, this.#begun())
    entry.ended = this.#watch(entry, waitForClose(entry.child))
    // Registered before the spawn is confirmed: the limit must hold for processes started at the same time.
    this.#entries.set(entry.id, entry)
    try {
      await waitForSpawn(entry.child)
    } catch (error) {
      this.#entries.delete(entry.id)
      throw error
    }
    entry.child.on('error', () => undefined)
    return this.#toView(entry)
  }

  #adopt(owner: string, given: ProcessHandover): ProcessView {
    if (this.#isClosed) throw new Error('The server is shutting down.')
    const adopted = this.#ofSession(owner).filter(entry => entry.isAdopted && isRunning(entry))
    const { maxAdopted = MAX_ADOPTED } = this.#options
    if (adopted.length >= maxAdopted)
      throw new Error(`${maxAdopted} commands were moved to the background already.`)
    this.#requireCapacity()
    const entry = adoptEntry(owner, given, this.#begun(given.elapsedMs))
    entry.ended = this.#watch(entry, given.closed)
    this.#entries.set(entry.id, entry)
    return this.#toView(entry)
  }

  #find(owner: string, id: string): Entry {
    this.#dropExpired()
    const entry = this.#entries.get(id)
    if (!entry || !this.#isOwnedBy(owner)(entry))
      throw new Error(`There is no process ${id} in this conversation. List them with action list.`)
    return entry
  }

  #ofSession(owner: string): Entry[] {
    return [...this.#entries.values()].filter(this.#isOwnedBy(owner))
  }

  /** The processes of one session; those of others are not visible. */
  of(owner: string): Processes {
    return {
      start: given => this.#start(owner, given),
      adopt: given => this.#adopt(owner, given),
      list: () => {
        this.#dropExpired()
        return this.#ofSession(owner).map(entry => this.#toView(entry))
      },
      view: id => this.#toView(this.#find(owner, id)),
      accessOf: id => this.#find(owner, id).given.access,
      read: id => outputOf(this.#find(owner, id)),
      poll: id => pollOutput(this.#find(owner, id)),
      pendingInput: id => this.#find(owner, id).typed,
      write: async (id, data) => {
        const entry = this.#find(owner, id)
        await writeInput(entry, data)
        const all = entry.typed + data
        entry.typed = all.slice(all.lastIndexOf('\n') + 1).slice(-MAX_INPUT_CHARS)
      },
      endInput: id => endInput(this.#find(owner, id)),
      wait: async (id, timeoutMs, signal) => {
        const entry = this.#find(owner, id)
        await waitForEnd(this.#clock, entry, timeoutMs, signal)
        return this.#toView(entry)
      },
      kill: async id => {
        const entry = this.#find(owner, id)
        await terminate(entry)
        return this.#toView(entry)
      },
    }
  }

  isAnyRunning(): boolean {
    return [...this.#entries.values()].some(isRunning)
  }

  /** Kills and forgets the processes of a session. */
  async endSession(owner: string): Promise<void> {
    const own = this.#ofSession(owner)
    await Promise.all(own.map(terminate))
    for (const { id } of own) this.#entries.delete(id)
  }

  /** Kills every process. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#entries.values()].map(terminate))
    await this.#options.endOthers?.()
  }
}
