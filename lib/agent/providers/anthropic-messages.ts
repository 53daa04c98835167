/** Speaks with any endpoint that offers Anthropic's `POST /v1/messages`. API keys only. */
import type { Provider } from '../types.ts'
import {
  anthropicHeaders,
  anthropicObjection,
  messagesUrl,
  toAnthropicBody,
} from './anthropic-body.ts'
import { createAnthropicReader } from './anthropic-events.ts'
import type { AnthropicQuirk } from './anthropic-thinking.ts'
import { type Enders, type ExchangeOptions, exchange } from './stream-request.ts'
import { createLearner } from './quirks.ts'

export const createAnthropicMessages = (options: ExchangeOptions = {}): Provider => {
  const enders: Enders = new Set()
  const learning = createLearner<AnthropicQuirk>(anthropicObjection)
  return request =>
    learning(request, quirks =>
      exchange(
        {
          url: messagesUrl(request.endpoint.baseUrl),
          headers: anthropicHeaders(request.endpoint),
          body: toAnthropicBody(request, quirks),
          request,
          enders,
          reader: createAnthropicReader(),
        },
        options,
      ),
    )
}
