/** The check of every command before it runs, however it is started: refuse, ask for approval, or run. */
import type { RunsIn } from '../../schema/command-place.ts'
import type { Refusal } from '../../base/refusal.ts'
import type { RefusedBy } from '../../schema/refused-by.ts'
import { blockedResult } from '../error-result.ts'
import { type Approved, decideCommand, type Question } from '../permissions/decide.ts'
import { reasonFields, stakesOf } from '../reasons.ts'
import { UNCONFINED } from '../shell/labels.ts'
import type { ShellContext } from '../shell/types.ts'
import type { CommandAccess } from '../tool-services.ts'
import type { ApprovalRequest, CommandScope, PathScope, ToolContext, ToolResult } from '../types.ts'
import { CONTROL_APPROVAL } from './allowed-paths.ts'
import { runsIn } from './place-command.ts'

const notRun = (by: RefusedBy, error: string, hint: string): ToolResult =>
  blockedResult(by, error, { output: '', exit_code: -1, hint })

/** Not for good: in the sandbox, the agent may change the files that the same command runs later. */
const OUTSIDE = { leavesSandbox: true, choices: ['once', 'session', 'deny'] } as const

export type CommandQuestion = {
  command: string
  cwd: string
  question: Question
  runsIn?: RunsIn | undefined
}

/** The approval to ask for. */
export const approvalFor = ({
  command,
  cwd,
  question,
  runsIn: where,
}: CommandQuestion): ApprovalRequest => {
  const { labels, isControl, marks, lines } = question
  return {
    command,
    cwd,
    patternKeys: [...labels],
    ...reasonFields(...stakesOf(labels)),
    ...(marks.length > 0 && { marks: [...marks] }),
    ...(lines && { lines: [...lines] }),
    ...(where && { runsIn: where }),
    ...(labels.includes(UNCONFINED) && OUTSIDE),
    ...(isControl && CONTROL_APPROVAL),
  }
}

/** Asks; null if approved. */
export const askApproval = async (
  ctx: ToolContext,
  request: CommandQuestion,
): Promise<ToolResult | null> =>
  (await ctx.approve(approvalFor(request))) === 'deny'
    ? notRun(
        'user',
        `The user denied this command (${request.question.labels.join('; ')}).`,
        'Do not try the same by another way.',
      )
    : null

/** The shell context of a command in this turn. */
export const shellContextFor = (ctx: CommandScope, cwd: string): ShellContext => ({
  home: ctx.env.HOME ?? '',
  cwd,
  workspace: ctx.workspace,
  env: ctx.env,
  ...(ctx.controlPaths && { controlPaths: ctx.controlPaths }),
  ...(ctx.ownAddresses && { ownAddresses: ctx.ownAddresses }),
  ...(ctx.isOwnProcess && { isOwnProcess: ctx.isOwnProcess }),
})

/** The refusal where the runner cannot run anything; null otherwise. */
export const unavailableRunner = async ({ runner }: PathScope): Promise<ToolResult | null> => {
  const problem = (await runner?.problem()) ?? null
  return problem === null ? null : notRun('checks', `${problem}`, 'The command was not run.')
}

export const refusedResult = ({ by, message }: Refusal): ToolResult =>
  notRun(
    by,
    message,
    by === 'rule'
      ? 'The command was not run. Do not try it another way.'
      : 'The command was not run.',
  )

/** How the command may run; its checkpoint is recorded then. Otherwise the refusal. */
export const approveCommand = async (
  ctx: ToolContext,
  command: string,
  {
    cwd,
    approvalText = command,
    access,
  }: {
    cwd: string
    /** What an approval shows and remembers, where the command alone does not say what it does. */
    approvalText?: string
    /** What the model asked for. */
    access?: CommandAccess | undefined
  },
): Promise<Approved | { refused: ToolResult }> => {
  const decision = decideCommand(command, ctx.turn, shellContextFor(ctx.turn, cwd), access)
  if (decision.kind === 'refuse') return { refused: refusedResult(decision.refusal) }
  const unavailable = await unavailableRunner(ctx.turn)
  if (unavailable) return { refused: unavailable }
  const { approved, ask, isReadOnly } = decision
  // What is shown says more than the command, so its parts are not all that is approved.
  const { lines, ...whole } = ask ?? { labels: [], isControl: false, marks: [] }
  const question =
    lines && approvalText === command
      ? { ...whole, lines }
      : { ...whole, marks: approvalText === command ? whole.marks : [] }
  const refused =
    ask === null
      ? null
      : await askApproval(ctx, {
          command: approvalText,
          cwd,
          question,
          runsIn: runsIn(ctx.turn.runner, approved.access),
        })
  if (refused) return { refused }
  if (!isReadOnly && !ctx.turn.runner?.isReadOnly) await ctx.beforeChange?.('workspace')
  return approved
}
