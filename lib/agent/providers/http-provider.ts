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
  (failure, quirks, request, attempts) => {
    const { headers, body, imagesInResults: inResults } = format()
    const images = imageObjection(failure, quirks, request, { inResults, attempts })
    if (images || !isObjection(failure)) return images
    const sent = (all: Quirks) => JSON.stringify([headers(request, all), body(request, all)])
    const present = sent(quirks)
    return (
      rejectedToolObjection(failure, quirks, withoutRejectedTools(request, quirks)) ??
      earlierReasoningObjection(failure, quirks, request) ??
      answerObjection(failure, quirks, request, true) ??
      requestObjection(
        failure,
        quirks,
        request,
        quirk => sent(new Set([...quirks, quirk])) !== present,
      ) ??
      answerObjection(failure, quirks, request, false)
    )
  }

/** The request without what the endpoint is known not to take, in any format. */
const adapted = (request: ProviderRequest, quirks: Quirks): ProviderRequest =>
  withoutAnswer(withEarlierReasoning(withoutRejectedTools(request, quirks), quirks), quirks)

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
    quirks: Quirks,
    begin: () => ProviderDelta[],
  ): Promise<AsyncGenerator<ProviderDelta>> => {
    const format = load()
    const { endpoint, traceparent } = request
    const own = {
      ...format.headers(request, quirks),
      ...imageHeaders(request, quirks),
      ...(traceparent !== undefined && { traceparent }),
    }
    return streamRequest({
      url: format.url(endpoint),
      headers: withHeaders(own, endpoint.headers),
      body: format.body(withImages(request, quirks, format.imagesInResults), quirks),
      request,
      terminating,
      reader: format.createReader(),
      begin,
      clock,
      dispatcher,
    })
  }

  /** A lack of tools is told in every turn, anything else once. */
  const noticesOf = (request: ProviderRequest, quirks: Quirks): Sentence[] => {
    const others = [imageNotice(request, quirks), rejectedToolNotice(request, quirks)].flatMap(
      notice => (notice === null || shownNotices.has(notice.text) ? [] : [notice]),
    )
    for (const { text } of others) shownNotices.add(text)
    return [...others, toolLimitNotice(request, quirks) ?? []].flat()
  }

  return async original => {
    const keyFor = original.endpoint.signIn && keySource
    let current = keyFor ? await withKey(original, false, keyFor) : original
    let call = memory.begin(current)
    let isKeyRenewed = false
    for (;;) {
      const { quirks, accepted } = call
      const request = adapted(current, quirks)
      // Not before the first delta: until there, the server may reject the request.
      const begin = (): ProviderDelta[] => {
        accepted()
        return noticesOf(request, quirks).map(text => ({ type: 'notice', text }))
      }
      try {
        return await send(request, quirks, begin)
      } catch (error) {
        if (!(error instanceof ProviderFailure)) throw error
        if (call.rejected(error)) continue
        const { endpoint, signal } = current
        if (!keyFor || error.status !== 401 || isKeyRenewed || signal.aborted) throw error
        current = await withKey(current, true, keyFor)
        isKeyRenewed = true
        if (current.endpoint.apiKey === endpoint.apiKey) throw error
        call = memory.begin(current)
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
  const { files, raw } = sentImages(request, quirks)
  return files.length > 0 || raw ? { 'copilot-vision-request': 'true' } : {}
}
