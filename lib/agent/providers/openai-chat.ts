/** The wire format `chat_completions`: OpenAI's `POST /chat/completions` and the many servers compatible with it. */
import type { Provider } from '../types.ts'
import { appendPath, authHeaders } from './http-post.ts'
import { createHttpProvider, type HttpProviderOptions } from './http-provider.ts'
import { chatObjection, type Quirk, toBody } from './openai-body.ts'
import { createChunkReader } from './openai-chunks.ts'

export const createOpenAiChat = (options: HttpProviderOptions): Provider =>
  createHttpProvider<Quirk>(
    {
      url: ({ baseUrl }) => appendPath(baseUrl, '/chat/completions'),
      headers: ({ endpoint }) => authHeaders(endpoint),
      body: toBody,
      imagesInResults: false,
      createReader: createChunkReader,
      objection: chatObjection,
    },
    options,
  )
