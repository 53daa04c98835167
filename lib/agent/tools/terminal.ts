/** Tool: runs a shell command in the workspace, streamed, limited, and killable as a process group. */
import { existsSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { z } from 'zod'
import {
  type Exit,
  killGroup,
  readThrottled,
  spawnGroup,
  terminateGroup,
  waitForClose,
} from '../../base/process.ts'
import type { Tool, ToolContext, ToolResult } from '../types.ts'
import { approveCommand } from './command-gate.ts'
import { createOutput, type Printed } from './command-output.ts'
import { resolvePath } from './allowed-paths.ts'

const MAX_TIMEOUT_S = 3_600
/** Time between SIGTERM and SIGKILL. */
const KILL_AFTER_MS = 250

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
    const cwd = workdir === undefined ? ctx.workspace : resolvePath(ctx, workdir)
    if (!existsSync(cwd) || !statSync(cwd).isDirectory())
      throw new Error(`The directory ${cwd} does not exist.`)
    const refused = await approveCommand(ctx, command, cwd)
    if (refused) return refused
    if (background) return startBehind(ctx, command, cwd, notify)
    return runCommand(ctx, command, cwd, timeout * 1_000)
  },
}

/** Starts a background process with a writable stdin. */
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

/** Redirects stderr to stdout, which keeps their order. */
const TOGETHER = 'exec "$0" -c "$1" 2>&1'

const shellOf = (env: Readonly<Record<string, string>>): string =>
  (env.PATH ?? '/usr/bin:/bin').split(delimiter).some(dir => existsSync(join(dir, 'bash')))
    ? 'bash'
    : 'sh'

const runCommand = async (
  ctx: ToolContext,
  command: string,
  cwd: string,
  timeoutMs: number,
): Promise<ToolResult> => {
  ctx.signal.throwIfAborted()
  const shell = shellOf(ctx.env)
  const args = ['-c', TOGETHER, shell, command]
  const child = spawnGroup(shell, args, { cwd, env: ctx.env, stdio: ['ignore', 'pipe', 'ignore'] })
  const output = createOutput(ctx.output)
  let ended: Ended = null
  let cancelKill = () => {}

  const stop = (why: 'timeout' | 'stopped') => {
    if (ended) return
    ended = why
    cancelKill = terminateGroup(child, KILL_AFTER_MS)
  }
  const cancel = () => stop('stopped')
  const clock = setTimeout(stop, timeoutMs, 'timeout')
  ctx.signal.addEventListener('abort', cancel, { once: true })

  readThrottled(child.stdout, output.write)
  let exit: Exit
  try {
    exit = await waitForClose(child, () => {
      // The shell may have exited while its children ignore SIGTERM.
      if (ended) killGroup(child, 'SIGKILL')
    })
  } finally {
    clearTimeout(clock)
    cancelKill()
    ctx.signal.removeEventListener('abort', cancel)
    output.end()
  }
  return toResult(output.text(ctx.offload), exit, ended, timeoutMs)
}

type Ended = 'timeout' | 'stopped' | null

const toResult = (
  { output, colored }: Printed,
  { code, signal }: Exit,
  ended: Ended,
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
