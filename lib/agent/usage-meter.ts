/** Sums tokens and cost of the model calls of one turn. */
import { cacheTokens, emptyUsage, type Usage } from '../schema/usage.ts'
import type { ModelEndpoint, ProviderDelta } from './types.ts'

/** Default share of the window at which a conversation is compacted. */
const DEFAULT_THRESHOLD_SHARE = 0.5
const defaultThreshold = ({ contextLength }: ModelEndpoint) =>
  Math.floor(contextLength * DEFAULT_THRESHOLD_SHARE)

/** The part of a usage that adds up. */
export type SpentTokens = Pick<
  Usage,
  'input_tokens' | 'output_tokens' | 'estimated_cost' | 'cache_read_tokens' | 'cache_write_tokens'
>

/** What was spent between two totals of one run. */
export const spentSince = (before: SpentTokens, total: SpentTokens): SpentTokens => ({
  input_tokens: total.input_tokens - before.input_tokens,
  output_tokens: total.output_tokens - before.output_tokens,
  estimated_cost: total.estimated_cost - before.estimated_cost,
  ...cacheTokens(
    (total.cache_read_tokens ?? 0) - (before.cache_read_tokens ?? 0),
    (total.cache_write_tokens ?? 0) - (before.cache_write_tokens ?? 0),
  ),
})

type UsageDelta = Extract<ProviderDelta, { type: 'usage' }>

export const createUsageMeter = (
  endpoint: ModelEndpoint,
  onChange: (total: Usage) => void = () => {},
  /** Tokens at which the conversation is compacted; 0: never. */
  thresholdOf: (endpoint: ModelEndpoint) => number = defaultThreshold,
  /** What the turn used in an earlier process. */
  before: Usage = emptyUsage,
) => {
  let current = endpoint
  let input = before.input_tokens
  let output = before.output_tokens
  let cost = before.estimated_cost
  let cacheRead = before.cache_read_tokens ?? 0
  let cacheWrite = before.cache_write_tokens ?? 0
  let lastPromptTokens = before.last_prompt_tokens ?? 0
  let lastCall: UsageDelta | null = null
  const meter = {
    /** Adds one call. A cost reported by the provider takes precedence over the price list. */
    addCall(usage: UsageDelta): void {
      input += usage.inputTokens
      output += usage.outputTokens
      cacheRead += usage.cacheReadTokens ?? 0
      cacheWrite += usage.cacheWriteTokens ?? 0
      lastPromptTokens = usage.inputTokens
      lastCall = usage
      cost += usage.cost ?? costOf(usage, current.price)
      onChange(meter.total())
    },
    /** Adds usage of other models, such as subagents and summaries. */
    addUsage(more: SpentTokens): void {
      input += more.input_tokens
      output += more.output_tokens
      cacheRead += more.cache_read_tokens ?? 0
      cacheWrite += more.cache_write_tokens ?? 0
      cost += more.estimated_cost
      onChange(meter.total())
    },
    /** Prices and limits of later calls. */
    setEndpoint(next: ModelEndpoint): void {
      current = next
    },
    /** Replaces the last measured prompt length, after a compaction. */
    setNextPromptTokens(tokens: number): void {
      lastPromptTokens = tokens
      onChange(meter.total())
    },
    /** The usage of the last call that reported any; another object after each. */
    lastCall: () => lastCall,
    lastPromptTokens: () => lastPromptTokens,
    total(): Usage {
      return {
        input_tokens: input,
        output_tokens: output,
        estimated_cost: cost,
        context_length: current.contextLength,
        threshold_tokens: thresholdOf(current),
        last_prompt_tokens: lastPromptTokens,
        ...cacheTokens(cacheRead, cacheWrite),
      }
    },
  }
  return meter
}

export type UsageMeter = ReturnType<typeof createUsageMeter>

/** Cost in US dollars. Cached tokens are part of the prompt and may have their own prices. */
const costOf = (usage: UsageDelta, price: ModelEndpoint['price']): number => {
  if (!price) return 0
  const { cacheReadTokens: read = 0, cacheWriteTokens: written = 0 } = usage
  const plain = Math.max(0, usage.inputTokens - read - written)
  const dollars =
    plain * price.input +
    read * (price.cacheRead ?? price.input) +
    written * (price.cacheWrite ?? price.input) +
    usage.outputTokens * price.output
  return dollars / 1_000_000
}
