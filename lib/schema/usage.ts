/** Tokens and cost of a turn. */
import { z } from 'zod'

/** All six are always present; unknown is 0. Tokens of this turn, cost in US dollars. */
export const Usage = z
  .object({
    input_tokens: z.number(),
    output_tokens: z.number(),
    estimated_cost: z.number(),
    context_length: z.number(),
    threshold_tokens: z.number(),
    last_prompt_tokens: z.number(),
  })
  .meta({ id: 'Usage' })
export type Usage = z.infer<typeof Usage>

export const emptyUsage: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  estimated_cost: 0,
  context_length: 0,
  threshold_tokens: 0,
  last_prompt_tokens: 0,
}
