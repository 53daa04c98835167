/** The wire format `anthropic_messages`: `POST /v1/messages` of Anthropic and compatible servers, with API keys only. */
import type { Provider } from '../types.ts'
import {
  anthropicHeaders,
  anthropicObjection,
  messagesUrl,
  toAnthropicBody,
} from './anthropic-body.ts'
import { createAnthropicReader } from './anthropic-events.ts'
import type { AnthropicQuirk } from './anthropic-thinking.ts'
import { createHttpProvider, type HttpProviderOptions } from './http-provider.ts'

export const createAnthropicMessages = (options: HttpProviderOptions): Provider =>
  createHttpProvider<AnthropicQuirk>(
    {
      url: ({ baseUrl }) => messagesUrl(baseUrl),
      headers: anthropicHeaders,
      body: toAnthropicBody,
      imagesInResults: true,
      createReader: createAnthropicReader,
      objection: anthropicObjection,
    },
    options,
  )
