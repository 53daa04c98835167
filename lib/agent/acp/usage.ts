/** Counts the tokens of a turn from what an agent reports: those of the turn, or totals of its session. */
import { z } from 'zod'
import type { TokenCounts } from '../external-agent.ts'
import { cacheTokens } from '../../schema/usage.ts'

const count = z.number().nonnegative().nullish().catch(null)

/** As in the response to a prompt; Qwen Code sends the same keys with each model call. */
export const ReportedTokens = z
  .object({
    totalTokens: count,
    inputTokens: count,
    outputTokens: count,
    cachedReadTokens: count,
    cachedWriteTokens: count,
  })
  .nullish()
  .catch(null)
export type ReportedTokens = z.infer<typeof ReportedTokens>

/** `_meta` of the response to a prompt: Gemini CLI has no other usage. */
export const QuotaMeta = z
  .object({
    quota: z.object({ token_count: z.object({ input_tokens: count, output_tokens: count }) }),
  })
  .nullish()
  .catch(null)
export type QuotaMeta = z.infer<typeof QuotaMeta>

export const NO_TOKENS: TokenCounts = { input: 0, output: 0, read: 0, written: 0 }

/** Claude and Codex count cached tokens apart from the input; where the total shows that they are part of it, they are. */
export const countsOf = (used: ReportedTokens): TokenCounts => {
  const [input, output] = [used?.inputTokens ?? 0, used?.outputTokens ?? 0]
  const [read, written] = [used?.cachedReadTokens ?? 0, used?.cachedWriteTokens ?? 0]
  const all = input + read + written
  const isPart = (used?.totalTokens ?? all + output) < all + output
  return { input: isPart ? input : all, output, read, written }
}

export const addCounts = (a: TokenCounts, b: TokenCounts): TokenCounts => ({
  input: a.input + b.input,
  output: a.output + b.output,
  read: a.read + b.read,
  written: a.written + b.written,
})

export const toUsage = ({ input, output, read, written }: TokenCounts) => ({
  input_tokens: input,
  output_tokens: output,
  ...cacheTokens(read, written),
})

/** Whether an agent reports totals of its session. Most report what a turn has used. */
export const reportsTotals = (
  id: string,
  agentInfo: { name: string; title?: string | null } | null | undefined,
): boolean => /copilot/i.test([agentInfo?.name, agentInfo?.title, id].filter(Boolean).join(' '))

/** The tokens since the last total. One that is smaller begins anew: the agent has lost its session. */
export const tokensSince = (total: TokenCounts, last: TokenCounts | null): TokenCounts => {
  const before = last ?? NO_TOKENS
  // A part may be counted differently from turn to turn.
  if (total.input + total.output < before.input + before.output) return total
  return {
    input: Math.max(0, total.input - before.input),
    output: Math.max(0, total.output - before.output),
    read: Math.max(0, total.read - before.read),
    written: Math.max(0, total.written - before.written),
  }
}
