/** Sums tokens and cost of the model calls of one turn. */
import { cacheTokens, emptyUsage, type Usage } from '../schema/usage.ts'
import type { ModelEndpoint, ProviderDelta } from './types.ts'

/** Default share of the window at which a conversation is compacted. */
const DEFAULT_THRESHOLD_SHARE = 0.5
const defaultThreshold = ({ contextLength }: ModelEndpoint) =>
  Math.floor(contextLength * DEFAULT_THRESHOLD_SHARE)

/** The part of a usage that adds up. */
export type SpentTokens = {
  input_tokens: number
  output_tokens: number
  estimated_cost: number
  cache_read_tokens?: number | undefined
  cache_write_tokens?: number | undefined
}

const combined = (a: SpentTokens, b: SpentTokens, sign: 1 | -1): SpentTokens => ({
  input_tokens: a.input_tokens + sign * b.input_tokens,
  output_tokens: a.output_tokens + sign * b.output_tokens,
  estimated_cost: a.estimated_cost + sign * b.estimated_cost,
  ...cacheTokens(
    (a.cache_read_tokens ?? 0) + sign * (b.cache_read_tokens ?? 0),
    (a.cache_write_tokens ?? 0) + sign * (b.cache_write_tokens ?? 0),
  ),
})

/** What was spent between two totals of one run. */
export const spentSince = (before: SpentTokens, total: SpentTokens): SpentTokens =>
  combined(total, before, -1)

type UsageDelta = Extract<ProviderDelta, { type: 'usage' }>

export class UsageMeter {
  #endpoint: ModelEndpoint
  readonly #onChange: (total: Usage) => void
  readonly #thresholdOf: (endpoint: ModelEndpoint) => number
  #spent: SpentTokens
  #lastPromptTokens: number
  #lastCall: UsageDelta | null = null

  /** `thresholdOf`: tokens at which the conversation is compacted; 0: never. `before`: what the turn used in an earlier process. */
  constructor(
    endpoint: ModelEndpoint,
    onChange: (total: Usage) => void = () => {},
    thresholdOf: (endpoint: ModelEndpoint) => number = defaultThreshold,
    before: Usage = emptyUsage,
  ) {
    this.#endpoint = endpoint
    this.#onChange = onChange
    this.#thresholdOf = thresholdOf
    this.#spent = before
    this.#lastPromptTokens = before.last_prompt_tokens ?? 0
  }

  /** Adds one call. A cost reported by the provider takes precedence over the price list. */
  addCall(usage: UsageDelta): void {
    this.#lastPromptTokens = usage.inputTokens
    this.#lastCall = usage
    this.addUsage({
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      estimated_cost: usage.cost ?? costOf(usage, this.#endpoint.price),
      cache_read_tokens: usage.cacheReadTokens ?? 0,
      cache_write_tokens: usage.cacheWriteTokens ?? 0,
    })
  }

  /** Adds usage of other models, such as subagents and summaries. */
  addUsage(more: SpentTokens): void {
    this.#spent = combined(this.#spent, more, 1)
    this.#onChange(this.total())
  }

  /** Prices and limits of later calls. */
  setEndpoint(next: ModelEndpoint): void {
    this.#endpoint = next
  }

  /** Replaces the last measured prompt length, after a compaction. */
  setNextPromptTokens(tokens: number): void {
    this.#lastPromptTokens = tokens
    this.#onChange(this.total())
  }

  /** The usage of the last call that reported any; another object after each. */
  get lastCall(): UsageDelta | null {
    return this.#lastCall
  }

  total(): Usage {
    const { input_tokens, output_tokens, estimated_cost } = this.#spent
    return {
      input_tokens,
      output_tokens,
      estimated_cost,
      context_length: this.#endpoint.contextLength,
      threshold_tokens: this.#thresholdOf(this.#endpoint),
      last_prompt_tokens: this.#lastPromptTokens,
      ...cacheTokens(this.#spent.cache_read_tokens ?? 0, this.#spent.cache_write_tokens ?? 0),
    }
  }
}

/** Cost in US dollars. Cached tokens are part of the prompt and may have their own prices. */
const costOf = (usage: UsageDelta, price: ModelEndpoint['price']): number => {
  if (!price) return 0
  const { cacheReadTokens: reads = 0, cacheWriteTokens: writes = 0 } = usage
  const plain = Math.max(0, usage.inputTokens - reads - writes)
  const dollars =
    plain * price.input +
    reads * (price.cacheRead ?? price.input) +
    writes * (price.cacheWrite ?? price.input) +
    usage.outputTokens * price.output
  return dollars / 1_000_000
}
