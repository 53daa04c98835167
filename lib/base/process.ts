/** Child processes: started in a process group, killed as a group, bounded in time and output. Uses Node: not for the page. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'

type Stdio = 'pipe' | 'ignore' | 'inherit'

/** Where the program reads the bytes of `filter`. */
export const FILTER_DESCRIPTOR = 4

/**
 * Called before the process group is signaled, for programs that do not pass signals on to what they run. True: it has
 * delivered the signal, and the group does not get it. Must not throw.
 */
export type OnSignal = (pid: number, signal: NodeJS.Signals) => boolean

/** Called once when the program has ended or could not be started. What it returns is part of the exit. Must not reject. */
export type OnEnd = () => Promise<string | null>

const signalHandlers = new WeakMap<object, OnSignal>()
const endings = new WeakMap<object, Promise<string | null>>()

/**
 * Starts a program in its own process group: what it starts can be killed with it, and a Ctrl-C in our terminal does not
 * reach it. Windows has no process groups; there it is the program alone.
 */
export const spawnGroup = <In extends Stdio, Out extends Stdio, Err extends Stdio>(
  file: string,
  args: readonly string[],
  {
    cwd,
    env,
    stdio,
    user,
    onSignal,
    onEnd,
    filter,
  }: {
    cwd: string
    /** All of it: nothing of our own environment is added. */
    env: Readonly<Record<string, string>>
    /** A fourth one is file descriptor 3: `child.stdio[3]`. */
    stdio: readonly [In, Out, Err, 'pipe'?]
    /** Of the program; without it, that of this process. */
    user?: { uid: number; gid: number } | undefined
    onSignal?: OnSignal
    onEnd?: OnEnd
    filter?: Uint8Array
  },
) => {
  const [input, output, errors, report] = stdio
  const usual = [input, output, errors, ...(report ? [report] : [])]
  const child = spawn(file, [...args], {
    cwd,
    env,
    stdio: filter ? [input, output, errors, report ?? 'ignore', 'pipe'] : usual,
    detached: process.platform !== 'win32',
    windowsHide: true,
    ...user,
  }) as ChildProcessByStdio<
    In extends 'pipe' ? Writable : null,
    Out extends 'pipe' ? Readable : null,
    Err extends 'pipe' ? Readable : null
  >
  if (filter) {
    const pipe = child.stdio[FILTER_DESCRIPTOR] as unknown as Writable
    // EPIPE: it has ended before it read them.
    pipe.on('error', () => undefined)
    pipe.end(filter)
  }
  if (onSignal) signalHandlers.set(child, onSignal)
  if (onEnd) endings.set(child, endOf(child).then(onEnd))
  return child
}

const endOf = (child: ChildProcess): Promise<void> =>
  new Promise(resolve => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })

/** Signals a program started by `spawnGroup` and everything in its group. Does nothing when the group is empty. */
export const killGroup = (child: { pid?: number | undefined }, signal: NodeJS.Signals): void => {
  const { pid } = child
  if (pid === undefined || signalHandlers.get(child)?.(pid, signal)) return
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal)
  } catch {
    // ESRCH: the whole group has ended.
  }
}

/** Signals one process; 0 only checks it. False when it has ended or belongs to another user. */
export const signalProcess = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(pid, signal)
  } catch {
    // ESRCH or EPERM.
    return false
  }
}

/** SIGTERM to the group, and SIGKILL `graceMs` later. Returns a function that cancels the SIGKILL. */
export const terminateGroup = (
  child: { pid?: number | undefined },
  graceMs: number,
): (() => void) => {
  killGroup(child, 'SIGTERM')
  const timer = setTimeout(killGroup, graceMs, child, 'SIGKILL').unref()
  return () => clearTimeout(timer)
}

export type Exit = {
  code: number | null
  signal: NodeJS.Signals | null
  /** What `onEnd` has to say. */
  note?: string
}

/** After the exit, pipes that background children hold are destroyed when nothing was read for this long, */
const LINGER_MS = 100
/** or after this time at the latest. */
const MAX_LINGER_MS = 5_000

const pipesOf = (child: ChildProcess): Socket[] =>
  child.stdio.slice(1).flatMap(pipe => (pipe ? [pipe as Socket] : []))

const bytesRead = (child: ChildProcess): number =>
  pipesOf(child).reduce((sum, { bytesRead: bytes }) => sum + bytes, 0)

/**
 * Resolves when the program has exited and its output has been read. Pipes that its background children still hold are
 * destroyed once they are quiet. Rejects when the program cannot be started.
 */
