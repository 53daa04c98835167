/** Runs the command of a hook: JSON on stdin, bounded time and output, killed with its process group when the turn stops. */
import { spawnGroup, killGroup, waitForClose } from '../../base/process.ts'
import { messageOf } from '../../errors.ts'

export type HookRun = {
  /** Null when it did not end on its own. */
  code: number | null
  stdout: string
  /** The first characters. */
  stderr: string
  /** Why there is no usable result: not started, too slow, too much output. Null otherwise. */
  failure: string | null
}

export type HookCommand = {
  command: string
  cwd: string
  /** All of it. */
  env: Readonly<Record<string, string>>
  input: string
  timeoutMs: number
  signal: AbortSignal
}

const MAX_STDOUT_BYTES = 1024 * 1024
const MAX_STDERR_CHARS = 4_000
/** What a shell answers when it finds no such program or may not run it (POSIX, exit status of a command). */
const NOT_RUNNABLE = new Set([126, 127])

/**
 * Never rejects. When the command has exited, programs it left in the background continue, but their output is not waited
 * for.
 */
export const runHookCommand = async ({
  command,
  cwd,
  env,
  input,
  timeoutMs,
  signal,
}: HookCommand): Promise<HookRun> => {
  const chunks: Buffer[] = []
  let size = 0
  let stderr = ''
  let failure: string | null = null
  let timer: NodeJS.Timeout | undefined
  let abort = (): void => undefined
  try {
    const child = spawnGroup('/bin/sh', ['-c', command], {
      cwd,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const stop = (why: string): void => {
      failure ??= why
      killGroup(child, 'SIGKILL')
      // A process that left the group may hold the pipes open.
      child.stdout.destroy()
      child.stderr.destroy()
    }
    const close = waitForClose(child)
    timer = setTimeout(stop, timeoutMs, `it took longer than ${timeoutMs / 1_000} s`)
    abort = () => stop('the turn was stopped')
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    child.stdout.on('data', (bytes: Buffer) => {
      size += bytes.length
      if (size <= MAX_STDOUT_BYTES) chunks.push(bytes)
      else stop('it printed more than 1 MB')
    })
    child.stderr.on('data', (bytes: Buffer) => {
      if (stderr.length < MAX_STDERR_CHARS)
        stderr = (stderr + bytes.toString()).slice(0, MAX_STDERR_CHARS)
    })
    // EPIPE: it need not read its input.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const { code, signal: killedBy } = await close
    const ending =
      code === null
        ? `it was ended by ${killedBy}`
        : NOT_RUNNABLE.has(code)
          ? `it could not be started (exit code ${code})`
          : null
    return {
      code,
      stdout: Buffer.concat(chunks).toString('utf8'),
      stderr: stderr.trim(),
      failure: failure ?? ending,
    }
  } catch (error) {
    return { code: null, stdout: '', stderr: '', failure: messageOf(error) }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}
