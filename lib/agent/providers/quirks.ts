/** Learns how an endpoint deviates from its wire format ("quirks") from rejected requests, and repeats them adapted. */
import { ProviderFailure } from '../failure.ts'
import type { ProviderDelta, ProviderRequest } from '../types.ts'

/** Rejections of one call that are learned from. */
const MAX_REJECTIONS = 8

/** Errors of servers that require earlier reasoning in the conversation. */
export const MISSING_REASONING =
  /(?:reasoning|thinking)[\s\S]{0,80}(?:passed back|is (?:missing|required)|must be (?:present|included|provided))|missing[\s\S]{0,40}(?:reasoning_content|thinking block)/i

/** `scope`: what the quirk applies to, as long as the process runs. */
export type Objection<Q> = { quirk: Q; scope: 'call' | 'session' | 'endpoint' }

export type Call<Q> = (quirks: ReadonlySet<Q>) => AsyncGenerator<ProviderDelta>

/** Sessions with quirks of their own; the oldest are forgotten. */
const MAX_SESSIONS = 1_000

/** Maps a rejection to the next quirk to apply; null when that would not help. `attempts`: earlier rejections of the call. */
export type ObjectionOf<Q> = (
  failure: ProviderFailure,
  known: ReadonlySet<Q>,
  request: ProviderRequest,
  attempts: number,
) => Objection<Q> | null

export const createQuirkLearner = <Q extends string>(objectionOf: ObjectionOf<Q>) => {
  const ofEndpoints = new Map<string, Set<Q>>()
  const ofSessions = new Map<string, Set<Q>>()

  const learn = (learned: Map<string, Set<Q>>, key: string, quirk: Q): void => {
    learned.set(key, new Set([...(learned.get(key) ?? []), quirk]))
    const [oldest] = ofSessions.keys()
    if (ofSessions.size > MAX_SESSIONS && oldest !== undefined) ofSessions.delete(oldest)
  }

  return async function* learning(
    request: ProviderRequest,
    call: Call<Q>,
  ): AsyncGenerator<ProviderDelta> {
    const { endpoint, sessionKey } = request
    const endpointKey = `${endpoint.baseUrl} ${endpoint.model}`
    const inSession = `${sessionKey} ${endpointKey}`
    const once = new Set<Q>()
    for (let attempts = 0; ; attempts++) {
      const known = [ofEndpoints.get(endpointKey), sessionKey && ofSessions.get(inSession), once]
      const quirks = new Set(known.flatMap(set => [...(set || [])]))
      let isFirst = true
      try {
        for await (const delta of call(quirks)) {
          isFirst = false
          yield delta
        }
        return
      } catch (error) {
        const mayLearn = isFirst && error instanceof ProviderFailure && attempts < MAX_REJECTIONS
        const objection = mayLearn ? objectionOf(error, quirks, request, attempts) : null
        if (objection === null) throw error
        const { quirk, scope } = objection
        if (scope === 'endpoint') learn(ofEndpoints, endpointKey, quirk)
        else if (scope === 'session' && sessionKey) learn(ofSessions, inSession, quirk)
        else once.add(quirk)
      }
    }
  }
}

/** Statuses of requests that contain something unsupported. */
export const isObjection = ({ status, message }: ProviderFailure) =>
  status === 400 ||
  status === 422 ||
  status === 501 ||
  // Aggregators use 404 when no provider of the model supports tools.
  (status === 404 && /tool use|support tools/i.test(message))
