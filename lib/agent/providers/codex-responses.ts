/** Speaks with any endpoint that offers OpenAI's `POST /responses`. */
import type { Provider } from '../types.ts'
import { createLearner } from './quirks.ts'
import { type Enders, type ExchangeOptions, exchange } from './stream-request.ts'
import {
  type ResponsesQuirk,
  responsesHeaders,
  responsesObjection,
  toResponsesBody,
} from './responses-body.ts'
import { urlUnder } from './http-post.ts'
import { createResponsesReader } from './responses-events.ts'
import { noticed } from './tool-limit.ts'

export const createCodexResponses = (options: ExchangeOptions = {}): Provider => {
  const enders: Enders = new Set()
  const learning = createLearner<ResponsesQuirk>(responsesObjection)
  return request =>
    learning(request, quirks =>
      noticed(
        request,
        quirks,
        exchange(
          {
            url: urlUnder(request.endpoint.baseUrl, '/responses'),
            headers: responsesHeaders(request.endpoint),
            body: toResponsesBody(request, quirks),
            request,
            enders,
            reader: createResponsesReader(),
          },
          options,
        ),
      ),
    )
}
