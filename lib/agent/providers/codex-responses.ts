/** Speaks with any endpoint that offers OpenAI's `POST /responses`. */
import type { Provider } from '../types.ts'
import { createQuirkLearner } from './quirks.ts'
import { type TerminatingEndpoints, type StreamOptions, streamRequest } from './stream-request.ts'
import {
  type ResponsesQuirk,
  responsesHeaders,
  responsesObjection,
  toResponsesBody,
} from './responses-body.ts'
import { appendPath } from './http-post.ts'
import { createResponsesReader } from './responses-events.ts'
import { withToolLimitNotice } from './tool-limit.ts'

export const createCodexResponses = (options: StreamOptions = {}): Provider => {
  const enders: TerminatingEndpoints = new Set()
  const learning = createQuirkLearner<ResponsesQuirk>(responsesObjection)
  return request =>
    learning(request, quirks =>
      withToolLimitNotice(
        request,
        quirks,
        streamRequest(
          {
            url: appendPath(request.endpoint.baseUrl, '/responses'),
            headers: responsesHeaders(request.endpoint),
            body: toResponsesBody(request, quirks),
            request,
            terminating: enders,
            reader: createResponsesReader(),
          },
          options,
        ),
      ),
    )
}
