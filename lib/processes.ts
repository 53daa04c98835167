/** Programs that run on beside a conversation: started by its turns, listed in it alone, ended with it or with the service. */
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'
import {
  killGroup,
  readThrottled,
  spawnGroup,
  terminateGroup,
  waitForClose,
} from './base/process.ts'
import type { Processes, ProcessStart, ProcessView } from './agent/tool-services.ts'

/** agent-home §8.2. */
const MAX_KEPT_CHARS = 200_000
const MAX_PROCESSES = 64
const KEEP_FINISHED_MS = 30 * 60_000
/** Between the polite and the final signal. */
const KILL_AFTER_MS = 1_000
const MAX_INPUT_CHARS = 100_000

type Entry = {
  id: string
  owner: string
  given: ProcessStart
  child: ChildProcess
  startedAt: number
  endedAt: number | null
  exitCode: number | null
  /** Cut from the front, in large steps. */
  text: string
  leftOut: number
  /** How much of all that was ever printed has been polled. */
  polled: number
  /** Its input since the last line end. */
  typed: string
  ended: Promise<void>
}

export type ProcessRegistry = ReturnType<typeof createProcessRegistry>

export type ProcessesOptions = {
  /** Seconds since 1970. */
  now: () => number
  /** The id a session has now: compression gives it another one. */
  resolve?: (sessionId: string) => string | undefined
  /** One that asked for it has ended. Must not throw. */
  onEnded?: (sessionId: string, view: ProcessView) => void
  finishedRetentionMs?: number
  maxProcesses?: number
}

const gather = (entry: Entry): void => {
  const { stdout } = entry.child
  const decoder = new StringDecoder('utf8')
  const add = (text: string) => {
    entry.text += text
    const over = entry.text.length - MAX_KEPT_CHARS
    if (over > MAX_KEPT_CHARS / 4) {
      entry.text = entry.text.slice(over)
      entry.leftOut += over
    }
  }
  readThrottled(stdout, bytes => add(decoder.write(bytes)))
  stdout?.once('end', () => add(decoder.end()))
}

