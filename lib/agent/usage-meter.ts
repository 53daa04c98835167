/** Adds up what the model calls of one turn used and cost. */
import type { Usage } from '../schema/usage.ts'
import type { ModelEndpoint, ProviderDelta } from './types.ts'

/** Share of the window at which a conversation is worth compressing, where nothing else is configured. */
const THRESHOLD = 0.5
const usualThreshold = ({ contextLength }: ModelEndpoint) => Math.floor(contextLength * THRESHOLD)

type UsageDelta = Extract<ProviderDelta, { type: 'usage' }>

export const createUsageMeter = (
  endpoint: ModelEndpoint,
  changed: (total: Usage) => void = () => {},
  /** Tokens at which the conversation is summarised; 0 for never. */
  thresholdOf: (endpoint: ModelEndpoint) => number = usualThreshold,
) => {
  let serving = endpoint
  let input = 0
  let output = 0
  let cost = 0
  let lastPromptTokens = 0
  const tally = {
    /** One call's figures. The provider's own cost goes before the price list. */
    addCall(usage: UsageDelta): void {
      input += usage.inputTokens
      output += usage.outputTokens
      lastPromptTokens = usage.inputTokens
      cost += usage.cost ?? priced(usage, serving.price)
      changed(tally.total())
    },
    /** What somebody else used for us since the last time. */
    addUsage(more: Pick<Usage, 'input_tokens' | 'output_tokens' | 'estimated_cost'>): void {
      input += more.input_tokens
      output += more.output_tokens
      cost += more.estimated_cost
      changed(tally.total())
    },
    /** Another endpoint answers from here on. */
    setEndpoint(next: ModelEndpoint): void {
      serving = next
    },
    /** The next prompt will be about so long: what was counted last is not sent again. */
    setNextPromptTokens(tokens: number): void {
      lastPromptTokens = tokens
      changed(tally.total())
    },
    lastPromptTokens: () => lastPromptTokens,
    total(): Usage {
      return {
        input_tokens: input,
        output_tokens: output,
        estimated_cost: cost,
        context_length: serving.contextLength,
        threshold_tokens: thresholdOf(serving),
        last_prompt_tokens: lastPromptTokens,
      }
    },
  }
  return tally
}

export type UsageMeter = ReturnType<typeof createUsageMeter>

/** What a cache served or took is part of the prompt and has prices of its own, where they are known. */
const priced = (usage: UsageDelta, price: ModelEndpoint['price']): number => {
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
