/** The replies of `POST /v1/chat/completions`. Source: OpenAI API reference, Chat Completions and its stream. */
import { toSeconds } from '../base/clock.ts'
import { dataFrame } from '../base/sse.ts'
import { toErrorReply } from '../http/error-reply.ts'
import type { Usage } from '../schema/usage.ts'
import type { ApiCall, ApiEvent, ApiResult } from './api-request.ts'
import type { ChatRequest } from './chat-completions.ts'
import type { Answer } from './client-api.ts'
import { toError, toOpenAiError } from './errors.ts'

const toUsage = ({ input_tokens: input, output_tokens: output, cache_read_tokens }: Usage) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cache_read_tokens ?? 0 },
})

const toCall = ({ id, name, arguments: text }: ApiCall) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: text },
})

type Finish = 'tool_calls' | 'content_filter' | 'length' | 'stop'

/** The provider stopped the answer after some text. A refusal that is the whole answer ends like any other. */
const isStopped = ({ text, refusal }: ApiResult): boolean => !text.endsWith(refusal)

const finishOf = (result: ApiResult): Finish => {
  if (result.calls.length > 0) return 'tool_calls'
  if (isStopped(result)) return 'content_filter'
  return result.isCut ? 'length' : 'stop'
}

const headOf = ({ id, createdAt }: Answer, { model }: ChatRequest, object: string) => ({
  id: `chatcmpl-${id}`,
  object,
  created: Math.floor(toSeconds(createdAt)),
  model,
})

export const toChatCompletion = (answer: Answer, result: ApiResult, request: ChatRequest) => {
  const { text, refusal, calls } = result
  return {
    ...headOf(answer, request, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant' as const,
          content:
            (refusal === '' || isStopped(result)) && (text !== '' || calls.length === 0)
              ? text
              : null,
          refusal: refusal === '' ? null : refusal,
          ...(calls.length > 0 && { tool_calls: calls.map(toCall) }),
        },
        logprobs: null,
        finish_reason: finishOf(result),
      },
    ],
    usage: toUsage(result.usage),
  }
}

export async function* chatFrames(
  answer: Answer,
  events: AsyncIterable<ApiEvent>,
  request: ChatRequest,
): AsyncGenerator<string> {
  const head = headOf(answer, request, 'chat.completion.chunk')
  const noUsage = request.includeUsage ? { usage: null } : {}
  const chunk = (delta: Record<string, unknown>, finish: string | null = null): string =>
    dataFrame({
      ...head,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...noUsage,
    })
  yield chunk({ role: 'assistant', content: '', refusal: null })
  for await (const event of events) {
    if (event.type === 'text') yield chunk({ content: event.text })
    else if (event.type === 'failed') {
      yield dataFrame(toOpenAiError(toErrorReply(toError(event.failure))))
      return
    } else {
      for (const [index, { id, name, arguments: text }] of event.result.calls.entries()) {
        const call = { index, id, type: 'function', function: { name, arguments: '' } }
        yield chunk({ tool_calls: [call] })
        yield chunk({ tool_calls: [{ index, function: { arguments: text } }] })
      }
      yield chunk({}, finishOf(event.result))
      if (request.includeUsage)
        yield dataFrame({ ...head, choices: [], usage: toUsage(event.result.usage) })
      yield dataFrame('[DONE]')
    }
  }
}
