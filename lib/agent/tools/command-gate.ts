/** The check of every command before it runs, however it is started: refuse, ask for approval, or run. */
import { assessCommand, forbiddenPathIn, type ShellContext } from '../command-risk.ts'
import { confine } from '../permissions/confinement.ts'
import { riskyParts } from '../permissions/risky-parts.ts'
import { describeLabels, UNCONFINED } from '../shell/labels.ts'
import { CONTROL_APPROVAL } from './allowed-paths.ts'
import type { RunsIn } from '../../schema/command-place.ts'
import type { CommandAccess } from '../tool-services.ts'
import type { ToolContext, ToolResult } from '../types.ts'
import { type Approved, runsIn } from './place-command.ts'

export const blockedResult = (error: string, hint: string): ToolResult => ({
  content: JSON.stringify({ status: 'blocked', output: '', exit_code: -1, error, hint }),
  isError: true,
})

/** Not for good: in the sandbox, the agent may change the files that the same command runs later. */
const OUTSIDE = { leavesSandbox: true, choices: ['once', 'session', 'deny'] } as const

/** Asks for approval with these labels; null if approved. */
export const askApproval = async (
  ctx: Pick<ToolContext, 'approve'>,
  { command, labels, cwd, isControl = false, runsIn: where, shell }: Question,
): Promise<ToolResult | null> => {
  const marks = shell ? riskyParts(command, labels, shell) : []
  const choice = await ctx.approve({
    command,
    patternKeys: labels,
    description: describeLabels(labels),
    ...(marks.length > 0 && { marks }),
    cwd,
    ...(where && { runsIn: where }),
    ...(labels.includes(UNCONFINED) && OUTSIDE),
    ...(isControl && CONTROL_APPROVAL),
  })
  return choice === 'deny'
    ? blockedResult(
        `The user denied this command (${labels.join('; ')}).`,
        'Do not try the same by another way.',
      )
    : null
}

export type Question = {
  command: string
  labels: string[]
  cwd: string
  isControl?: boolean
  runsIn?: RunsIn | undefined
  /** To find the parts that lead to the labels; absent: nothing is marked. */
  shell?: ShellContext
}

/** The shell context of a command in this turn. */
export const shellContextFor = (
  ctx: Pick<ToolContext, 'env' | 'workspace' | 'controlPaths' | 'ownAddresses'>,
  cwd: string,
): ShellContext => ({
  home: ctx.env.HOME ?? '',
  cwd,
  workspace: ctx.workspace,
  env: ctx.env,
  ...(ctx.controlPaths && { controlPaths: ctx.controlPaths }),
  ...(ctx.ownAddresses && { ownAddresses: ctx.ownAddresses }),
})

/** The refusal where the runner cannot run anything; null otherwise. */
export const unavailableRunner = async ({
  runner,
}: Pick<ToolContext, 'runner'>): Promise<ToolResult | null> => {
  const problem = (await runner?.problem()) ?? null
  return problem === null ? null : blockedResult(problem, 'The command was not run.')
}

export type GateOptions = {
  cwd: string
  /** What an approval shows and remembers, where the command alone does not say what it does. */
  shown?: string
  /** What the model asked for. */
  wanted?: CommandAccess
}

/** How the command may run; its checkpoint is recorded then. Otherwise the refusal. */
export const approveCommand = async (
  ctx: ToolContext,
  command: string,
  { cwd, shown = command, wanted }: GateOptions,
): Promise<Approved | { refused: ToolResult }> => {
  const refuse = (error: string, hint = 'The command was not run.') => ({
    refused: blockedResult(error, hint),
  })
  const here = shellContextFor(ctx, cwd)
  const denied = ctx.guards?.command(command, here) ?? null
  if (denied !== null) return refuse(denied, 'The command was not run. Do not try it another way.')
  const unavailable = await unavailableRunner(ctx)
  if (unavailable) return { refused: unavailable }
  const assessment = assessCommand(command, here)
  if (assessment.blocked !== undefined)
    return refuse(`Refused, and no approval can allow it: ${assessment.blocked}.`)
  const kept = forbiddenPathIn(command, here, ctx.forbidden, ctx.readable)
  if (kept !== undefined)
    return refuse(`Access to ${kept} is denied: it may hold secrets or the state of this service.`)
  const { runner, canUndo = false } = ctx
  const { access, changesGit, labels, isControl, refusal } = confine(command, assessment, {
    runner,
    wanted,
    canUndo,
    shell: here,
  })
  if (refusal !== null) return refuse(refusal)
  const refused =
    labels.length > 0
      ? await askApproval(ctx, {
          command: shown,
          labels,
          cwd,
          isControl,
          runsIn: runsIn(runner, access),
          shell: here,
        })
      : null
  if (refused) return { refused }
  if (!assessment.isReadOnly && !runner?.isReadOnly) await ctx.beforeChange?.('workspace')
  return { access, changesGit }
}
