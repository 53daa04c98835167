/** Tool: runs a shell command in the workspace, watched, bounded and stoppable as a whole. */
import { spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { z } from 'zod'
import type { Tool, ToolContext, ToolResult } from '../types.ts'
import { passCommand } from './command-gate.ts'
import { killGroup, readSlowly } from './process-group.ts'
import { createOutput, type Printed } from './command-output.ts'
import { toPlace } from './allowed-paths.ts'

const MAX_TIMEOUT_S = 3_600
/** Between the polite and the final signal. */
const KILL_AFTER_MS = 250
/** How long pipes may stay open after the shell has ended, held by what it left in the background. */
const LINGER_MS = 100

const input = z.object({
  command: z.string().trim().min(1),
  timeout: z
    .number()
    .min(1)
    .default(180)
    .transform(seconds => Math.min(seconds, MAX_TIMEOUT_S))
    .describe('Seconds after which the command is stopped.'),
  workdir: z.string().optional().describe('Directory to run in; the workspace by default.'),
  background: z
    .boolean()
    .default(false)
    .describe('Do not wait for it: answers session_id and pid for the process tool.'),
  notify_on_complete: z
    .boolean()
    .default(false)
    .describe('background: tell the user when it has ended.'),
})

export const terminal: Tool<typeof input> = {
  name: 'terminal',
  summary:
    'Run a shell command (bash) in the workspace. Answers output (stdout and stderr together) and exit_code. There is no input: use flags that ask nothing. Start servers, watchers and what runs long with background=true and look after them with process; they go on after the turn and end with the conversation or the service. Prefer read_file, search_files and patch for files.',
  input,
  kind: 'execute',
  preview: ({ command }) => command,
  async run(ctx, { command, timeout, workdir, background, notify_on_complete: notify }) {
    const cwd = workdir === undefined ? ctx.workspace : toPlace(ctx, workdir)
    if (!existsSync(cwd) || !statSync(cwd).isDirectory())
      throw new Error(`The directory ${cwd} does not exist.`)
    const refused = await passCommand(ctx, command, cwd)
    if (refused) return refused
    if (background) return startBehind(ctx, command, cwd, notify)
    return runCommand(ctx, command, cwd, timeout * 1_000)
  },
}

/** It has a standard input that process writes to, and is not waited for. */
const startBehind = async (
  ctx: ToolContext,
  command: string,
  cwd: string,
  notify: boolean,
): Promise<ToolResult> => {
  if (!ctx.processes) throw new Error('Programs cannot run in the background here.')
  ctx.signal.throwIfAborted()
  const shell = shellOf(ctx.env)
  const args = ['-c', TOGETHER, shell, command]
  const view = await ctx.processes.start({ command, file: shell, args, cwd, env: ctx.env, notify })
  const { session_id, pid } = view
  const output = 'Started in the background. Look after it with the process tool.'
  return { content: JSON.stringify({ output, session_id, pid, exit_code: 0, error: null }) }
}

/** Standard error goes where standard output goes, so that both keep their order. */
const TOGETHER = 'exec "$0" -c "$1" 2>&1'

const shellOf = (env: Readonly<Record<string, string>>): string =>
  (env.PATH ?? '/usr/bin:/bin').split(delimiter).some(dir => existsSync(join(dir, 'bash')))
    ? 'bash'
    : 'sh'

const runCommand = (
  ctx: ToolContext,
  command: string,
  cwd: string,
  timeoutMs: number,
): Promise<ToolResult> =>
  new Promise((resolve, reject) => {
    ctx.signal.throwIfAborted()
    const shell = shellOf(ctx.env)
    // A process group of its own: what it starts can be stopped with it.
    const child = spawn(shell, ['-c', TOGETHER, shell, command], {
      cwd,
      env: ctx.env,
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const output = createOutput(ctx.output)
    let ended: 'timeout' | 'stopped' | null = null
    let final: NodeJS.Timeout | undefined

    const stop = (why: 'timeout' | 'stopped') => {
      if (ended) return
      ended = why
      killGroup(child, 'SIGTERM')
      final = setTimeout(() => killGroup(child, 'SIGKILL'), KILL_AFTER_MS)
    }
    const cancel = () => stop('stopped')
    const clock = setTimeout(() => stop('timeout'), timeoutMs)
    ctx.signal.addEventListener('abort', cancel, { once: true })
    const release = () => {
      clearTimeout(clock)
      clearTimeout(final)
      ctx.signal.removeEventListener('abort', cancel)
    }

    readSlowly(child.stdout, output.write)
    child.once('error', error => {
      release()
      output.end()
      reject(error)
    })
    child.once('exit', (code, signal) => {
      // The shell may be gone while its children ignore the polite signal.
      if (ended) killGroup(child, 'SIGKILL')
      const close = setTimeout(() => child.stdout?.destroy(), LINGER_MS)
      child.once('close', () => {
        clearTimeout(close)
        release()
        output.end()
        resolve(toResult(output.text(ctx.spill), code, signal, ended, timeoutMs))
      })
    })
  })

const toResult = (
  { output, colored }: Printed,
  code: number | null,
  signal: NodeJS.Signals | null,
  ended: 'timeout' | 'stopped' | null,
  timeoutMs: number,
): ToolResult => {
  const error =
    ended === 'timeout'
      ? `Stopped after ${timeoutMs / 1_000} seconds.`
      : ended === 'stopped'
        ? 'Stopped by the user.'
        : signal
          ? `Ended by ${signal}.`
          : null
  const exit = ended === 'timeout' ? 124 : (code ?? 130)
  return {
    content: JSON.stringify({ output, exit_code: exit, error }),
    isError: exit !== 0,
    ...(colored !== undefined && { colored }),
  }
}
