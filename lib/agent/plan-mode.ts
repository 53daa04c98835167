/** Plan mode: until the user approves a plan, only tool calls that certainly change nothing run. No approval lifts it. */
import { Refusal } from '../base/refusal.ts'
import { EXIT_PLAN_MODE } from '../base/plan-answers.ts'
import { readCommand } from './shell/read.ts'
import { onlyReads } from './shell/readers.ts'
import type { ShellContext } from './shell/types.ts'
import { READING_GIT_ENV } from './shell/git-programs.ts'
import { CONTROL_APPROVAL, resolvePath } from './tools/allowed-paths.ts'
import { shellContextFor } from './tools/command-gate.ts'
import { directoryOf, environmentAfter, shellStateOf } from './tools/shell-state.ts'
import type { PlanMode } from './tool-services.ts'
import type { Tool, ToolContext } from './types.ts'

const nextStep = ({ toolNames }: ToolContext): string =>
  toolNames?.includes(EXIT_PLAN_MODE)
    ? `Find out what you need with tools that only read, then present your plan with ${EXIT_PLAN_MODE}.`
    : 'Find out what you need with tools that only read, then end with your plan as the answer.'

const refusal = (ctx: ToolContext, what: string): string =>
  `Plan mode is on, so nothing may change before the user approves a plan. ${what} was not run. ${nextStep(ctx)}`

/** Whether plan mode allows a command outside a sandbox: it certainly only reads the workspace. */
export const isReadingCommand = (command: string, shell: ShellContext): boolean =>
  onlyReads(readCommand(command), shell)

type Terminal = { command: string; workdir?: string; background?: boolean; access?: string }

/**
 * Runs a reading command, or any command where a sandbox prevents all changes. Git refreshes no index, and nothing
 * continues in the background.
 */
const terminalContext = (ctx: ToolContext, input: Terminal): ToolContext | null => {
  const { command, workdir, background, access } = input
  if (background) return null
  const { turn } = ctx
  const quiet = { ...turn, env: { ...turn.env, ...READING_GIT_ENV }, processes: undefined }
  const runner = turn.runner?.readOnly?.()
  if (runner) return access === undefined ? { ...ctx, turn: { ...quiet, runner } } : null
  const state = shellStateOf(ctx)
  const cwd = workdir === undefined ? directoryOf(ctx) : resolvePath(turn, workdir)
  const env = { ...environmentAfter(turn.env, state), ...READING_GIT_ENV }
  const isReading = isReadingCommand(command, shellContextFor({ ...turn, env }, cwd))
  return isReading ? { ...ctx, turn: quiet } : null
}

/** That a server calls its tool read-only is no proof, so the user decides, once per turn and tool. */
const askAboutServerTool = async (tool: Tool, input: unknown, ctx: ToolContext) => {
  const key = `plan mode: ${tool.name}`
  if (ctx.memo.has(key)) return true
  const choice = await ctx.approve({
    command: `${tool.name} ${JSON.stringify(input)}`,
    patternKeys: [`mcp: ${tool.name}`],
    description: `Plan mode is on. The server “${tool.server}” says that this tool only reads, which can't be checked. Allowing it covers this turn.`,
    cwd: ctx.turn.workspace,
    ...CONTROL_APPROVAL,
  })
  if (choice !== 'deny') ctx.memo.set(key, true)
  return choice !== 'deny'
}

/** What a call that runs outside plan mode may no longer do once the user turns it on. */
const guarded = (mode: PlanMode, ctx: ToolContext): ToolContext => {
  const requireOff = (): void => {
    if (mode.isOn()) throw new Refusal('plan', refusal(ctx, 'The rest of this call'))
  }
  return {
    ...ctx,
    approve: async ask => {
      const choice = await ctx.approve(ask)
      requireOff()
      return choice
    },
    beforeChange: async what => {
      requireOff()
      await ctx.beforeChange?.(what)
      requireOff()
    },
  }
}

/** Null: the call may not run. */
const allowedContext = async (
  tool: Tool,
  input: unknown,
  ctx: ToolContext,
): Promise<ToolContext | null> => {
  if (tool.name === 'terminal') return terminalContext(ctx, input as Terminal)
  if (tool.server !== undefined)
    return tool.kind === 'read' && (await askAboutServerTool(tool, input, ctx)) ? ctx : null
  const isReading =
    tool.kind === 'read' ||
    tool.kind === 'think' ||
    tool.kind === 'ask' ||
    tool.onlyReads?.(input) === true
  return isReading ? ctx : null
}

/** The context in which the call runs. Throws the sentence for the model when plan mode forbids the call. */
export const underPlanMode = async (
  mode: PlanMode | undefined,
  tool: Tool,
  input: unknown,
  ctx: ToolContext,
): Promise<ToolContext> => {
  if (!mode) return ctx
  if (!mode.isOn()) return guarded(mode, ctx)
  const allowed = await allowedContext(tool, input, ctx)
  if (!allowed)
    throw new Refusal(
      'plan',
      refusal(
        ctx,
        tool.name === 'terminal'
          ? ctx.turn.runner?.readOnly
            ? 'Commands run read-only, not in the background, and without the argument access; this one'
            : 'Only plain reading commands run (ls, cat, grep, rg, find, git log, git diff, …), not in the background; this one'
          : `The tool ${tool.name}`,
      ),
    )
  return allowed
}

/** For requests of an external agent: why plan mode forbids a change or a command, or null. */
export const planRefusal = (
  mode: PlanMode | undefined,
  command: string | null,
  shell: ShellContext,
): string | null =>
  !mode?.isOn() || (command !== null && isReadingCommand(command, shell))
    ? null
    : 'Plan mode is on: nothing may change before the user approves a plan.'
