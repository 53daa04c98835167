/** Tool: runs a shell command in the workspace, in the foreground or in the background. */
import { isDirectory } from '../../base/directories.ts'
import { z } from 'zod'
import { reachesByCommand } from '../permissions/reach.ts'
import type { Approved } from '../permissions/decide.ts'
import type { CommandRunner, CommandAccess } from '../tool-services.ts'
import type { PathScope, Tool, ToolContext, ToolResult } from '../types.ts'
import { resolvePath } from './allowed-paths.ts'
import { approveCommand } from './command-gate.ts'
import { runForeground, shellProgram, startError } from './foreground-command.ts'
import { NetworkGate } from './network-gate.ts'
import { placeCommand, runsIn } from './place-command.ts'
import { seconds } from './numbers.ts'
import {
  directoryOf,
  environmentAfter,
  nextState,
  REPORTING_SHELL,
  saveShellState,
  type ShellState,
  shellStateOf,
  withAssignments,
} from './shell-state.ts'

const MAX_TIMEOUT_S = 3_600

export type TerminalSettings = {
  /** Seconds to wait for a command unless the model asks for another time. */
  timeoutS: number
  /** The variables of a command apply to the next one of the chat, as its directory always does. */
  isPersistent: boolean
  /** What the model must know about the runner of commands, where there is one. */
  runner?: CommandRunner
}

const DEFAULTS: TerminalSettings = { timeoutS: 180, isPersistent: false }

/** Described only where there is something to choose. */
const accessField = {
  access: z
    .enum(['unconfined'])
    .optional()
    .describe(
      'Only where the command fails without it; the user is asked. unconfined: outside the sandbox; variables that other commands have set do not apply.',
    ),
}

const inputWith = ({ timeoutS, runner }: TerminalSettings) =>
  z.object({
    command: z.string().trim().min(1),
    timeout: seconds(MAX_TIMEOUT_S)
      .default(timeoutS)
      .describe('Seconds to wait. Then it continues in the background where possible, or stops.'),
    workdir: z.string().optional().describe('Directory to run in, for this call only.'),
    background: z
      .boolean()
      .default(false)
      .describe('Do not wait. Returns session_id and pid for the process tool.'),
    notify_on_complete: z
      .boolean()
      .default(false)
      .describe('background: notify the user when it exits.'),
    ...((runner?.canLeave ? accessField : {}) as typeof accessField),
  })

const LASTING = {
  false: 'It starts in the workspace; cd lasts for the next calls, export does not.',
  true: 'It starts in the workspace; cd, exported variables, and an activated virtual environment last for the next calls, aliases and functions do not.',
} as const

const keep = ({ memo, chatMemo = memo, turn }: ToolContext, state: ShellState): void =>
  saveShellState(chatMemo, turn.workspace, state)

/** Where a command runs. Throws when that is no directory; one that was deleted is left. */
export const directoryFor = (ctx: ToolContext, workdir: string | undefined): string => {
  const {
    turn: { workspace },
  } = ctx
  const cwd = workdir === undefined ? directoryOf(ctx) : resolvePath(ctx.turn, workdir)
  if (isDirectory(cwd)) return cwd
  if (workdir !== undefined || cwd === workspace)
    throw new Error(`The directory ${cwd} does not exist.`)
  keep(ctx, { ...shellStateOf(ctx), cwd: workspace })
  throw new Error(
    `The current directory ${cwd} was deleted. The next command runs in ${workspace}.`,
  )
}

export const terminalTool = (
  settings: TerminalSettings = DEFAULTS,
): Tool<ReturnType<typeof inputWith>> => ({
  name: 'terminal',
  summary: `Run a bash command in the workspace. Returns output (stdout and stderr combined) and exit_code. There is no stdin: use non-interactive flags. ${LASTING[`${settings.isPersistent}`]} Start servers and watchers with background=true and control them with process; they run until the chat or the service ends. Prefer read_file, search_files, and patch for files.${settings.runner ? ` ${settings.runner.note}` : ''}`,
  input: inputWith(settings),
  kind: 'execute',
  preview: ({ command }) => command,
  reaches: ({ command, workdir }, call) =>
    reachesByCommand(
      command,
      workdir === undefined ? directoryOf(call) : resolvePath(call.turn, workdir),
      call,
    ),
  async run(ctx, { command, timeout, workdir, background, notify_on_complete: notify, access }) {
    const isOutside = ctx.turn.runner !== undefined && access === 'unconfined'
    const state = shellStateOf(ctx)
    // Variables that a command of the sandbox has set could make an approved program run another one outside.
    const before: ShellState = isOutside ? { ...state, changes: new Map() } : state
    const cwd = directoryFor(ctx, workdir)
    const env = environmentAfter(startEnvironment(ctx.turn), before)
    const approval = await approveCommand({ ...ctx, turn: { ...ctx.turn, env } }, command, {
      cwd,
      approvalText: withAssignments(command, before),
      access,
    })
    if ('refused' in approval) return approval.refused
    ctx.signal.throwIfAborted()
    const gate = new NetworkGate(ctx, {
      command,
      cwd,
      runsIn: runsIn(ctx.turn.runner, approval.access),
    })
    if (background) return startInBackground(ctx, approval, { command, cwd, env, notify, gate })
    const hasReport = !isOutside
    const program = shellProgram(command, env, hasReport ? REPORTING_SHELL : undefined)
    const place = { program, cwd, env, hasReport, onTarget: gate.check }
    const { report, fields, ...result } = await runForeground(ctx, {
      command,
      placed: await placeCommand(ctx, approval, place),
      cwd,
      access: approval.access,
      timeoutMs: timeout * 1_000,
      notify,
      hasReport,
      gate,
    })
    const lasting =
      report === null
        ? {}
        : saveStateAfter(ctx, before, report, {
            keepsCwd: workdir === undefined,
            keepsVariables: settings.isPersistent,
          })
    const hint =
      ctx.turn.runner && result.isError
        ? failureHint(String(fields.output), approval.access, ctx.turn.runner)
        : null
    return {
      ...result,
      content: JSON.stringify({
        ...fields,
        ...lasting,
        ...gate.fields(),
        ...(hint !== null && { hint }),
      }),
    }
  },
})