export const createProcessRegistry = (options: ProcessesOptions) => {
  const { now, onEnded, resolve } = options
  const { finishedRetentionMs = KEEP_FINISHED_MS, maxProcesses = MAX_PROCESSES } = options
  const entries = new Map<string, Entry>()
  let isClosed = false

  const idNow = (sessionId: string) => resolve?.(sessionId) ?? sessionId
  const isOf = (owner: string) => (entry: Entry) => idNow(entry.owner) === idNow(owner)

  const isRunning = ({ endedAt }: Entry): boolean => endedAt === null

  const toView = (entry: Entry): ProcessView => ({
    session_id: entry.id,
    command: entry.given.command,
    cwd: entry.given.cwd,
    pid: entry.child.pid ?? 0,
    status: isRunning(entry) ? 'running' : 'exited',
    exit_code: entry.exitCode,
    uptime: Math.max(0, Math.round((entry.endedAt ?? now()) - entry.startedAt)),
    started_at: entry.startedAt,
  })

  const forgetOld = (): void => {
    for (const entry of entries.values())
      if (entry.endedAt !== null && (now() - entry.endedAt) * 1_000 > finishedRetentionMs)
        entries.delete(entry.id)
  }

  /** The oldest finished one makes room; running ones never do. */
  const makeRoom = (): void => {
    forgetOld()
    if (entries.size < maxProcesses) return
    const finished = [...entries.values()].find(entry => !isRunning(entry))
    if (!finished)
      throw new Error(`${maxProcesses} processes are running already. End one with process kill.`)
    entries.delete(finished.id)
  }

  const watch = async (entry: Entry): Promise<void> => {
    // One that cannot be started is reported by `begin`.
    const exit = await waitForClose(entry.child).catch(() => null)
    if (!exit) return
    entry.exitCode = exit.code ?? (exit.signal === 'SIGKILL' ? 137 : 143)
    entry.endedAt = now()
    if (entry.given.notify && !isClosed) onEnded?.(entry.owner, toView(entry))
  }

  const begin = async (owner: string, given: ProcessStart): Promise<ProcessView> => {
    if (isClosed) throw new Error('The service is shutting down.')
    makeRoom()
    const child = spawnGroup(given.file, given.args, {
      cwd: given.cwd,
      env: given.env,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    const entry: Entry = {
      id: `proc_${randomBytes(6).toString('hex')}`,
      owner,
      given,
      child,
      startedAt: now(),
      endedAt: null,
      exitCode: null,
      text: '',
      leftOut: 0,
      polled: 0,
      typed: '',
      ended: Promise.resolve(),
    }
    gather(entry)
    // Whoever writes to one that has gone is told by its status.
    child.stdin?.on('error', () => undefined)
    entry.ended = watch(entry)
    // In the list before it is known to run: the bound above must hold for those started together.
    entries.set(entry.id, entry)
    try {
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', resolve)
        child.once('error', reject)
      })
    } catch (error) {
      entries.delete(entry.id)
      throw error
    }
    child.on('error', () => undefined)
    return toView(entry)
  }

  const find = (owner: string, id: string): Entry => {
    forgetOld()
    const entry = entries.get(id)
    if (!entry || !isOf(owner)(entry))
      throw new Error(`There is no process ${id} in this conversation. List them with action list.`)
    return entry
  }

  const end = async (entry: Entry): Promise<void> => {
    if (!isRunning(entry)) return
    const cancelKill = terminateGroup(entry.child, KILL_AFTER_MS)
    await entry.ended
    cancelKill()
    // The shell may have exited while its children ignore SIGTERM.
    killGroup(entry.child, 'SIGKILL')
  }

  const ofSession = (owner: string): Entry[] => [...entries.values()].filter(isOf(owner))

  const write = (entry: Entry, data: string): Promise<void> => {
    if (!isRunning(entry)) throw new Error('The process has ended.')
    if (data.length > MAX_INPUT_CHARS)
      throw new Error(`At most ${MAX_INPUT_CHARS} characters can be written at once.`)
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error('The process does not read its input.')),
        5_000,
      )
      entry.child.stdin?.write(data, error => {
        clearTimeout(timer)
        if (error) reject(new Error('The process has closed its input.'))
        else resolve()
      })
    })
  }

  const wait = (entry: Entry, timeoutMs: number, signal: AbortSignal): Promise<void> =>
    new Promise(resolve => {
      const timer = setTimeout(done, timeoutMs)
      function done() {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      signal.addEventListener('abort', done, { once: true })
      if (signal.aborted) done()
      void entry.ended.then(done)
    })

  /** The last characters that are kept, without colours. */
  const kept = (entry: Entry) => {
    const over = Math.max(0, entry.text.length - MAX_KEPT_CHARS)
    return {
      text: stripVTControlCharacters(entry.text.slice(over)),
      left_out: entry.leftOut + over,
    }
  }

  return {
    /** Those of one session; it sees no others. */
    of: (owner: string): Processes => ({
      start: given => begin(owner, given),
      list() {
        forgetOld()
        return ofSession(owner).map(toView)
      },
      view: id => toView(find(owner, id)),
      read: id => kept(find(owner, id)),
      poll(id) {
        const entry = find(owner, id)
        const fresh = entry.text.slice(Math.max(0, entry.polled - entry.leftOut))
        entry.polled = entry.leftOut + entry.text.length
        return stripVTControlCharacters(fresh)
      },
      pendingInput: id => find(owner, id).typed,
      async write(id, data) {
        const entry = find(owner, id)
        await write(entry, data)
        const all = entry.typed + data
        entry.typed = all.slice(all.lastIndexOf('\n') + 1).slice(-MAX_INPUT_CHARS)
      },
      async wait(id, timeoutMs, signal) {
        const entry = find(owner, id)
        await wait(entry, timeoutMs, signal)
        return toView(entry)
      },
      async kill(id) {
        const entry = find(owner, id)
        await end(entry)
        return toView(entry)
      },
    }),
    /** With their session. */
    async endSession(owner: string): Promise<void> {
      const own = ofSession(owner)
      await Promise.all(own.map(end))
      for (const { id } of own) entries.delete(id)
    },
    /** Every one of them, at the end of the service. */
    async close(): Promise<void> {
      isClosed = true
      await Promise.all([...entries.values()].map(end))
    },
  }
}
