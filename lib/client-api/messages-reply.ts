/** The replies of `POST /v1/messages`. Source: Anthropic API reference, Messages and its streaming events. */
import { parseArguments } from '../agent/tool-calls.ts'
import { frame } from '../base/sse.ts'
import { toErrorReply } from '../http/error-reply.ts'
import type { Usage } from '../schema/usage.ts'
import type { ApiCall, ApiEvent, ApiRequest, ApiResult } from './api-request.ts'
import type { Answer, StreamedAnswer } from './client-api.ts'
import { toAnthropicError, toError } from './errors.ts'

/** Here, cached tokens are not part of the input. */
const toUsage = ({ input_tokens: input, output_tokens, ...cache }: Usage) => {
  const { cache_read_tokens: read = 0, cache_write_tokens: write = 0 } = cache
  return {
    input_tokens: Math.max(0, input - read - write),
    cache_creation_input_tokens: write,
    cache_read_input_tokens: read,
    output_tokens,
  }
}

const NO_USAGE = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
}

const stopReasonOf = ({ calls, refusal, isCut }: ApiResult): string => {
  if (calls.length > 0) return 'tool_use'
  if (refusal !== '') return 'refusal'
  return isCut ? 'max_tokens' : 'end_turn'
}

const toolUse = ({ id, name }: ApiCall, input: Record<string, unknown>) => ({
  type: 'tool_use' as const,
  id,
  name,
  input,
})

const toMessage = ({ id }: Answer, { model }: ApiRequest, rest: Record<string, unknown>) => ({
  id: `msg_${id}`,
  type: 'message' as const,
  role: 'assistant' as const,
  model,
  stop_sequence: null,
  ...rest,
})

export const toWholeMessage = (answer: Answer, result: ApiResult, request: ApiRequest) =>
  toMessage(answer, request, {
    content: [
      ...(result.text === '' ? [] : [{ type: 'text' as const, text: result.text }]),
      ...result.calls.map(call => toolUse(call, parseArguments(call.arguments) ?? {})),
    ],
    stop_reason: stopReasonOf(result),
    usage: toUsage(result.usage),
  })

export const PING = frame('ping', { type: 'ping' })

export async function* messageFrames(
  answer: StreamedAnswer,
  events: AsyncIterable<ApiEvent>,
  request: ApiRequest,
): AsyncGenerator<string> {
  const send = (type: string, fields: Record<string, unknown> = {}): string =>
    frame(type, { type, ...fields })
  const started = { content: [], stop_reason: null, usage: NO_USAGE }
  yield send('message_start', { message: toMessage(answer, request, started) })
  yield PING
  let index = 0
  let isTextOpen = false
  for await (const event of events) {
    if (event.type === 'failed') {
      const failure = toErrorReply(toError(event.failure))
      yield frame('error', toAnthropicError(failure, answer.requestId))
    } else if (event.type === 'text') {
      if (!isTextOpen)
        yield send('content_block_start', { index, content_block: { type: 'text', text: '' } })
      isTextOpen = true
      yield send('content_block_delta', {
        index,
        delta: { type: 'text_delta', text: event.text },
      })
    } else {
      const { result } = event
      if (isTextOpen) yield send('content_block_stop', { index: index++ })
      for (const call of result.calls) {
        yield send('content_block_start', { index, content_block: toolUse(call, {}) })
        const delta = { type: 'input_json_delta', partial_json: call.arguments }
        yield send('content_block_delta', { index, delta })
        yield send('content_block_stop', { index: index++ })
      }
      yield send('message_delta', {
        delta: { stop_reason: stopReasonOf(result), stop_sequence: null },
        usage: toUsage(result.usage),
      })
      yield send('message_stop')
    }
  }
}
