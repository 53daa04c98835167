/** A refusal of the home becomes a result with what else it says: which names there are, what stands there now. */
import { UserError } from '../../errors.ts'
import type { ToolContext, ToolResult } from '../types.ts'

/** Anything else that is thrown goes up: the loop makes a result of it. */
export const telling =
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
