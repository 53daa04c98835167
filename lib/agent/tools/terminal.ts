/** Tool: runs a shell command in the workspace, in the foreground or in the background. */
import { existsSync, statSync } from 'node:fs'
import { z } from 'zod'
import type { Tool, ToolContext, ToolResult } from '../types.ts'
import { resolvePath } from './allowed-paths.ts'
import { approveCommand } from './command-gate.ts'
import { runForeground, shellProgram } from './foreground-command.ts'

const MAX_TIMEOUT_S = 3_600

const input = z.object({
  command: z.string().trim().min(1),
  timeout: z
    .number()
    .min(1)
    .default(180)
    .transform(seconds => Math.min(seconds, MAX_TIMEOUT_S))
    .describe(
      'Seconds to wait. A command that takes longer continues in the background, or is stopped where there is none.',
    ),
  workdir: z.string().optional().describe('Directory to run in. Default: the workspace.'),
  background: z
    .boolean()
    .default(false)
    .describe('Do not wait. Returns session_id and pid for the process tool.'),
  notify_on_complete: z
    .boolean()
    .default(false)
    .describe('background: notify the user when it exits.'),
})

export const terminal: Tool<typeof input> = {
  name: 'terminal',
  summary:
    'Run a bash command in the workspace. Returns output (stdout and stderr combined) and exit_code. There is no stdin: use non-interactive flags. Start servers and watchers with background=true and control them with process. They keep running after the turn, until the chat or the service ends. Prefer read_file, search_files, and patch for files.',
  input,
  kind: 'execute',
  preview: ({ command }) => command,
  async run(ctx, { command, timeout, workdir, background, notify_on_complete: notify }) {
    const cwd = workdir === undefined ? ctx.workspace : resolvePath(ctx, workdir)
    if (!existsSync(cwd) || !statSync(cwd).isDirectory())
      throw new Error(`The directory ${cwd} does not exist.`)
    const refused = await approveCommand(ctx, command, cwd)
    if (refused) return refused
    ctx.signal.throwIfAborted()
    if (background) return startInBackground(ctx, command, cwd, notify)
    const { env } = ctx
    const program = shellProgram(command, env)
    const timeoutMs = timeout * 1_000
    const { result } = await runForeground(ctx, { command, program, cwd, env, timeoutMs, notify })
    return result
  },
}

/** Starts a background process with a writable stdin. */
const startInBackground = async (
  { processes, env }: ToolContext,
  command: string,
  cwd: string,
  notify: boolean,
): Promise<ToolResult> => {
  if (!processes) throw new Error('Commands cannot run in the background here.')
  const view = await processes.start({ command, ...shellProgram(command, env), cwd, env, notify })
  const { session_id, pid } = view
  const output = 'Started in the background. Control it with the process tool.'
  return { content: JSON.stringify({ output, session_id, pid, exit_code: 0, error: null }) }
}
