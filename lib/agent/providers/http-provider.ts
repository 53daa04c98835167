/** Turns the description of a wire format into a provider. */
import type { ProviderFailure } from '../failure.ts'
import type { ModelEndpoint, Provider, ProviderRequest } from '../types.ts'
import {
  type EarlierQuirk,
  earlierReasoningObjection,
  withEarlierReasoning,
} from './earlier-reasoning.ts'
import { imageNotice, imageObjection, withNotice } from './image-rejections.ts'
import { type ImageQuirk, sentImages, withImages } from './images.ts'
import { createQuirkLearner, isObjection, type Objection } from './quirks.ts'
import {
  hostname,
  type ResponseReader,
  type StreamOptions,
  streamRequest,
} from './stream-request.ts'
import {
  type RejectedTool,
  rejectedToolNotice,
  rejectedToolObjection,
  withoutRejectedTools,
} from './rejected-tools.ts'
import { withToolLimitNotice } from './tool-limit.ts'

/** What differs between wire formats. `Q` names the deviations of endpoints the format can adapt to. */
export type WireFormat<Q extends string> = {
  url: (endpoint: ModelEndpoint) => string
  /** Headers and body, adapted to the endpoint's known quirks. */
  headers: (request: ProviderRequest, quirks: ReadonlySet<Q>) => Readonly<Record<string, string>>
  body: (request: ProviderRequest, quirks: ReadonlySet<Q>) => Readonly<Record<string, unknown>>
  /** Whether tool results may contain images; where they may not, the images follow as a message. */
  imagesInResults: boolean
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
  const shownNotices = new Set<string>()
  const { imagesInResults: inResults } = format
  const withLearnedQuirks = createQuirkLearner<Q | EarlierQuirk | ImageQuirk | RejectedTool>(
    (failure, known, request, attempts) => {
      const ofImages = imageObjection(failure, known, request, { inResults, attempts })
      if (ofImages || !isObjection(failure)) return ofImages
      return (
        rejectedToolObjection(failure, known, withoutRejectedTools(request, known)) ??
        earlierReasoningObjection(failure, known as ReadonlySet<EarlierQuirk>, request) ??
        format.objection(failure, known as ReadonlySet<Q>)
      )
    },
  )
  return asked =>
    withLearnedQuirks(asked, known => {
      const offered = withoutRejectedTools(asked, known)
      const request = withEarlierReasoning(offered, known as ReadonlySet<EarlierQuirk>)
      const quirks = known as ReadonlySet<Q>
      const deltas = streamRequest(
        {
          url: format.url(request.endpoint),
          headers: {
            ...format.headers(request, quirks),
            ...imageHeaders(request, known),
            ...(request.traceparent !== undefined && { traceparent: request.traceparent }),
          },
          body: format.body(withImages(request, known, inResults), quirks),
          request,
          terminating,
          reader: format.createReader(),
        },
        options,
      )
      return withNotice(
        () => firstTime(imageNotice(request, known), shownNotices),
        withNotice(
          () => firstTime(rejectedToolNotice(request, known), shownNotices),
          withToolLimitNotice(request, quirks, deltas),
        ),
      )
    })
}

/** A notice about an endpoint is shown once, not in every turn. */
const firstTime = (notice: string | null, shown: Set<string>): string | null => {
  if (notice === null || shown.has(notice)) return null
  shown.add(notice)
  return notice
}

/** GitHub Copilot requires this header for requests with images. */
const imageHeaders = (
  request: ProviderRequest,
  quirks: ReadonlySet<string>,
): Readonly<Record<string, string>> => {
  if (!/(?:^|\.)githubcopilot\.com$/.test(hostname(request.endpoint.baseUrl))) return {}
  const { stored, raw } = sentImages(request, quirks)
  return stored.length > 0 || raw ? { 'copilot-vision-request': 'true' } : {}
}
