/** The wire format `codex_responses`: OpenAI's `POST /responses`. */
import type { Provider } from '../types.ts'
import { appendPath } from './http-post.ts'
import { createHttpProvider, type HttpProviderOptions } from './http-provider.ts'
import {
  type ResponsesQuirk,
  responsesHeaders,
  responsesObjection,
  toResponsesBody,
} from './responses-body.ts'
import { createResponsesReader } from './responses-events.ts'

export const createCodexResponses = (options: HttpProviderOptions): Provider =>
  createHttpProvider<ResponsesQuirk>(
    {
      url: ({ baseUrl }) => appendPath(baseUrl, '/responses'),
      headers: responsesHeaders,
      body: toResponsesBody,
      imagesInResults: true,
      createReader: createResponsesReader,
      objection: responsesObjection,
    },
    options,
  )
