/** The replies of `POST /v1/responses`. Source: OpenAI API reference, Responses and its streaming events. */
import { toSeconds } from '../base/clock.ts'
import { frame } from '../base/sse.ts'
import { toErrorReply } from '../http/error-reply.ts'
import type { Usage } from '../schema/usage.ts'
import type { ApiCall, ApiEvent, ApiResult } from './api-request.ts'
import type { Answer } from './client-api.ts'
import { toError, toOpenAiError } from './errors.ts'
import type { ResponsesRequest } from './responses.ts'

const toUsage = ({ input_tokens: input, output_tokens: output, cache_read_tokens }: Usage) => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cache_read_tokens ?? 0 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: input + output,
})

type Status = 'in_progress' | 'completed' | 'incomplete'

const statusOf = ({ isCut, calls }: ApiResult): 'completed' | 'incomplete' =>
  isCut && calls.length === 0 ? 'incomplete' : 'completed'

const toPart = (text: string) => ({
  type: 'output_text' as const,
  text,
  annotations: [],
  logprobs: [],
})

const toMessageItem = (id: string, text: string | null, status: Status) => ({
  id: `msg_${id}`,
  type: 'message' as const,
  role: 'assistant' as const,
  status,
  content: text === null ? [] : [toPart(text)],
})

/** Unique, which the ids that models give their calls are not. */
const callItemId = (answerId: string, at: number): string => `fc_${answerId}_${at}`

const toCallItem = (itemId: string, { id, name, arguments: text }: ApiCall, status: Status) => ({
  id: itemId,
  type: 'function_call' as const,
  call_id: id,
  name,
  arguments: status === 'completed' ? text : '',
  status,
})

const outputOf = (id: string, { text, refusal, calls }: ApiResult, status: Status) => [
  ...(refusal === ''
    ? text === ''
      ? []
      : [toMessageItem(id, text, status)]
    : [
        {
          ...toMessageItem(id, null, 'completed'),
          // What was said before the provider stopped it; a refusal that is the whole answer is its text.
          content: [
            ...(text.endsWith(refusal) ? [] : [toPart(text)]),
            { type: 'refusal' as const, refusal },
          ],
        },
      ]),
  ...calls.map((call, at) => toCallItem(callItemId(id, at), call, 'completed')),
]

export const responseId = (id: string): string => `resp_${id}`

const toResponse = (
  { id, createdAt, sessionId }: Answer,
  { model, echo }: ResponsesRequest,
  rest: Record<string, unknown>,
) => ({
  id: responseId(id),
  object: 'response' as const,
  created_at: Math.floor(toSeconds(createdAt)),
  status: 'in_progress',
  background: false,
  conversation: { id: sessionId },
  error: null,
  incomplete_details: null,
  max_output_tokens: null,
  model,
  output: [] as unknown[],
  temperature: null,
  top_p: null,
  truncation: 'disabled' as const,
  usage: null,
  ...echo,
  ...rest,
})

export const toFinishedResponse = (
  answer: Answer,
  result: ApiResult,
  request: ResponsesRequest,
) => {
  const status = statusOf(result)
  return toResponse(answer, request, {
    status,
    ...(status === 'incomplete' && { incomplete_details: { reason: 'max_output_tokens' } }),
    output: outputOf(answer.id, result, status),
    usage: toUsage(result.usage),
  })
}

export async function* responseFrames(
  answer: Answer,
  events: AsyncIterable<ApiEvent>,
  request: ResponsesRequest,
): AsyncGenerator<string> {
  let sequence = 0
  const send = (type: string, fields: Record<string, unknown>): string =>
    frame(type, { type, sequence_number: sequence++, ...fields })
  const started = toResponse(answer, request, {})
  yield send('response.created', { response: started })
  yield send('response.in_progress', { response: started })
  let text: string | null = null
  const place = { item_id: `msg_${answer.id}`, output_index: 0, content_index: 0 }
  for await (const event of events) {
    if (event.type === 'failed') {
      const { error } = toOpenAiError(toErrorReply(toError(event.failure)))
      const response = toResponse(answer, request, {
        status: 'failed',
        error: { code: error.code ?? 'server_error', message: error.message },
      })
      // Clients raise this one; the other carries the response.
      const { code, message, param } = error
      yield send('error', { code, message, param })
      yield send('response.failed', { response })
    } else if (event.type === 'text') {
      if (text === null) {
        text = ''
        const item = toMessageItem(answer.id, null, 'in_progress')
        yield send('response.output_item.added', { output_index: 0, item })
        yield send('response.content_part.added', { ...place, part: toPart('') })
      }
      text += event.text
      yield send('response.output_text.delta', { ...place, delta: event.text, logprobs: [] })
    } else {
      if (text !== null) {
        yield send('response.output_text.done', { ...place, text, logprobs: [] })
        yield send('response.content_part.done', { ...place, part: toPart(text) })
        const item = toMessageItem(answer.id, text, statusOf(event.result))
        yield send('response.output_item.done', { output_index: 0, item })
      }
      const first = text === null ? 0 : 1
      for (const [at, call] of event.result.calls.entries()) {
        const id = callItemId(answer.id, at)
        const index = { output_index: first + at }
        const output = { item_id: id, ...index }
        yield send('response.output_item.added', {
          ...index,
          item: toCallItem(id, call, 'in_progress'),
        })
        yield send('response.function_call_arguments.delta', { ...output, delta: call.arguments })
        yield send('response.function_call_arguments.done', {
          ...output,
          name: call.name,
          arguments: call.arguments,
        })
        const item = toCallItem(id, call, 'completed')
        yield send('response.output_item.done', { ...index, item })
      }
      // What was streamed, so that the items agree: a refusal arrives as text.
      const streamed = { ...event.result, text: text ?? '', refusal: '' }
      yield send(`response.${statusOf(event.result)}`, {
        response: toFinishedResponse(answer, streamed, request),
      })
    }
  }
}
