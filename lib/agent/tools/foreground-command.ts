/** Runs a command in its own process group until it exits, is stopped, or moves to the background at its time limit. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import {
  type Exit,
  killGroup,
  readThrottled,
  spawnGroup,
  terminateGroup,
  waitForClose,
} from '../../base/process.ts'
import { messageOf } from '../../errors.ts'
import type { ProcessView } from '../tool-services.ts'
import type { ToolContext, ToolResult } from '../types.ts'
import { createOutput, type Printed } from './command-output.ts'

/** Time between SIGTERM and SIGKILL. */
const KILL_AFTER_MS = 250

/** Redirects stderr to stdout, which keeps their order. */
const COMBINED = 'exec "$0" -c "$1" 2>&1'

const shellOf = (env: Readonly<Record<string, string>>): string =>
  (env.PATH ?? '/usr/bin:/bin').split(delimiter).some(dir => existsSync(join(dir, 'bash')))
    ? 'bash'
    : 'sh'

export type Program = { file: string; args: readonly string[] }

/** How the shell runs a command. */
export const shellProgram = (command: string, env: Readonly<Record<string, string>>): Program => {
  const shell = shellOf(env)
  return { file: shell, args: ['-c', COMBINED, shell, command] }
}

export type ForegroundOptions = {
  command: string
  program: Program
  cwd: string
  env: Readonly<Record<string, string>>
  timeoutMs: number
  /** Notify the user when it exits, should it move to the background. */
  notify: boolean
}

type Stopped = 'timeout' | 'stopped' | null

export type ForegroundResult = {
  result: ToolResult
  /** False when it was stopped or moved to the background. */
  isComplete: boolean
}

/** Runs it to its end. At the time limit it moves to the background, or is stopped where there is none. */
export const runForeground = async (
  ctx: ToolContext,
  { command, program, cwd, env, timeoutMs, notify }: ForegroundOptions,
): Promise<ForegroundResult> => {
  const startedAt = performance.now()
  const { file, args } = program
  const child = spawnGroup(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] })
  const output = createOutput(ctx.output)
  const stopReading = readThrottled(child.stdout, output.write)
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
  })
  const moved = Promise.withResolvers<ProcessView>()
  const onTimeout = () => {
    // It has exited; only its children hold the output open, and `closed` does not wait long for them.
    if (child.exitCode !== null || child.signalCode !== null) return
    if (!ctx.processes || stopped) return stop('timeout')
    const elapsedMs = performance.now() - startedAt
    const running = { command, cwd, child, closed, elapsedMs, notify }
    try {
      moved.resolve(ctx.processes.adopt({ ...running, ...output.handOver() }))
      stopReading()
    } catch (error) {
      // The registry is full: the result says so.
      whyNotMoved = ` ${messageOf(error)}`
      stop('timeout')
    }
  }
  const clock = setTimeout(onTimeout, timeoutMs)
  const onAbort = () => stop('stopped')
  ctx.signal.addEventListener('abort', onAbort, { once: true })
  try {
    const ended = await Promise.race([closed, moved.promise])
    if ('session_id' in ended)
      return { result: movedResult(output.text(ctx.offload), ended, timeoutMs), isComplete: false }
    output.end()
    const timeoutError = `Stopped after ${timeoutMs / 1_000} seconds.${whyNotMoved}`
    const result = exitResult(output.text(ctx.offload), ended, stopped, timeoutError)
    return { result, isComplete: stopped === null }
  } finally {
    clearTimeout(clock)
    cancelKill()
    ctx.signal.removeEventListener('abort', onAbort)
  }
}

const movedResult = (
  { output, colored }: Printed,
  { session_id, pid }: ProcessView,
  timeoutMs: number,
): ToolResult => ({
  content: JSON.stringify({
    output,
    session_id,
    pid,
    exit_code: null,
    error: null,
    note: `Still running after ${timeoutMs / 1_000} seconds and now in the background. Use process to wait for it, read its new output, or kill it.`,
  }),
  ...(colored !== undefined && { colored }),
})

const exitResult = (
  { output, colored }: Printed,
  { code, signal }: Exit,
  stopped: Stopped,
  timeoutError: string,
): ToolResult => {
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
    content: JSON.stringify({ output, exit_code: exit, error }),
    isError: exit !== 0,
    ...(colored !== undefined && { colored }),
  }
}
