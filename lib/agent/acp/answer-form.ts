/** An answer of a given form from an external agent: it is told with the message, and once more when the answer is another. */
import { cacheTokens, type Usage } from '../../schema/usage.ts'
import { demandAfter, formInstruction } from '../answer-form.ts'
import type { AgentRequest, LoopMessage, Outcome } from '../types.ts'

/** The conversation with the instruction in its newest message. */
export const withForm = (
  history: readonly LoopMessage[],
  { answerForm }: AgentRequest,
): readonly LoopMessage[] => {
  const newest = history.at(-1)
  if (!answerForm || newest?.role !== 'user') return history
  const instruction = formInstruction(answerForm)
  const content =
    typeof newest.content === 'string'
      ? `${newest.content}\n\n${instruction}`
      : [...newest.content, { type: 'text', text: instruction }]
  return [...history.slice(0, -1), { ...newest, content }]
}

const sum = (first: Usage, second: Usage): Usage => ({
  ...second,
  input_tokens: first.input_tokens + second.input_tokens,
  output_tokens: first.output_tokens + second.output_tokens,
  estimated_cost: first.estimated_cost + second.estimated_cost,
  ...cacheTokens(
    (first.cache_read_tokens ?? 0) + (second.cache_read_tokens ?? 0),
    (first.cache_write_tokens ?? 0) + (second.cache_write_tokens ?? 0),
  ),
})

/** `ask` sends one more message. */
export const inForm = async (
  outcome: Outcome,
  { answerForm }: AgentRequest,
  ask: (message: LoopMessage) => Promise<Outcome | 'unknown'>,
): Promise<Outcome> => {
  const demand =
    answerForm && outcome.status === 'finished'
      ? demandAfter({ answerForm }, { text: outcome.text, refusal: '' })
      : null
  if (!demand) return outcome
  const again = await ask({ role: 'user', content: demand.sentence })
  if (again === 'unknown') return outcome
  return {
    ...again,
    steps: outcome.steps + again.steps,
    usage: sum(outcome.usage, again.usage),
  }
}