/** What a command starts with: in a container, the variables of its image. */
const startEnvironment = ({ runner, env }: PathScope): Readonly<Record<string, string>> =>
  runner?.environment?.(env) ?? env

/** Saves the state for the next command. Returns what the model must know about it. */
export const saveStateAfter = (
  ctx: ToolContext,
  before: ShellState,
  report: string,
  { keepsCwd, keepsVariables }: { keepsCwd: boolean; keepsVariables: boolean },
): { cwd?: string; note?: string } => {
  const {
    turn: { workspace },
  } = ctx
  const env = startEnvironment(ctx.turn)
  const next = nextState(before, report, {
    env,
    workspace,
    keepsCwd,
    own: ctx.turn.runner?.sets,
  })
  const state = keepsVariables ? next.state : { ...next.state, changes: before.changes }
  const dropped = keepsVariables ? next.dropped : []
  keep(ctx, state)
  return {
    ...((state.cwd !== workspace || state.cwd !== before.cwd) && { cwd: state.cwd }),
    ...(dropped.length > 0 && {
      note: `These variables do not last: ${dropped.join(', ')}. Set them in each command that needs them.`,
    }),
  }
}

/** Starts a background process with a writable stdin. */
const startInBackground = async (
  ctx: ToolContext,
  approved: Approved,
  {
    command,
    cwd,
    env,
    notify,
    gate,
  }: {
    command: string
    cwd: string
    env: Readonly<Record<string, string>>
    notify: boolean
    gate: NetworkGate
  },
): Promise<ToolResult> => {
  if (!ctx.turn.processes) throw new Error('Commands cannot run in the background here.')
  const program = shellProgram(command, env)
  const place = { program, cwd, env, hasInput: true, onTarget: gate.check }
  const placed = await placeCommand(ctx, approved, place)
  const { access } = approved
  const { session_id, pid } = await ctx.turn.processes
    .start({ command, cwd, placed, notify, access })
    .catch((error: unknown) => {
      throw startError(placed.file, error)
    })
  const output = 'Started in the background. Control it with the process tool.'
  return { content: JSON.stringify({ output, session_id, pid, exit_code: 0, error: null }) }
}

const NO_WRITE = /Read-only file system|EROFS|Device or resource busy/i
/** Operations of Git that write down programs to run, and its configuration. */
const NO_GIT =
  /rebase-(?:merge|apply)|\bBISECT_|\.git\/(?:worktrees|modules|info|lfs)\b|could not lock config file|unable to write upstream branch configuration/
const NO_NETWORK =
  /Could not resolve (?:host|proxy)|Temporary failure in name resolution|getaddrinfo|ENOTFOUND|EAI_AGAIN|Network is unreachable|ENETUNREACH/i

/** Null: nothing about the sandbox. */
export const failureHint = (
  output: string,
  access: CommandAccess,
  { canLeave, isReadOnly }: { canLeave?: boolean; isReadOnly?: boolean },
): string | null => {
  if (isReadOnly)
    return NO_WRITE.test(output) || NO_NETWORK.test(output)
      ? 'Plan mode is on: commands can change only /tmp, and there is no network.'
      : null
  if (access === 'unconfined') return null
  if (NO_GIT.test(output))
    return `In the sandbox Git can add, commit, branch, merge, stash, reset, and fetch. Its configuration and hooks, rebase, bisect, worktrees, submodules, and LFS need access "unconfined"${canLeave ? '; the user is asked' : ', which is not offered here'}. A branch without tracking can be made with --no-track.`
  const otherwise = canLeave
    ? ' Where the task needs more, repeat the command with access "unconfined"; the user is asked.'
    : ''
  if (NO_WRITE.test(output))
    return `In the sandbox only the workspace and /tmp can be changed, .git only by commands that run nothing but git.${otherwise}`
  return NO_NETWORK.test(output)
    ? `The network of the sandbox is a proxy that HTTP_PROXY and ALL_PROXY name; other connections fail.${otherwise}`
    : null
}
