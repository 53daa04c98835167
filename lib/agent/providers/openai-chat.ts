/** Speaks with any endpoint that offers `POST /chat/completions`, streamed where the server can. */
import type { Provider } from '../types.ts'
import { type TerminatingEndpoints, type StreamOptions, streamRequest } from './stream-request.ts'
import { chatObjection, type Quirk, toBody } from './openai-body.ts'
import { createChunkReader } from './openai-chunks.ts'
import { authHeaders, appendPath } from './http-post.ts'
import { createQuirkLearner } from './quirks.ts'
import { withToolLimitNotice } from './tool-limit.ts'

export type OpenAiOptions = StreamOptions

export const createOpenAiChat = (options: OpenAiOptions = {}): Provider => {
  const enders: TerminatingEndpoints = new Set()
  const learning = createQuirkLearner<Quirk>(chatObjection)
  return request =>
    learning(request, quirks =>
      withToolLimitNotice(
        request,
        quirks,
        streamRequest(
          {
            url: appendPath(request.endpoint.baseUrl, '/chat/completions'),
            headers: authHeaders(request.endpoint),
            body: toBody(request, quirks),
            request,
            terminating: enders,
            reader: createChunkReader(),
          },
          options,
        ),
      ),
    )
}
