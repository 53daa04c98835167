/**
 * Learns how an endpoint deviates from its wire format ("quirks") from rejected requests, and repeats them adapted.
 *
 * A rejection is a guess until the adapted request is answered, and what it was about may pass: a server restarts, a provider
 * is back, the next chat has other messages. So a quirk is remembered only when the adapted request was accepted, and forgotten
 * after a while. See `rejection.ts` for what counts as evidence.
 */
import type { Clock } from '../../base/clock.ts'
import { sha256 } from '../../base/sha256.ts'
import type { ProviderFailure } from '../failure.ts'
import type { ProviderRequest } from '../types.ts'

/** Rejections of one call that are learned from. */
const MAX_REJECTIONS = 8

/** How long a quirk is remembered that takes something away. Then one request asks again. */
const REMEMBERED_MS = 10 * 60_000
/** For those that only write the same in another way. */
const HARMLESS_MS = 24 * 3_600_000

const DIGEST_CHARS = 12

/** Endpoints and sessions with quirks of their own; the oldest are forgotten. */
const MAX_PLACES = 1_000

export type Objection<Q = string> = {
  quirk: Q
  /** Where it applies once it was confirmed: nowhere else, to the session whose history is the cause, to the endpoint. */
  scope: 'call' | 'session' | 'endpoint'
  /** The same request in another notation: nothing is lost by remembering it. */
  isHarmless?: boolean
  /** It counts although the same rejection follows: of several images or of a limit, each adaptation is a part. */
  isPartial?: boolean
}

/** Maps a rejection to the next quirk to apply; null when that would not help. `attempts`: earlier rejections of the call. */
export type ObjectionOf = (
  failure: ProviderFailure,
  known: ReadonlySet<string>,
  request: ProviderRequest,
  attempts: number,
) => Objection | null

/** One call and its repetitions. */
export type AdaptedCall = {
  /** What the request has to be adapted to. */
  readonly quirks: ReadonlySet<string>
  /** The request was accepted, so what it was adapted to is remembered. */
  accepted: () => void
  /** Adds the quirk that this rejection reveals; false when changing the request would not help. */
  rejected: (failure: ProviderFailure) => boolean
}

/** Ids of requests and times differ between two rejections with the same reason. */
const reasonOf = ({ message }: ProviderFailure): string => message.replace(/[\da-f-]{6,}/gi, '')

/** What endpoints deviate in, as far as it was learned. */
export class QuirkMemory {
  /** By place: until when each quirk is remembered. */
  readonly #learned = new Map<string, Map<string, number>>()
  readonly #objectionOf: ObjectionOf
  readonly #clock: Pick<Clock, 'now'>

  constructor(objectionOf: ObjectionOf, clock: Pick<Clock, 'now'>) {
    this.#objectionOf = objectionOf
    this.#clock = clock
  }

  /** A call with what is known of its endpoint. */
  begin(request: ProviderRequest): AdaptedCall {
    const { endpoint, sessionKey } = request
    // Another key may belong to an account with other rights.
    const ofEndpoint = `${endpoint.baseUrl} ${endpoint.model} ${sha256(endpoint.apiKey ?? '').slice(0, DIGEST_CHARS)}`
    const ofSession = `${ofEndpoint} ${sessionKey ?? ''}`
    if (request.isConnectionTest) this.#forget(endpoint.baseUrl)
    const quirks = new Set([...this.#recall(ofEndpoint), ...this.#recall(ofSession)])
    let helpful: Objection[] = []
    let reason = ''
    let attempts = 0
    return {
      quirks,
      accepted: () => {
        for (const objection of helpful) {
          if (objection.scope === 'endpoint') this.#remember(ofEndpoint, objection)
          if (objection.scope === 'session' && sessionKey) this.#remember(ofSession, objection)
        }
      },
      rejected: failure => {
        const objection =
          attempts < MAX_REJECTIONS ? this.#objectionOf(failure, quirks, request, attempts) : null
        if (objection === null) return false
        attempts += 1
        // The server says the same again: what was changed last is not what it objects to.
        if (reasonOf(failure) === reason) helpful = helpful.filter(({ isPartial }) => isPartial)
        reason = reasonOf(failure)
        helpful.push(objection)
        quirks.add(objection.quirk)
        return true
      },
    }
  }

  #recall(place: string): string[] {
    const quirks = this.#learned.get(place)
    if (!quirks) return []
    for (const [quirk, until] of quirks) if (until <= this.#clock.now()) quirks.delete(quirk)
    return [...quirks.keys()]
  }

  #remember(place: string, { quirk, isHarmless }: Objection): void {
    const quirks = this.#learned.get(place) ?? new Map<string, number>()
    quirks.set(quirk, this.#clock.now() + (isHarmless ? HARMLESS_MS : REMEMBERED_MS))
    this.#learned.set(place, quirks)
    const [oldest] = this.#learned.keys()
    if (this.#learned.size > MAX_PLACES && oldest !== undefined) this.#learned.delete(oldest)
  }

  /** All models of the server: a test of the connection may use another one. */
  #forget(baseUrl: string): void {
    for (const place of this.#learned.keys())
      if (place.startsWith(`${baseUrl} `)) this.#learned.delete(place)
  }
}
