/** Counts the tokens of a turn from what an agent reports: its own of the turn, or totals of its session. */
import { z } from 'zod'
import type { ReportedUsage, TokenCounts } from '../external-agent.ts'
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

const combine = (
  a: TokenCounts,
  b: TokenCounts,
  by: (one: number, other: number) => number,
): TokenCounts => ({
  input: by(a.input, b.input),
  output: by(a.output, b.output),
  read: by(a.read, b.read),
  written: by(a.written, b.written),
})

export const addCounts = (a: TokenCounts, b: TokenCounts): TokenCounts =>
  combine(a, b, (one, other) => one + other)

export const toUsage = ({ input, output, read, written }: TokenCounts) => ({
  input_tokens: input,
  output_tokens: output,
  ...cacheTokens(read, written),
})

/** What the protocol calls usage is the total of the session, but most agents report the turn's own. */
const OF_TURN = /claude|codex|opencode|gemini|qwen/i
const OF_SESSION = /copilot/i

export type UsageStyle = 'turn' | 'session' | 'unknown'

export const usageStyle = (
  id: string,
  agentInfo: { name: string; title?: string | null } | null | undefined,
): UsageStyle => {
  const names = [agentInfo?.name, agentInfo?.title, id].filter(Boolean).join(' ')
  if (OF_SESSION.test(names)) return 'session'
  return OF_TURN.test(names) ? 'turn' : 'unknown'
}

/** After so many rises in a row the reports are totals. */
const RISES = 3

/**
 * The tokens of the turn that ended with this report. An agent that is not known is taken at the protocol's word, that reports
 * are totals, until one is not larger than the one before it: then they were of their turns, and what was left out is added.
 */
export const countReport = (
  report: TokenCounts,
  before: ReportedUsage | null,
  /** `isReopened`: the agent's session was loaded again since then, so its totals may have started at 0. */
  { style, isReopened }: { style: UsageStyle; isReopened: boolean },
): { spent: TokenCounts; after: ReportedUsage } => {
  if (style === 'turn' || before?.isOfTurn)
    return { spent: report, after: { last: report, omitted: NO_TOKENS, rises: 0, isOfTurn: true } }
  const first = { last: report, omitted: NO_TOKENS, rises: 0, isOfTurn: false }
  if (!before) return { spent: report, after: first }
  const { last, omitted, rises } = before
  const change = combine(report, last, (now, then) => now - then)
  const isTotal = style === 'session' || rises >= RISES
  // What is known to be a total began anew only when its sum fell: a part may be counted differently from turn to turn.
  const isFalling =
    style === 'session'
      ? change.input + change.output < 0
      : Object.values(change).some(amount => amount < 0)
  const isSame = Object.values(change).every(amount => amount === 0)
  if (!isFalling && (!isSame || isTotal))
    return {
      spent: combine(change, NO_TOKENS, Math.max),
      after: {
        ...first,
        omitted: addCounts(omitted, last),
        rises: isSame ? rises : rises + 1,
      },
    }
  if (isTotal || isReopened) return { spent: report, after: first }
  return {
    spent: addCounts(report, omitted),
    after: { last: report, omitted: NO_TOKENS, rises: 0, isOfTurn: true },
  }
}
