/** Converts a UserError to a tool result with its extra fields (available names, current content). */
import { UserError } from '../../errors.ts'
import type { ToolContext, ToolResult } from '../types.ts'

/** Other errors are rethrown; the loop converts them to results. */
export const withUserErrors =
  <I>(run: (ctx: ToolContext, input: I) => Promise<ToolResult> | ToolResult) =>
  async (ctx: ToolContext, input: I): Promise<ToolResult> => {
    try {
      return await run(ctx, input)
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      const { message, extra } = error
      return {
        content: JSON.stringify({ success: false, error: message, ...extra }),
        isError: true,
      }
    }
  }