export const waitForClose = (child: ChildProcess, onExit?: () => void): Promise<Exit> =>
  new Promise((resolve, reject) => {
    child.on('error', reject)
    child.once('exit', (code, signal) => {
      onExit?.()
      const deadline = performance.now() + MAX_LINGER_MS
      let seen = -1
      // One quiet check is not enough: after a busy event loop the timer fires before the pipes are read.
      const linger = setInterval(() => {
        const total = bytesRead(child)
        if (total !== seen && performance.now() < deadline) {
          seen = total
          return
        }
        for (const pipe of pipesOf(child)) pipe.destroy()
      }, LINGER_MS)
      child.once('close', () => {
        clearInterval(linger)
        void noteOf(child).then(note => resolve({ code, signal, ...(note !== null && { note }) }))
      })
    })
  })

const noteOf = async (child: ChildProcess): Promise<string | null> => endings.get(child) ?? null

const BYTES_PER_SLICE = 1024 * 1024
const SLICE_MS = 50

/**
 * Reads at most about 20 MB/s, so that a program that prints without end does not block the event loop. Returns a
 * function that ends it. A reader that is attached in the same tick misses nothing.
 */
export const readThrottled = (
  stream: Readable | null,
  write: (bytes: Buffer) => void,
): (() => void) => {
  let slice = 0
  const onData = (bytes: Buffer) => {
    write(bytes)
    slice += bytes.length
    if (slice < BYTES_PER_SLICE) return
    slice = 0
    stream?.pause()
    setTimeout(() => stream?.resume(), SLICE_MS)
  }
  stream?.on('data', onData)
  return () => stream?.off('data', onData)
}

export type RunOptions = {
  cwd: string
  /** All of it: nothing of our own environment is added. */
  env: Readonly<Record<string, string>>
  timeoutMs: number
  signal?: AbortSignal
  input?: string | Uint8Array
  /** More on standard output stops the program. 16 MiB by default. */
  maxBytes?: number
  /** Its exit is the end: background children, which may hold its output open, are killed. */
  killsChildren?: boolean
  onEnd?: OnEnd
  filter?: Uint8Array
}

export type RunResult = {
  /** Null when a signal ended it. */
  code: number | null
  /** At most `maxBytes`. */
  stdout: Buffer
  /** The first 4000 characters. */
  stderr: string
  /** The last 4000 characters of both outputs, in the order they were read. */
  tail: string
  /** Why it was killed; null when it was not. */
  stopped: 'timeout' | 'limit' | 'abort' | null
  /** What `onEnd` has to say. */
  note: string | null
}

const MAX_BYTES = 16 * 1024 * 1024
const MAX_CHARS = 4_000

/** Runs a program to its end and collects its output. Stopped with everything it started. Rejects only when it cannot be started. */
export const run = (
  file: string,
  args: readonly string[],
  {
    cwd,
    env,
    timeoutMs,
    signal,
    input,
    maxBytes = MAX_BYTES,
    killsChildren,
    onEnd,
    filter,
  }: RunOptions,
): Promise<RunResult> =>
  new Promise((resolve, reject) => {
    const child = spawnGroup(file, args, {
      cwd,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
      onEnd,
      filter,
    })
    const chunks: Buffer[] = []
    let size = 0
    let stderr = ''
    let tail = ''
    let stopped: RunResult['stopped'] = null
    const stop = (why: NonNullable<RunResult['stopped']>): void => {
      stopped ??= why
      killGroup(child, 'SIGKILL')
      // A process that left the group may hold the pipes open.
      child.stdout.destroy()
      child.stderr.destroy()
    }
    const timer = setTimeout(stop, timeoutMs, 'timeout')
    const abort = () => stop('abort')
    const release = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
    signal?.addEventListener('abort', abort, { once: true })
    if (signal?.aborted) abort()
    child.stdout.on('data', (chunk: Buffer) => {
      chunks.push(chunk.subarray(0, Math.max(0, maxBytes - size)))
      size += chunk.length
      tail = (tail + chunk.subarray(-MAX_CHARS).toString()).slice(-MAX_CHARS)
      if (size > maxBytes) stop('limit')
    })
    child.stderr.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString()).slice(0, MAX_CHARS)
      tail = (tail + chunk.subarray(-MAX_CHARS).toString()).slice(-MAX_CHARS)
    })
    // EPIPE: it may exit before it has read all of its input; the exit code decides.
    child.stdin.on('error', () => undefined)
    child.on('error', error => {
      release()
      reject(error)
    })
    if (killsChildren) child.once('exit', () => killGroup(child, 'SIGKILL'))
    child.once('close', code => {
      release()
      void noteOf(child).then(note =>
        resolve({ code, stdout: Buffer.concat(chunks), stderr, tail, stopped, note }),
      )
    })
    child.stdin.end(input ?? '')
  })
