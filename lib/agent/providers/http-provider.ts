/** Turns the description of a wire format into a provider. */
import type { ProviderFailure } from '../failure.ts'
import type { ModelEndpoint, Provider, ProviderRequest } from '../types.ts'
import {
  type EarlierQuirk,
  earlierReasoningObjection,
  withEarlierReasoning,
} from './earlier-reasoning.ts'
import { createQuirkLearner, type Objection } from './quirks.ts'
import { type ResponseReader, type StreamOptions, streamRequest } from './stream-request.ts'
import { withToolLimitNotice } from './tool-limit.ts'

/** What differs between wire formats. `Q` names the deviations of endpoints the format can adapt to. */
export type WireFormat<Q extends string> = {
  url: (endpoint: ModelEndpoint) => string
  /** Headers and body, adapted to the endpoint's known quirks. */
  headers: (request: ProviderRequest, quirks: ReadonlySet<Q>) => Readonly<Record<string, string>>
  body: (request: ProviderRequest, quirks: ReadonlySet<Q>) => unknown
  /** A new reader for each response. */
  createReader: () => ResponseReader
  /** The quirk a rejected request reveals; null when changing the request would not help. */
  objection: (failure: ProviderFailure, known: ReadonlySet<Q>) => Objection<Q> | null
}

export const createHttpProvider = <Q extends string>(
  format: WireFormat<Q>,
  options: StreamOptions,
): Provider => {
  const terminating = new Set<string>()
  const withLearnedQuirks = createQuirkLearner<Q | EarlierQuirk>(
    (failure, known, request) =>
      earlierReasoningObjection(failure, known, request) ??
      format.objection(failure, known as ReadonlySet<Q>),
  )
  return asked =>
    withLearnedQuirks(asked, known => {
      const request = withEarlierReasoning(asked, known)
      const quirks = known as ReadonlySet<Q>
      return withToolLimitNotice(
        request,
        quirks,
        streamRequest(
          {
            url: format.url(request.endpoint),
            headers: format.headers(request, quirks),
            body: format.body(request, quirks),
            request,
            terminating,
            reader: format.createReader(),
          },
          options,
        ),
      )
    })
}
