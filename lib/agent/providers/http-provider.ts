/** Turns the description of a wire format into a provider. */
import { toSeconds } from '../../base/clock.ts'
import { ProviderFailure } from '../failure.ts'
import type { ModelEndpoint, Provider, ProviderDelta, ProviderRequest } from '../types.ts'
import { answerObjection, type AnswerQuirk, withoutAnswer } from './answer-fields.ts'
import {
  type EarlierQuirk,
  earlierReasoningObjection,
  withEarlierReasoning,
} from './earlier-reasoning.ts'
import { imageNotice, imageObjection, withNotice } from './image-rejections.ts'
import { type ImageQuirk, sentImages, withImages } from './images.ts'
import { createQuirkLearner, type Objection } from './quirks.ts'
import { isObjection } from './rejection.ts'
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
  objection: (
    failure: ProviderFailure,
    known: ReadonlySet<Q>,
    request: ProviderRequest,
  ) => Objection<Q> | null
}

export const createHttpProvider = <Q extends string>(
  format: WireFormat<Q>,
  options: StreamOptions,
): Provider => {
  const terminating = new Set<string>()
  const shownNotices = new Set<string>()
  const { imagesInResults: inResults } = format
  const withLearnedQuirks = createQuirkLearner<
    Q | EarlierQuirk | ImageQuirk | AnswerQuirk | RejectedTool
  >((failure, known, request, attempts) => {
    const ofImages = imageObjection(failure, known, request, { inResults, attempts })
    if (ofImages || !isObjection(failure)) return ofImages
    return (
      rejectedToolObjection(failure, known, withoutRejectedTools(request, known)) ??
      earlierReasoningObjection(failure, known as ReadonlySet<EarlierQuirk>, request) ??
      answerObjection(failure, known, request, true) ??
      format.objection(failure, known as ReadonlySet<Q>, request) ??
      answerObjection(failure, known, request, false)
    )
  }, options.clock)
  return asked =>
    withLearnedQuirks(asked, known => {
      const offered = withoutAnswer(withoutRejectedTools(asked, known), known)
      const request = withEarlierReasoning(offered, known as ReadonlySet<EarlierQuirk>)
      const quirks = known as ReadonlySet<Q>
      const { staleTimeoutMs } = request.endpoint
      const deltas = limited(request, options.clock, limitedRequest =>
        streamRequest(
          {
            url: format.url(request.endpoint),
            headers: withHeaders(
              {
                ...format.headers(request, quirks),
                ...imageHeaders(request, known),
                ...(request.traceparent !== undefined && { traceparent: request.traceparent }),
              },
              request.endpoint.headers,
            ),
            body: format.body(withImages(request, known, inResults), quirks),
            request: limitedRequest,
            terminating,
            reader: format.createReader(),
          },
          staleTimeoutMs === undefined ? options : { ...options, staleMs: () => staleTimeoutMs },
        ),
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

/** The configured headers win. Betas are a list, so theirs are added to ours. */
const withHeaders = (
  own: Readonly<Record<string, string>>,
  configured: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => {
  const betas = [own['anthropic-beta'], configured['anthropic-beta']].filter(Boolean).join(',')
  return { ...own, ...configured, ...(betas !== '' && { 'anthropic-beta': betas }) }
}

/** Ends a response that takes longer than `request_timeout_seconds`. */
async function* limited(
  request: ProviderRequest,
  clock: StreamOptions['clock'],
  send: (request: ProviderRequest) => AsyncGenerator<ProviderDelta>,
): AsyncGenerator<ProviderDelta> {
  const { requestTimeoutMs: limitMs = 0, providerName, provider } = request.endpoint
  if (limitMs === 0) return yield* send(request)
  const timeout = new AbortController()
  const seconds = Math.round(toSeconds(limitMs))
  const end = clock.timer(limitMs, () =>
    timeout.abort(
      new ProviderFailure(
        'network',
        `The response from ${providerName ?? provider} took longer than ${seconds} s (request_timeout_seconds).`,
      ),
    ),
  )
  try {
    yield* send({ ...request, signal: AbortSignal.any([request.signal, timeout.signal]) })
  } finally {
    end()
  }
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
