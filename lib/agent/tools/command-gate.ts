/** What every command passes before it runs, however it is started: refused, asked about, or free to go. */
import { assess, forbiddenIn } from '../danger.ts'
import type { ToolContext, ToolResult } from '../types.ts'

export const blocked = (error: string, hint: string): ToolResult => ({
  content: JSON.stringify({ status: 'blocked', output: '', exit_code: -1, error, hint }),
  isError: true,
})

/** Asks a person about these labels; null when it may go on. */
export const askAbout = async (
  ctx: ToolContext,
  command: string,
  labels: string[],
  cwd: string,
): Promise<ToolResult | null> => {
  const description = labels.join('; ')
  const choice = await ctx.approve({ command, patternKeys: labels, description, cwd })
  return choice === 'deny'
    ? blocked(
        `The user denied this command (${description}).`,
        'Do not try the same by another way.',
      )
    : null
}

/** Null when the command may run; what it may change is recorded then. */
export const passCommand = async (
  ctx: ToolContext,
  command: string,
  cwd: string,
): Promise<ToolResult | null> => {
  const here = { home: ctx.env.HOME ?? '', cwd }
  const denied = ctx.guards?.command(command, here) ?? null
  if (denied !== null) return blocked(denied, 'The command was not run. Do not try it another way.')
  const { hardline, labels, looks } = assess(command, here)
  if (hardline !== undefined)
    return blocked(
      `Refused, and no approval can allow it: ${hardline}.`,
      'The command was not run.',
    )
  const kept = forbiddenIn(command, here, ctx.forbidden, ctx.readable)
  if (kept !== undefined)
    return blocked(
      `Access to ${kept} is denied: it may hold secrets or the state of this service.`,
      'The command was not run.',
    )
  const refused = labels.length > 0 ? await askAbout(ctx, command, labels, cwd) : null
  if (refused) return refused
  if (!looks) await ctx.beforeChange?.('workspace')
  return null
}
