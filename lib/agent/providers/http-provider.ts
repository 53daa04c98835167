/** Turns the description of a wire format into a provider. */
import { UserError, wordsOf } from '../../errors.ts'
import { ProviderFailure } from '../failure.ts'
import type { ModelEndpoint, Provider, ProviderDelta, ProviderRequest } from '../types.ts'
import { answerObjection, withoutAnswer } from './answer-fields.ts'
import { earlierReasoningObjection, withEarlierReasoning } from './earlier-reasoning.ts'
import { imageNotice, imageObjection } from './image-rejections.ts'
import { sentImages, withImages } from './images.ts'
import { type Objection, type ObjectionOf, QuirkMemory } from './quirks.ts'
import { isObjection } from './rejection.ts'
import {
  hostname,
  type ResponseReader,
  type StreamOptions,
  streamRequest,
} from './stream-request.ts'
import {
  rejectedToolNotice,
  rejectedToolObjection,
  withoutRejectedTools,
} from './rejected-tools.ts'
import { toolLimitNotice } from './tool-limit.ts'

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

/** The current key of a sign-in; see `keyFor` in lib/models/sign-in/sign-ins.ts. */
export type KeySource = (endpoint: ModelEndpoint, isRejected: boolean) => Promise<string | null>

export type HttpProviderOptions = StreamOptions & {
  /** Renews keys that are tokens of a sign-in. Absent: they are used until they expire. */
  keyFor?: KeySource | undefined
}

/** One way in which endpoints differ, whatever their format. */
type Step = {
  /** The quirk that a rejection reveals. */
  objection?: ObjectionOf
  /** It explains more than the rejections of what a request contains. */
  isOfAny?: true
  /** The request, adapted to what is known. */
  adapt?: (request: ProviderRequest, known: ReadonlySet<string>) => ProviderRequest
  /** What the user has to know of the adapted request; null: nothing. */
  notice?: (request: ProviderRequest, known: ReadonlySet<string>) => string | null
  /** Shown in every turn, and not only once. */
  isNoticeOfTurn?: true
}

/** In the order in which they explain a rejection, adapt a request, and are told to the user. */
const stepsOf = <Q extends string>({
  imagesInResults: inResults,
  objection,
}: WireFormat<Q>): readonly Step[] => [
  {
    objection: (failure, known, request, attempts) =>
      imageObjection(failure, known, request, { inResults, attempts }),
    isOfAny: true,
    notice: imageNotice,
  },
  {
    objection: (failure, known, request) =>
      rejectedToolObjection(failure, known, withoutRejectedTools(request, known)),
    adapt: withoutRejectedTools,
    notice: rejectedToolNotice,
  },
  {
    objection: earlierReasoningObjection,
    adapt: withEarlierReasoning,
  },
  {
    objection: (failure, known, request) => answerObjection(failure, known, request, true),
    adapt: withoutAnswer,
  },
  {
    objection: (failure, known, request) => objection(failure, known as ReadonlySet<Q>, request),
    notice: toolLimitNotice,
    isNoticeOfTurn: true,
  },
  { objection: (failure, known, request) => answerObjection(failure, known, request, false) },
]

/**
 * A call is repeated before its first delta only: adapted, when the endpoint rejects something that can be changed, and once
 * with another key, when it rejects the token of a sign-in.
 */
export const createHttpProvider = <Q extends string>(
  format: WireFormat<Q>,
  options: HttpProviderOptions,
): Provider => {
  const steps = stepsOf(format)
  const terminating = new Set<string>()
  const shownNotices = new Set<string>()
  const memory = new QuirkMemory((failure, known, request, attempts) => {
    for (const { objection, isOfAny } of steps) {
      const found =
        isOfAny || isObjection(failure) ? objection?.(failure, known, request, attempts) : null
      if (found) return found
    }
    return null
  }, options.clock)

  const send = (
    request: ProviderRequest,
    known: ReadonlySet<string>,
  ): AsyncGenerator<ProviderDelta> => {
    const quirks = known as ReadonlySet<Q>
    const { endpoint, traceparent } = request
    const { staleTimeoutMs } = endpoint
    return streamRequest(
      {
        url: format.url(endpoint),
        headers: withHeaders(
          {
            ...format.headers(request, quirks),
            ...imageHeaders(request, known),
            ...(traceparent !== undefined && { traceparent }),
          },
          endpoint.headers,
        ),
        body: format.body(withImages(request, known, format.imagesInResults), quirks),
        request,
        terminating,
        reader: format.createReader(),
      },
      staleTimeoutMs === undefined ? options : { ...options, staleMs: () => staleTimeoutMs },
    )
  }

  const noticesOf = (request: ProviderRequest, known: ReadonlySet<string>): string[] =>
    steps.flatMap(({ notice, isNoticeOfTurn }) => {
      const text = notice?.(request, known) ?? null
      if (text === null || (!isNoticeOfTurn && shownNotices.has(text))) return []
      shownNotices.add(text)
      return [text]
    })

  return async function* (given) {
    const keyFor = given.endpoint.signIn && options.keyFor
    let asked = keyFor ? await withKey(given, false, keyFor) : given
    let call = memory.begin(asked)
    let isKeyRenewed = false
    for (;;) {
      let hasStarted = false
      try {
        const { quirks: known } = call
        const request = steps.reduce((sent, { adapt }) => adapt?.(sent, known) ?? sent, asked)
        for await (const delta of send(request, known)) {
          if (!hasStarted) {
            hasStarted = true
            call.accepted()
            // Not before: until here, the server may have rejected the request.
            for (const text of noticesOf(request, known)) yield { type: 'notice', text }
          }
          yield delta
        }
        return
      } catch (error) {
        if (hasStarted || !(error instanceof ProviderFailure)) throw error
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
  quirks: ReadonlySet<string>,
): Readonly<Record<string, string>> => {
  if (!/(?:^|\.)githubcopilot\.com$/.test(hostname(request.endpoint.baseUrl))) return {}
  const { stored, raw } = sentImages(request, quirks)
  return stored.length > 0 || raw ? { 'copilot-vision-request': 'true' } : {}
}
