/**
 * Learns how an endpoint deviates from its wire format ("quirks") from rejected requests, and repeats them adapted.
 *
 * A rejection is a guess until the adapted request is answered, and what it was about may pass: a server restarts, a provider
 * is back, the next chat has other messages. So a quirk is remembered only when the adapted request was accepted, and forgotten
 * after a while. See `rejection.ts` for what counts as evidence.
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { ProviderFailure } from '../failure.ts'
import type { ProviderDelta, ProviderRequest } from '../types.ts'

/** Rejections of one call that are learned from. */
const MAX_REJECTIONS = 8

/** How long a quirk is remembered that takes something away. Then one request asks again. */
const REMEMBERED_MS = 10 * 60_000
/** For those that only write the same in another way. */
const HARMLESS_MS = 24 * 3_600_000

const DIGEST_CHARS = 12

/** Endpoints and sessions with quirks of their own; the oldest are forgotten. */
const MAX_PLACES = 1_000

export type Objection<Q> = {
  quirk: Q
  /** Where it applies once it was confirmed: nowhere else, to the session whose history is the cause, to the endpoint. */
  scope: 'call' | 'session' | 'endpoint'
  /** The same request in another notation: nothing is lost by remembering it. */
  isHarmless?: boolean
  /** It counts although the same rejection follows: of several images or of a limit, each adaptation is a part. */
  isPartial?: boolean
}

export type Call<Q> = (quirks: ReadonlySet<Q>) => AsyncGenerator<ProviderDelta>

/** Maps a rejection to the next quirk to apply; null when that would not help. `attempts`: earlier rejections of the call. */
export type ObjectionOf<Q> = (
  failure: ProviderFailure,
  known: ReadonlySet<Q>,
  request: ProviderRequest,
  attempts: number,
) => Objection<Q> | null

const digest = (key: string | null): string =>
  createHash('sha256')
    .update(key ?? '')
    .digest('base64url')
    .slice(0, DIGEST_CHARS)

/** Ids of requests and times differ between two rejections with the same reason. */
const reasonOf = ({ message }: ProviderFailure): string => message.replace(/[\da-f-]{6,}/gi, '')

export const createQuirkLearner = <Q extends string>(
  objectionOf: ObjectionOf<Q>,
  clock: Pick<Clock, 'now'>,
) => {
  /** By place: until when each quirk is remembered. */
  const learned = new Map<string, Map<Q, number>>()

  const recall = (place: string): Q[] => {
    const quirks = learned.get(place)
    if (!quirks) return []
    for (const [quirk, until] of quirks) if (until <= clock.now()) quirks.delete(quirk)
    return [...quirks.keys()]
  }

  const remember = (place: string, { quirk, isHarmless }: Objection<Q>): void => {
    const quirks = learned.get(place) ?? new Map<Q, number>()
    quirks.set(quirk, clock.now() + (isHarmless ? HARMLESS_MS : REMEMBERED_MS))
    learned.set(place, quirks)
    const [oldest] = learned.keys()
    if (learned.size > MAX_PLACES && oldest !== undefined) learned.delete(oldest)
  }

  /** All models of the server: a test of the connection may use another one. */
  const forget = (baseUrl: string): void => {
    for (const place of learned.keys()) if (place.startsWith(`${baseUrl} `)) learned.delete(place)
  }

  return async function* learning(
    request: ProviderRequest,
    call: Call<Q>,
  ): AsyncGenerator<ProviderDelta> {
    const { endpoint, sessionKey } = request
    // Another key may belong to an account with other rights.
    const ofEndpoint = `${endpoint.baseUrl} ${endpoint.model} ${digest(endpoint.apiKey)}`
    const ofSession = `${ofEndpoint} ${sessionKey ?? ''}`
    if (request.isConnectionTest) forget(endpoint.baseUrl)
    const applied = new Set([...recall(ofEndpoint), ...recall(ofSession)])
    let helpful: Objection<Q>[] = []
    let reason = ''
    for (let attempts = 0; ; attempts++) {
      let isFirst = true
      try {
        for await (const delta of call(applied)) {
          if (isFirst)
            for (const objection of helpful) {
              if (objection.scope === 'endpoint') remember(ofEndpoint, objection)
              if (objection.scope === 'session' && sessionKey) remember(ofSession, objection)
            }
          isFirst = false
          yield delta
        }
        return
      } catch (error) {
        const mayLearn = isFirst && error instanceof ProviderFailure && attempts < MAX_REJECTIONS
        const objection = mayLearn ? objectionOf(error, applied, request, attempts) : null
        if (objection === null || !mayLearn) throw error
        // The server says the same again: what was changed last is not what it objects to.
        if (reasonOf(error) === reason) helpful = helpful.filter(({ isPartial }) => isPartial)
        reason = reasonOf(error)
        helpful.push(objection)
        applied.add(objection.quirk)
      }
    }
  }
}
