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
/** How long one is remembered that only writes the same in another way. */
const HARMLESS_MS = 24 * 3_600_000

const DIGEST_CHARS = 12

/** Endpoints and sessions with quirks of their own; the oldest are forgotten. */
const MAX_PLACES = 1_000

/** How an endpoint deviates from its format. What a format does not have means nothing there. */
export type Quirk =
  // Tools.
  | 'no tools'
  | 'tools refused'
  | 'no tool_choice'
  | 'no parallel'
  | 'calls as text'
  | `tools ${number}`
  /** An MCP tool that is left out for its description; `mcp_`: all of them. */
  | `rejected tool ${string}`
  // Reasoning: how much, its switch and its fields.
  | 'no effort'
  | 'lower effort'
  | `efforts ${string}`
  | 'no thinking'
  | 'thinking off'
  | 'always thinks'
  | 'adaptive thinking'
  | 'budget thinking'
  | 'no display'
  | 'no summary'
  | 'no levels'
  | 'no template'
  | 'no thinking fields'
  // Reasoning of earlier messages.
  | 'no reasoning state'
  | 'drop changed thinking'
  | 'blank thoughts'
  | 'blank signatures'
  | 'no details'
  | 'no thoughts'
  | 'no encrypted'
  | 'no phase'
  | 'earlier reasoning'
  | 'no earlier reasoning'
  // Images: none, none in tool results, not this file, at most so many, at most so many bytes.
  | 'no images'
  | 'images apart'
  | `without ${string}`
  | `images ${number}`
  | `image bytes ${number}`
  // The rest of a request.
  | 'no answer form'
  | `at most ${number}`
  | 'no limit'
  | 'old max_tokens'
  | 'new max_tokens'
  | 'no stream'
  | 'no stream_options'
  | 'no cache'
  | 'no cache key'
  | 'no beta'
  | 'no developer'
  | 'short ids'
  | 'strict turns'

export type Quirks = ReadonlySet<Quirk>

/** The number in quirks such as `tools 64`; the smallest of several, infinite without one. `name` ends with a space. */
export const smallestLimit = (quirks: Quirks, name: string): number =>
  Math.min(
    Number.POSITIVE_INFINITY,
    ...[...quirks].flatMap(one => (one.startsWith(name) ? [Number(one.slice(name.length))] : [])),
  )

export type Objection = {
  quirk: Quirk
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
  quirks: Quirks,
  request: ProviderRequest,
  attempts: number,
) => Objection | null

/** One call and its repetitions. */
export type AdaptedCall = {
  /** What the request has to be adapted to. */
  readonly quirks: Quirks
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
  readonly #learned = new Map<string, Map<Quirk, number>>()
  readonly #objectionOf: ObjectionOf
  readonly #clock: Clock

  constructor(objectionOf: ObjectionOf, clock: Clock) {
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

  #recall(place: string): Quirk[] {
    const quirks = this.#learned.get(place)
    if (!quirks) return []
    for (const [quirk, until] of quirks) if (until <= this.#clock.now()) quirks.delete(quirk)
    return [...quirks.keys()]
  }

  #remember(place: string, { quirk, isHarmless }: Objection): void {
    const quirks = this.#learned.get(place) ?? new Map<Quirk, number>()
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
