/** Runs a command in its own process group until it exits, is stopped, or moves to the background at its time limit. */
import { findProgram } from '../../base/find-program.ts'
import type { Readable } from 'node:stream'
import {
  type Exit,
  killGroup,
  readThrottled,
  spawnGroup,
  terminateGroup,
  waitForClose,
} from '../../base/process.ts'
import { messageOf } from '../../errors.ts'
import type { CommandAccess, PlacedProgram, ProcessView, Program } from '../tool-services.ts'
import type { ToolContext, ToolResult } from '../types.ts'
import { Countdown } from './countdown.ts'
import type { NetworkGate } from './network-gate.ts'
import { CommandOutput, type CapturedOutput } from './command-output.ts'

/** Time between SIGTERM and SIGKILL. */
const KILL_AFTER_MS = 250

/** Redirects stderr to stdout, which keeps their order. */
const COMBINED = 'exec "$0" -c "$1" 2>&1'

/** The shell that runs commands. */
export const shellOf = (env: Readonly<Record<string, string>>): string =>
  findProgram(env.PATH ?? '/usr/bin:/bin', 'bash') ? 'bash' : 'sh'

/** How the shell runs a command; `script` receives it as `$1`. */
export const shellProgram = (
  command: string,
  env: Readonly<Record<string, string>>,
  script = COMBINED,
): Program => {
  const shell = shellOf(env)
  return { file: shell, args: ['-c', script, shell, command] }
}

type Stopped = 'timeout' | 'stopped' | null

export type ForegroundResult = Omit<ToolResult, 'content'> & {
  /** The fields of the JSON that the model reads. */
  fields: Readonly<Record<string, unknown>>
  /** What it wrote to descriptor 3. Null without `hasReport`, and when it did not run to its end. */
  report: string | null
}

const MAX_REPORT_BYTES = 1024 * 1024

/** Collects descriptor 3. A report that is too long is dropped. */
const collectReport = (stream: Readable | null): (() => string) => {
  const chunks: Buffer[] = []
  let size = 0
  stream?.on('data', (bytes: Buffer) => {
    size += bytes.length
    if (size <= MAX_REPORT_BYTES) chunks.push(bytes)
    else stream.destroy()
  })
  return () => (size > MAX_REPORT_BYTES ? '' : Buffer.concat(chunks).toString('utf8'))
}

/** What to say when a command cannot be started. The directory was checked, so ENOENT means the program: an image may have no shell. */
export const startError = (file: string, error: unknown): unknown =>
  (error as NodeJS.ErrnoException).code === 'ENOENT'
    ? new Error(
        `Commands cannot run here: "${file}" is not installed${file === 'sh' ? ', and no other shell is' : ''}.`,
      )
    : error

/** Runs it to its end. At the time limit it moves to the background, or is stopped where there is none. */
export const runForeground = async (
  ctx: ToolContext,
  {
    command,
    placed,
    cwd,
    access,
    timeoutMs,
    notify,
    hasReport,
    gate,
  }: {
    command: string
    placed: PlacedProgram
    /** The directory of the command, which may have another path where it runs. */
    cwd: string
    access: CommandAccess
    timeoutMs: number
    /** Notify the user when it exits, should it move to the background. */
    notify: boolean
    /** Read what it writes to descriptor 3. */
    hasReport: boolean
    /** Its time limit stands still while the gate asks. */
    gate?: NetworkGate
  },
): Promise<ForegroundResult> => {
  const startedAt = ctx.turn.clock.monotonic()
  const stdio = ['ignore', 'pipe', 'ignore', hasReport ? 'pipe' : undefined] as const
  const child = spawnGroup(placed.file, placed.args, { ...placed, stdio })
  const readReport = collectReport((child.stdio[3] as Readable | undefined) ?? null)
  const output = new CommandOutput(ctx.turn.clock, ctx.output)
  const stopReading = readThrottled(child.stdout, bytes => output.write(bytes))
  let stopped: Stopped = null
  let whyNotMoved = ''
  let cancelKill = () => {}

  const stop = (why: 'timeout' | 'stopped') => {
    if (stopped) return
    stopped = why
    cancelKill = terminateGroup(child, KILL_AFTER_MS)
  }
  const closed = waitForClose(child, () => {
    // The shell may have exited while its children ignore SIGTERM.
    if (stopped) killGroup(child, 'SIGKILL')
  }).catch((error: unknown) => {
    throw startError(placed.file, error)
  })
  const moved = Promise.withResolvers<ProcessView>()
  const onTimeout = () => {
    // It has exited; only its children hold the output open, and `closed` does not wait long for them.
    if (child.exitCode !== null || child.signalCode !== null) return
    if (!ctx.turn.processes || stopped) return stop('timeout')
    const elapsedMs = ctx.turn.clock.monotonic() - startedAt
    const running = { command, cwd, access, child, closed, elapsedMs, notify }
    try {
      moved.resolve(ctx.turn.processes.adopt({ ...running, ...output.handOver() }))
      stopReading()
    } catch (error) {
      // The registry is full: the result says so.
      whyNotMoved = ` ${messageOf(error)}`
      stop('timeout')
    }
  }
  const countdown = new Countdown(ctx.turn.clock, timeoutMs, onTimeout)
  gate?.pauses(countdown)
  const onAbort = () => stop('stopped')
  ctx.signal.addEventListener('abort', onAbort, { once: true })
  try {
    const ended = await Promise.race([closed, moved.promise])
    if ('session_id' in ended) return movedResult(output.text(ctx.offload), ended, timeoutMs)
    output.end()
    const timeoutError = `Stopped after ${timeoutMs / 1_000} seconds.${whyNotMoved}`
    const result = exitResult(output.text(ctx.offload), ended, stopped, timeoutError)
    return { ...result, report: hasReport && stopped === null ? readReport() : null }
  } finally {
    countdown.stop()
    cancelKill()
    ctx.signal.removeEventListener('abort', onAbort)
  }
}

const movedResult = (
  { output, colored }: CapturedOutput,
  { session_id, pid }: ProcessView,
  timeoutMs: number,
): ForegroundResult => ({
  fields: {
    output,
    session_id,
    pid,
    exit_code: null,
    error: null,
    note: `Still running after ${timeoutMs / 1_000} seconds and now in the background. Use process to wait for it, read its new output, or kill it.`,
  },
  report: null,
  ...(colored !== undefined && { colored }),
})

const exitResult = (
  { output, colored }: CapturedOutput,
  { code, signal, note }: Exit,
  stopped: Stopped,
  timeoutError: string,
): Omit<ForegroundResult, 'report'> => {
  const error =
    stopped === 'timeout'
      ? timeoutError
      : stopped === 'stopped'
        ? 'Stopped by the user.'
        : signal
          ? `Ended by ${signal}.`
          : null
  const exit = stopped === 'timeout' ? 124 : (code ?? 130)
  return {
    fields: { output, exit_code: exit, error, ...(note !== undefined && { git_note: note }) },
    isError: exit !== 0,
    ...(colored !== undefined && { colored }),
  }
}
