/** Sums tokens and cost of the model calls of one turn. */
import type { Usage } from '../schema/usage.ts'
import type { ModelEndpoint, ProviderDelta } from './types.ts'

/** Default share of the window at which a conversation is compacted. */
const DEFAULT_THRESHOLD_SHARE = 0.5
const defaultThreshold = ({ contextLength }: ModelEndpoint) =>
  Math.floor(contextLength * DEFAULT_THRESHOLD_SHARE)

type UsageDelta = Extract<ProviderDelta, { type: 'usage' }>

export const createUsageMeter = (
  endpoint: ModelEndpoint,
  onChange: (total: Usage) => void = () => {},
  /** Tokens at which the conversation is compacted; 0: never. */
  thresholdOf: (endpoint: ModelEndpoint) => number = defaultThreshold,
) => {
  let current = endpoint
  let input = 0
  let output = 0
  let cost = 0
  let lastPromptTokens = 0
  let lastCall: UsageDelta | null = null
  const meter = {
    /** Adds one call. A cost reported by the provider takes precedence over the price list. */
    addCall(usage: UsageDelta): void {
      input += usage.inputTokens
      output += usage.outputTokens
      lastPromptTokens = usage.inputTokens
      lastCall = usage
      cost += usage.cost ?? costOf(usage, current.price)
      onChange(meter.total())
    },
    /** Adds usage of other models, such as subagents and summaries. */
    addUsage(more: Pick<Usage, 'input_tokens' | 'output_tokens' | 'estimated_cost'>): void {
      input += more.input_tokens
      output += more.output_tokens
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
