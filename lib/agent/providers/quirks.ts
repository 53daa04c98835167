/** Learns how an endpoint deviates from its wire format ("quirks") from rejected requests, and repeats them adapted. */
import { ProviderFailure } from '../failure.ts'
import type { ProviderDelta, ProviderRequest } from '../types.ts'

const MAX_QUIRKS = 8

/** Errors of servers that require earlier reasoning in the conversation. */
export const MISSING_REASONING =
  /(?:reasoning|thinking)[\s\S]{0,80}(?:passed back|is (?:missing|required)|must be (?:present|included|provided))|missing[\s\S]{0,40}(?:reasoning_content|thinking block)/i

/** `scope`: what the quirk applies to, as long as the process runs. */
export type Objection<Q> = { quirk: Q; scope: 'call' | 'session' | 'endpoint' }

export type Call<Q> = (quirks: ReadonlySet<Q>) => AsyncGenerator<ProviderDelta>

/** Sessions with quirks of their own; the oldest are forgotten. */
const MAX_SESSIONS = 1_000

/** `objectionOf` maps a rejection to the next quirk to apply; null when that would not help. */
export const createQuirkLearner = <Q extends string>(
  objectionOf: (
    failure: ProviderFailure,
    known: ReadonlySet<Q>,
    request: ProviderRequest,
  ) => Objection<Q> | null,
) => {
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
    for (;;) {
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
        const mayLearn = isFirst && error instanceof ProviderFailure && isObjection(error)
        const objection =
          mayLearn && quirks.size < MAX_QUIRKS ? objectionOf(error, quirks, request) : null
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
const isObjection = ({ status, message }: ProviderFailure) =>
  status === 400 ||
  status === 422 ||
  status === 501 ||
  // Aggregators use 404 when no provider of the model supports tools.
  (status === 404 && /tool use|support tools/i.test(message))
