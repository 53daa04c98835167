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
import { type TerminatingEndpoints, type StreamOptions, streamRequest } from './stream-request.ts'
import { createQuirkLearner } from './quirks.ts'

export const createAnthropicMessages = (options: StreamOptions = {}): Provider => {
  const enders: TerminatingEndpoints = new Set()
  const learning = createQuirkLearner<AnthropicQuirk>(anthropicObjection)
  return request =>
    learning(request, quirks =>
      streamRequest(
        {
          url: messagesUrl(request.endpoint.baseUrl),
          headers: anthropicHeaders(request.endpoint),
          body: toAnthropicBody(request, quirks),
          request,
          terminating: enders,
          reader: createAnthropicReader(),
        },
        options,
      ),
    )
}
