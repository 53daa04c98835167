/** Adds up what the model calls of one turn used and cost. */
import type { Usage } from '../schema/usage.ts'
import type { ModelEndpoint, ProviderDelta } from './types.ts'

/** Share of the window at which a conversation is worth compressing. */
const THRESHOLD = 0.5

type UsageDelta = Extract<ProviderDelta, { type: 'usage' }>

export const createTally = (endpoint: ModelEndpoint) => {
  let { contextLength, price } = endpoint
  let input = 0
  let output = 0
  let cost = 0
  let lastPrompt = 0
  return {
    /** One call's figures. The provider's own cost goes before the price list. */
    add(usage: UsageDelta): void {
      input += usage.inputTokens
      output += usage.outputTokens
      lastPrompt = usage.inputTokens
      cost += usage.cost ?? priced(usage, price)
    },
    /** Another endpoint answers from here on. */
    serve(next: ModelEndpoint): void {
      contextLength = next.contextLength
      price = next.price
    },
    total(): Usage {
      return {
        input_tokens: input,
        output_tokens: output,
        estimated_cost: cost,
        context_length: contextLength,
        threshold_tokens: Math.floor(contextLength * THRESHOLD),
        last_prompt_tokens: lastPrompt,
      }
    },
  }
}

export type Tally = ReturnType<typeof createTally>

const priced = (usage: UsageDelta, price: ModelEndpoint['price']): number =>
  price ? (usage.inputTokens * price.input + usage.outputTokens * price.output) / 1_000_000 : 0
