/** Tokens and cost of a turn. */
import { z } from 'zod'

/** The first six are always present; unknown is 0. Tokens of this turn, cost in US dollars. */
export const Usage = z
  .object({
    input_tokens: z.number(),
    output_tokens: z.number(),
    estimated_cost: z.number(),
    context_length: z.number(),
    threshold_tokens: z.number(),
    last_prompt_tokens: z.number(),
    /** The part of `input_tokens` that came from the provider's prompt cache; absent when none was reported. */
    cache_read_tokens: z.number().optional(),
    /** The part of `input_tokens` that was written to that cache; absent when none was reported. */
    cache_write_tokens: z.number().optional(),
  })
  .meta({ id: 'Usage' })
export type Usage = z.infer<typeof Usage>

/** Usage of one turn that ended. `n` is its journal number: above the ids of the turn's messages, below those of later ones. */
export const TurnUsage = z
  .object({
    n: z.number(),
    input_tokens: z.number(),
    output_tokens: z.number(),
    estimated_cost: z.number(),
    cache_read_tokens: z.number(),
    cache_write_tokens: z.number(),
  })
  .meta({ id: 'TurnUsage' })
export type TurnUsage = z.infer<typeof TurnUsage>

export const emptyUsage: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  estimated_cost: 0,
  context_length: 0,
  threshold_tokens: 0,
  last_prompt_tokens: 0,
}

/** The cache keys of a usage or a session, without those that are 0. */
export const cacheTokens = (read: number, write: number) => ({
  ...(read > 0 && { cache_read_tokens: read }),
  ...(write > 0 && { cache_write_tokens: write }),
})
