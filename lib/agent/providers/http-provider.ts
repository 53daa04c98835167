/** Turns the description of a wire format into a provider. */
import type { Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import type { Sentence } from '../../base/sentences.ts'
import { UserError, wordsOf } from '../../errors.ts'
import { ProviderFailure } from '../failure.ts'
import type { ModelEndpoint, Provider, ProviderDelta, ProviderRequest } from '../types.ts'
import { answerObjection, withoutAnswer } from './answer-fields.ts'
import { earlierReasoningObjection, withEarlierReasoning } from './earlier-reasoning.ts'
import { imageNotice, imageObjection } from './image-rejections.ts'
import { sentImages, withImages } from './images.ts'
import { type ObjectionOf, QuirkMemory, type Quirks } from './quirks.ts'
import { isObjection } from './rejection.ts'
import { requestObjection } from './rejection-rows.ts'
import { hostname, type ResponseReader, streamRequest } from './stream-request.ts'
import {
  rejectedToolNotice,
  rejectedToolObjection,
  withoutRejectedTools,
} from './rejected-tools.ts'
import { toolLimitNotice } from './tool-limit.ts'

/** What differs between wire formats. */
export type WireFormat = {
  url: (endpoint: ModelEndpoint) => string
  /** Headers and body, adapted to the endpoint's known quirks. */
  headers: (request: ProviderRequest, quirks: Quirks) => Readonly<Record<string, string>>
  body: (request: ProviderRequest, quirks: Quirks) => Readonly<Record<string, unknown>>
  /** Whether tool results may contain images; where they may not, the images follow as a message. */
  imagesInResults: boolean
  /** A new reader for each response. */
  createReader: () => ResponseReader
}

/** The current key of a sign-in; see `keyFor` in lib/models/sign-in/sign-ins.ts. */
export type KeySource = (endpoint: ModelEndpoint, isRejected: boolean) => Promise<string | null>

/** What of a rejection is understood, most specific first. */
const objectionIn =
  (format: () => WireFormat): ObjectionOf =>
  (failure, known, request, attempts) => {
    const { headers, body, imagesInResults: inResults } = format()
    const images = imageObjection(failure, known, request, { inResults, attempts })
    if (images || !isObjection(failure)) return images
    const sent = (quirks: Quirks) =>
      JSON.stringify([headers(request, quirks), body(request, quirks)])
    const present = sent(known)
    return (
      rejectedToolObjection(failure, known, withoutRejectedTools(request, known)) ??
      earlierReasoningObjection(failure, known, request) ??
      answerObjection(failure, known, request, true) ??
      requestObjection(
        failure,
        known,
        request,
        quirk => sent(new Set([...known, quirk])) !== present,
      ) ??
      answerObjection(failure, known, request, false)
    )
  }

/** The request without what the endpoint is known not to take, in any format. */
const adapted = (request: ProviderRequest, known: Quirks): ProviderRequest =>
  withoutAnswer(withEarlierReasoning(withoutRejectedTools(request, known), known), known)

/**
 * A call is repeated before its first delta only: adapted, when the endpoint rejects something that can be changed, and once
 * with another key, when it rejects the token of a sign-in. `load` is called with the first request: a start needs no format.
 * `dispatcher`: of a proxy; absent: undici's global one. `keySource` renews keys that are tokens of a sign-in; absent: they are
 * used until they expire.
 */
export const httpProvider = (
  load: () => WireFormat,
  clock: Clock,
  dispatcher?: Dispatcher,
  keySource?: KeySource,
): Provider => {
  const terminating = new Set<string>()
  const shownNotices = new Set<string>()
  const memory = new QuirkMemory(objectionIn(load), clock)

  const send = (
    request: ProviderRequest,
    known: Quirks,
    begin: () => ProviderDelta[],
  ): Promise<AsyncGenerator<ProviderDelta>> => {
    const format = load()
    const { endpoint, traceparent } = request
    const own = {
      ...format.headers(request, known),
      ...imageHeaders(request, known),
      ...(traceparent !== undefined && { traceparent }),
    }
    return streamRequest({
      url: format.url(endpoint),
      headers: withHeaders(own, endpoint.headers),
      body: format.body(withImages(request, known, format.imagesInResults), known),
      request,
      terminating,
      reader: format.createReader(),
      begin,
      clock,
      dispatcher,
    })
  }

  /** A lack of tools is told in every turn, anything else once. */
  const noticesOf = (request: ProviderRequest, known: Quirks): Sentence[] => {
    const others = [imageNotice(request, known), rejectedToolNotice(request, known)].flatMap(
      said => (said === null || shownNotices.has(said.text) ? [] : [said]),
    )
    for (const { text } of others) shownNotices.add(text)
    return [...others, toolLimitNotice(request, known) ?? []].flat()
  }

  return async given => {
    const keyFor = given.endpoint.signIn && keySource
    let asked = keyFor ? await withKey(given, false, keyFor) : given
    let call = memory.begin(asked)
    let isKeyRenewed = false
    for (;;) {
      const { quirks: known, accepted } = call
      const request = adapted(asked, known)
      // Not before the first delta: until there, the server may reject the request.
      const begin = (): ProviderDelta[] => {
        accepted()
        return noticesOf(request, known).map(text => ({ type: 'notice', text }))
      }
      try {
        return await send(request, known, begin)
      } catch (error) {
        if (!(error instanceof ProviderFailure)) throw error
        if (call.rejected(error)) continue
        const { endpoint, signal } = asked
        if (!keyFor || error.status !== 401 || isKeyRenewed || signal.aborted) throw error
        asked = await withKey(asked, true, keyFor)
        isKeyRenewed = true
        if (asked.endpoint.apiKey === endpoint.apiKey) throw error
        call = memory.begin(asked)
      }
    }
  }
}

/** The request with the current token of a sign-in, which may be newer than the one its endpoint was resolved with. */
const withKey = async (
  request: ProviderRequest,
  isRejected: boolean,
  keyFor: KeySource,
): Promise<ProviderRequest> => {
  const { endpoint } = request
  const apiKey = await keyFor(endpoint, isRejected).catch((error: unknown) => {
    if (!(error instanceof UserError)) throw error
    // Only the user can sign in again. Everything else may pass.
    throw error.kind === 'unauthorized'
      ? new ProviderFailure('auth_mismatch', wordsOf(error), { status: 401, retryable: false })
      : new ProviderFailure('network', wordsOf(error))
  })
  return { ...request, endpoint: { ...endpoint, apiKey: apiKey ?? endpoint.apiKey } }
}

/** The configured headers win. Betas are a list, so theirs are added to ours. */
const withHeaders = (
  own: Readonly<Record<string, string>>,
  configured: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => {
  const betas = [own['anthropic-beta'], configured['anthropic-beta']].filter(Boolean).join(',')
  return { ...own, ...configured, ...(betas !== '' && { 'anthropic-beta': betas }) }
}

/** GitHub Copilot requires this header for requests with images. */
const imageHeaders = (
  request: ProviderRequest,
  quirks: Quirks,
): Readonly<Record<string, string>> => {
  if (!/(?:^|\.)githubcopilot\.com$/.test(hostname(request.endpoint.baseUrl))) return {}
  const { stored, raw } = sentImages(request, quirks)
  return stored.length > 0 || raw ? { 'copilot-vision-request': 'true' } : {}
}
