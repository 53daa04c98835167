/** Tool: asks the user a question and waits for the answer. */
import { z } from 'zod'
import type { Tool } from '../types.ts'

const NO_ANSWER =
  'No one answered in time. Use your own judgment, state your assumption, and continue.'

const input = z.object({
  question: z.string().trim().min(1),
  choices: z
    .array(z.string())
    .max(4)
    .default([])
    .describe('Up to four answers to choose from; the user can always write another.'),
})

export const clarify: Tool<typeof input> = {
  name: 'clarify',
  summary:
    'Ask the user one question when you cannot do the task well without the answer. Do not ask what you can find out yourself.',
  input,
  kind: 'ask',
  preview: ({ question }) => question,
  async run(ctx, { question, choices }) {
    const answer = await ctx.clarify(question, choices)
    return {
      content: JSON.stringify({
        question,
        choices_offered: choices,
        user_response: answer ?? NO_ANSWER,
      }),
    }
  },
}
