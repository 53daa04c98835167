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
  CommandAccess,
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

/** What runs, and how it was started. */
type Command = { command: string; cwd: string; notify: boolean; access: CommandAccess }

/** One process with its output. */
class BackgroundProcess {
  readonly id = `proc_${randomBytes(6).toString('hex')}`
  readonly owner: string
  readonly command: Command
  readonly child: ChildProcess
  /** It was started in the foreground. */
  readonly isAdopted: boolean
  /** Resolves when it has ended; set by the registry. */
  ended: Promise<void> = Promise.resolve()
  exitCode: number | null = null
  /** Input since the last line end. */
  typed = ''
  readonly #clock: Clock
  /** Milliseconds since 1970. */
  readonly #startedAt: number
  /** By the monotonic clock, as `#endedAt`. */
  readonly #begunAt: number
  #endedAt: number | null = null
  /** Output so far, truncated at the front in large steps. */
  #text = ''
  /** Keeps lines that may still change, until someone reads them. */
  readonly #screen = new TerminalScreen(text => this.#add(text))
  /** Characters truncated at the front. */
  #droppedChars = 0
  /** Characters of the whole output that were polled. */
  #polledChars = 0

  constructor(
    clock: Clock,
    owner: string,
    command: Command,
    child: ChildProcess,
    /** What it did in the foreground. */
    earlier?: ProcessHandover,
  ) {
    const elapsedMs = earlier?.elapsedMs ?? 0
    this.#clock = clock
    this.owner = owner
    this.command = command
    this.child = child
    this.isAdopted = earlier !== undefined
    this.#startedAt = clock.now() - elapsedMs
    this.#begunAt = clock.monotonic() - elapsedMs
    if (earlier) {
      this.#droppedChars = earlier.output.omitted
      this.#add(earlier.output.text)
      this.#polledChars = this.#droppedChars + this.#text.length
    }
    const decoder = earlier?.decoder ?? new StringDecoder('utf8')
    readThrottled(child.stdout, bytes => this.#screen.write(decoder.write(bytes)))
    child.stdout?.once('end', () => this.#screen.write(decoder.end()))
  }

  isRunning(): boolean {
    return this.#endedAt === null
  }

  /** Milliseconds since its end; 0 while it runs. */
  sinceEnd(): number {
    return this.#endedAt === null ? 0 : this.#clock.monotonic() - this.#endedAt
  }

  exited({ code, signal, note }: Exit): void {
    this.exitCode = code ?? (signal === 'SIGKILL' ? 137 : 143)
    this.#endedAt = this.#clock.monotonic()
    if (note !== undefined) this.#screen.write(`\n${note}\n`)
  }

  view(): ProcessView {
    return {
      session_id: this.id,
      command: this.command.command,
      cwd: this.command.cwd,
      pid: this.child.pid ?? 0,
      status: this.isRunning() ? 'running' : 'exited',
      exit_code: this.exitCode,
      uptime: Math.round(toSeconds((this.#endedAt ?? this.#clock.monotonic()) - this.#begunAt)),
      started_at: toSeconds(this.#startedAt),
    }
  }

  /** The end of the output, as far as it is remembered, without terminal escape sequences. */
  output() {
    this.#screen.flush()
    const excess = Math.max(0, this.#text.length - MAX_OUTPUT_CHARS)
    return {
      text: stripVTControlCharacters(this.#text.slice(excess)),
      left_out: this.#droppedChars + excess,
    }
  }

  /** Output since the last poll. */
  poll(): string {
    this.#screen.flush()
    const output = this.#text.slice(Math.max(0, this.#polledChars - this.#droppedChars))
    this.#polledChars = this.#droppedChars + this.#text.length
    return stripVTControlCharacters(output)
  }

  async write(data: string): Promise<void> {
    const stdin = this.#requireInput()
    if (data.length > MAX_INPUT_CHARS)
      throw new Error(`At most ${MAX_INPUT_CHARS} characters can be written at once.`)
    await new Promise<void>((resolve, reject) => {
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
    const all = this.typed + data
    this.typed = all.slice(all.lastIndexOf('\n') + 1).slice(-MAX_INPUT_CHARS)
  }

  async endInput(): Promise<void> {
    const stdin = this.#requireInput()
    if (!stdin.writableEnded) await new Promise<void>(resolve => stdin.end(resolve))
  }

  /** Resolves when the process ends, after `timeoutMs`, or when `signal` aborts. */
  waitForEnd(timeoutMs: number, signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#clock.timer(timeoutMs, finish)
      function finish() {
        cancel()
        signal.removeEventListener('abort', finish)
        resolve()
      }
      signal.addEventListener('abort', finish, { once: true })
      if (signal.aborted) finish()
      void this.ended.then(finish)
    })
  }

  async terminate(): Promise<void> {
    if (!this.isRunning()) return
    const cancelKill = terminateGroup(this.child, KILL_AFTER_MS)
    await this.ended
    cancelKill()
    // The shell may have exited while its children ignore SIGTERM.
    killGroup(this.child, 'SIGKILL')
  }

  #add(text: string): void {
    this.#text += text
    const excess = this.#text.length - MAX_OUTPUT_CHARS
    if (excess > MAX_OUTPUT_CHARS / 4) {
      this.#text = this.#text.slice(excess)
      this.#droppedChars += excess
    }
  }

  #requireInput() {
    if (!this.isRunning()) throw new Error('The process has ended.')
    const { stdin } = this.child
    if (!stdin)
      throw new Error('The process has no input, because it was not started with background=true.')
    return stdin
  }
}

const spawnProcess = (clock: Clock, owner: string, start: ProcessStart): BackgroundProcess => {
  const { placed } = start
  const stdio = ['pipe', 'pipe', 'ignore'] as const
  const child = spawnGroup(placed.file, placed.args, { ...placed, stdio })
  // EPIPE after the process exited: its status says so.
  child.stdin.on('error', () => undefined)
  return new BackgroundProcess(clock, owner, start, child)
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
  readonly #processes = new Map<string, BackgroundProcess>()
  #isClosed = false

  constructor(options: ProcessesOptions) {
    this.#options = options
  }

  #currentId(sessionId: string) {
    return this.#options.resolve?.(sessionId) ?? sessionId
  }

  #isOwnedBy(owner: string) {
    return (process: BackgroundProcess) => this.#currentId(process.owner) === this.#currentId(owner)
  }

  #dropExpired(): void {
    for (const process of this.#processes.values())
      if (process.sinceEnd() > FINISHED_RETENTION_MS) this.#processes.delete(process.id)
  }

  /** Evicts the oldest finished process when the registry is full. Throws when all are running. */
  #requireCapacity(): void {
    this.#dropExpired()
    const { maxProcesses = MAX_PROCESSES } = this.#options
    if (this.#processes.size < maxProcesses) return
    const finished = [...this.#processes.values()].find(process => !process.isRunning())
    if (!finished)
      throw new Error(`${maxProcesses} processes are running already. End one with process kill.`)
    this.#processes.delete(finished.id)
  }

  async #watch(process: BackgroundProcess, closed: Promise<Exit>): Promise<void> {
    // A failed spawn is reported by `start`.
    const exit = await closed.catch(() => null)
    if (!exit) return
    process.exited(exit)
    if (process.command.notify && !this.#isClosed)
      this.#options.onEnded?.(process.owner, process.view())
  }

  async #start(owner: string, start: ProcessStart): Promise<ProcessView> {
    if (this.#isClosed) throw new Error('The server is shutting down.')
    this.#requireCapacity()
    const process = spawnProcess(this.#options.clock, owner, start)
    process.ended = this.#watch(process, waitForClose(process.child))
    // Registered before the spawn is confirmed: the limit must hold for processes started at the same time.
    this.#processes.set(process.id, process)
    try {
      await waitForSpawn(process.child)
    } catch (error) {
      this.#processes.delete(process.id)
      throw error
    }
    process.child.on('error', () => undefined)
    return process.view()
  }

  #adopt(owner: string, handover: ProcessHandover): ProcessView {
    if (this.#isClosed) throw new Error('The server is shutting down.')
    const adopted = this.#ofSession(owner).filter(
      process => process.isAdopted && process.isRunning(),
    )
    const { clock, maxAdopted = MAX_ADOPTED } = this.#options
    if (adopted.length >= maxAdopted)
      throw new Error(`${maxAdopted} commands were moved to the background already.`)
    this.#requireCapacity()
    const process = new BackgroundProcess(clock, owner, handover, handover.child, handover)
    process.ended = this.#watch(process, handover.closed)
    this.#processes.set(process.id, process)
    return process.view()
  }

  #find(owner: string, id: string): BackgroundProcess {
    this.#dropExpired()
    const process = this.#processes.get(id)
    if (!process || !this.#isOwnedBy(owner)(process))
      throw new Error(`There is no process ${id} in this conversation. List them with action list.`)
    return process
  }

  #ofSession(owner: string): BackgroundProcess[] {
    return [...this.#processes.values()].filter(this.#isOwnedBy(owner))
  }

  /** The processes of one session; those of others are not visible. */
  of(owner: string): Processes {
    return {
      start: start => this.#start(owner, start),
      adopt: handover => this.#adopt(owner, handover),
      list: () => {
        this.#dropExpired()
        return this.#ofSession(owner).map(process => process.view())
      },
      view: id => this.#find(owner, id).view(),
      accessOf: id => this.#find(owner, id).command.access,
      read: id => this.#find(owner, id).output(),
      poll: id => this.#find(owner, id).poll(),
      pendingInput: id => this.#find(owner, id).typed,
      write: async (id, data) => this.#find(owner, id).write(data),
      endInput: async id => this.#find(owner, id).endInput(),
      wait: async (id, timeoutMs, signal) => {
        const process = this.#find(owner, id)
        await process.waitForEnd(timeoutMs, signal)
        return process.view()
      },
      kill: async id => {
        const process = this.#find(owner, id)
        await process.terminate()
        return process.view()
      },
    }
  }

  isAnyRunning(): boolean {
    return [...this.#processes.values()].some(process => process.isRunning())
  }

  /** Kills and forgets the processes of a session. */
  async endSession(owner: string): Promise<void> {
    const own = this.#ofSession(owner)
    await Promise.all(own.map(process => process.terminate()))
    for (const { id } of own) this.#processes.delete(id)
  }

  /** Kills every process. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#processes.values()].map(process => process.terminate()))
    await this.#options.endOthers?.()
  }
}
