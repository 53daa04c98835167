/** What a request demands of the answer: what the agent is told about it, and what becomes of an answer without it. */
import { callInstruction, type Demands, formInstruction } from '../agent/answer-form.ts'
import { answerReader, type ReadAnswer, toAnswerForm } from './answer-format.ts'
import type { ApiEvent, ApiRequest, ApiResult } from './api-request.ts'

export type AnswerRequirements = {
  demands: Demands
  /** For the system prompt of a model. An external agent is told with the message. */
  instructions: string[]
  /** Absent: a plain answer. */
  read: ReadAnswer | null
  mustCall: boolean
}

/** Throws a 400 for a schema that is none. */
export const readRequirements = async ({
  format,
  mustCall,
  functions,
}: ApiRequest): Promise<AnswerRequirements> => {
  const read = format && (await answerReader(format))
  return {
    demands: {
      ...(format && read && { answerForm: toAnswerForm(format, read) }),
      ...(mustCall && { mustCall }),
    },
    instructions: [
      ...(format ? [formInstruction(format)] : []),
      ...(mustCall ? [callInstruction(functions.map(({ name }) => name))] : []),
    ],
    read,
    mustCall,
  }
}

/** Where something is demanded only the last text of the turn is the answer, and only once it is complete. */
export async function* checkedAnswer(
  events: AsyncIterable<ApiEvent>,
  { read, mustCall }: AnswerRequirements,
): AsyncGenerator<ApiEvent> {
  for await (const event of events) {
    if (read === null && !mustCall) yield event
    else if (event.type === 'done') yield* checked(event.result, read, mustCall)
    else if (event.type === 'failed') yield event
  }
}

const checked = function* (
  result: ApiResult,
  read: ReadAnswer | null,
  mustCall: boolean,
): Generator<ApiEvent> {
  const { calls, refusal, isCut, lastText } = result
  const isUnfinished = refusal !== '' || isCut
  if (mustCall && calls.length === 0 && !isUnfinished) {
    const message = 'The model called none of the tools, also after it was told to.'
    return yield { type: 'failed', failure: { type: 'tool_not_called', message } }
  }
  // What is said beside a call is not of the form.
  if (read !== null && calls.length > 0)
    return yield { type: 'done', result: { ...result, text: '' } }
  const answer = read === null ? { json: lastText } : read(lastText)
  if ('problem' in answer && !isUnfinished) {
    const message = `The answer is not the JSON that was asked for, also after the model was told: ${answer.problem}`
    return yield { type: 'failed', failure: { type: 'invalid_answer', message } }
  }
  const text = 'json' in answer ? answer.json : lastText
  if (text !== '') yield { type: 'text', text }
  yield { type: 'done', result: { ...result, text, isCut: isCut && 'problem' in answer } }
}
