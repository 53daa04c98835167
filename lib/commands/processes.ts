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
import { createTerminalScreen } from '../base/terminal-screen.ts'
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
  screen: ReturnType<typeof createTerminalScreen>
  /** Characters truncated at the front. */
  droppedChars: number
  /** Characters of the whole output that were polled. */
  polledChars: number
  /** Input since the last line end. */
  typed: string
  ended: Promise<void>
}

export type ProcessRegistry = ReturnType<typeof createProcessRegistry>

export type ProcessesOptions = {
  clock: Clock
  /** The current id of a session: its id can change. */
  resolve?: (sessionId: string) => string | undefined
  /** A process with `notify` has exited. Must not throw. */
  onEnded?: (sessionId: string, view: ProcessView) => void
  /** Ends commands that have left their process group; called last. */
  endOthers?: () => Promise<void>
  finishedRetentionMs?: number
  maxProcesses?: number
  maxAdopted?: number
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

const writeInput = (entry: Entry, data: string): Promise<void> => {
  if (!isRunning(entry)) throw new Error('The process has ended.')
  if (!entry.child.stdin)
    throw new Error('The process has no input, because it was not started with background=true.')
  if (data.length > MAX_INPUT_CHARS)
    throw new Error(`At most ${MAX_INPUT_CHARS} characters can be written at once.`)
  return new Promise((resolve, reject) => {
    if (entry.child.stdin?.writableEnded) return reject(new Error('Its input has been closed.'))
    const timer = setTimeout(
      () => reject(new Error('The process does not read its input.')),
      WRITE_TIMEOUT_MS,
    )
    entry.child.stdin?.write(data, error => {
      clearTimeout(timer)
      if (error) reject(new Error('The process has closed its input.'))
      else resolve()
    })
  })
}

const endInput = async (entry: Entry): Promise<void> => {
  if (!isRunning(entry)) throw new Error('The process has ended.')
  const { stdin } = entry.child
  if (!stdin)
    throw new Error('The process has no input, because it was not started with background=true.')
  if (!stdin.writableEnded) await new Promise<void>(resolve => stdin.end(resolve))
}

/** Resolves when the process ends, after `timeoutMs`, or when `signal` aborts. */
const waitForEnd = (
  clock: Pick<Clock, 'timer'>,
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
    screen: createTerminalScreen(text => addOutput(entry, text)),
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

export const createProcessRegistry = (options: ProcessesOptions) => {
  const { clock, onEnded, resolve } = options
  const { finishedRetentionMs = FINISHED_RETENTION_MS, maxProcesses = MAX_PROCESSES } = options
  const { maxAdopted = MAX_ADOPTED } = options
  const entries = new Map<string, Entry>()
  let isClosed = false

  const currentId = (sessionId: string) => resolve?.(sessionId) ?? sessionId
  const begun = (elapsedMs = 0): Begun => ({
    startedAt: clock.now() - elapsedMs,
    begunAt: clock.monotonic() - elapsedMs,
  })
  const isOwnedBy = (owner: string) => (entry: Entry) => currentId(entry.owner) === currentId(owner)

  const toView = (entry: Entry): ProcessView => ({
    session_id: entry.id,
    command: entry.given.command,
    cwd: entry.given.cwd,
    pid: entry.child.pid ?? 0,
    status: isRunning(entry) ? 'running' : 'exited',
    exit_code: entry.exitCode,
    uptime: Math.round(toSeconds((entry.endedAt ?? clock.monotonic()) - entry.begunAt)),
    started_at: toSeconds(entry.startedAt),
  })

  const dropExpired = (): void => {
    for (const entry of entries.values())
      if (entry.endedAt !== null && clock.monotonic() - entry.endedAt > finishedRetentionMs)
        entries.delete(entry.id)
  }

  /** Evicts the oldest finished process when the registry is full. Throws when all are running. */
  const requireCapacity = (): void => {
    dropExpired()
    if (entries.size < maxProcesses) return
    const finished = [...entries.values()].find(entry => !isRunning(entry))
    if (!finished)
      throw new Error(`${maxProcesses} processes are running already. End one with process kill.`)
    entries.delete(finished.id)
  }

  const watch = async (entry: Entry, closed: Promise<Exit>): Promise<void> => {
    // A failed spawn is reported by `start`.
    const exit = await closed.catch(() => null)
    if (!exit) return
    entry.exitCode = exit.code ?? (exit.signal === 'SIGKILL' ? 137 : 143)
    entry.endedAt = clock.monotonic()
    if (exit.note !== undefined) entry.screen.write(`\n${exit.note}\n`)
    if (entry.given.notify && !isClosed) onEnded?.(entry.owner, toView(entry))
  }

  const start = async (owner: string, given: ProcessStart): Promise<ProcessView> => {
    if (isClosed) throw new Error('The server is shutting down.')
    requireCapacity()
    const entry = spawnEntry(owner, given, begun())
    entry.ended = watch(entry, waitForClose(entry.child))
    // Registered before the spawn is confirmed: the limit must hold for processes started at the same time.
    entries.set(entry.id, entry)
    try {
      await waitForSpawn(entry.child)
    } catch (error) {
      entries.delete(entry.id)
      throw error
    }
    entry.child.on('error', () => undefined)
    return toView(entry)
  }

  const adopt = (owner: string, given: ProcessHandover): ProcessView => {
    if (isClosed) throw new Error('The server is shutting down.')
    const adopted = ofSession(owner).filter(entry => entry.isAdopted && isRunning(entry))
    if (adopted.length >= maxAdopted)
      throw new Error(`${maxAdopted} commands were moved to the background already.`)
    requireCapacity()
    const entry = adoptEntry(owner, given, begun(given.elapsedMs))
    entry.ended = watch(entry, given.closed)
    entries.set(entry.id, entry)
    return toView(entry)
  }

  const find = (owner: string, id: string): Entry => {
    dropExpired()
    const entry = entries.get(id)
    if (!entry || !isOwnedBy(owner)(entry))
      throw new Error(`There is no process ${id} in this conversation. List them with action list.`)
    return entry
  }

  const ofSession = (owner: string): Entry[] => [...entries.values()].filter(isOwnedBy(owner))

  return {
    /** The processes of one session; those of others are not visible. */
    of: (owner: string): Processes => ({
      start: given => start(owner, given),
      adopt: given => adopt(owner, given),
      list() {
        dropExpired()
        return ofSession(owner).map(toView)
      },
      view: id => toView(find(owner, id)),
      accessOf: id => find(owner, id).given.access,
      read: id => outputOf(find(owner, id)),
      poll: id => pollOutput(find(owner, id)),
      pendingInput: id => find(owner, id).typed,
      async write(id, data) {
        const entry = find(owner, id)
        await writeInput(entry, data)
        const all = entry.typed + data
        entry.typed = all.slice(all.lastIndexOf('\n') + 1).slice(-MAX_INPUT_CHARS)
      },
      endInput: id => endInput(find(owner, id)),
      async wait(id, timeoutMs, signal) {
        const entry = find(owner, id)
        await waitForEnd(clock, entry, timeoutMs, signal)
        return toView(entry)
      },
      async kill(id) {
        const entry = find(owner, id)
        await terminate(entry)
        return toView(entry)
      },
    }),
    isAnyRunning: () => [...entries.values()].some(isRunning),
    /** Kills and forgets the processes of a session. */
    async endSession(owner: string): Promise<void> {
      const own = ofSession(owner)
      await Promise.all(own.map(terminate))
      for (const { id } of own) entries.delete(id)
    },
    /** Kills every process. */
    async close(): Promise<void> {
      isClosed = true
      await Promise.all([...entries.values()].map(terminate))
      await options.endOthers?.()
    },
  }
}
