/** Speaks with any endpoint that offers `POST /chat/completions`, streamed where the server can. */
import type { Provider } from '../types.ts'
import { type Enders, type ExchangeOptions, exchange } from './stream-request.ts'
import { chatObjection, type Quirk, toBody } from './openai-body.ts'
import { createChunkReader } from './openai-chunks.ts'
import { keyHeaders, urlUnder } from './http-post.ts'
import { createLearner } from './quirks.ts'
import { noticed } from './tool-limit.ts'

export type OpenAiOptions = ExchangeOptions

export const createOpenAiChat = (options: OpenAiOptions = {}): Provider => {
  const enders: Enders = new Set()
  const learning = createLearner<Quirk>(chatObjection)
  return request =>
    learning(request, quirks =>
      noticed(
        request,
        quirks,
        exchange(
          {
            url: urlUnder(request.endpoint.baseUrl, '/chat/completions'),
            headers: keyHeaders(request.endpoint),
            body: toBody(request, quirks),
            request,
            enders,
            reader: createChunkReader(),
          },
          options,
        ),
      ),
    )
}
