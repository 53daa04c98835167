/** Learns how an endpoint deviates from its wire format ("quirks") from rejected requests, and repeats them adapted. */
import { ProviderFailure } from '../failure.ts'
import type { ProviderDelta, ProviderRequest } from '../types.ts'

const MAX_QUIRKS = 8

/** Errors of servers that require earlier reasoning in the conversation. */
export const MISSING_REASONING =
  /(?:reasoning|thinking)[\s\S]{0,80}(?:passed back|is (?:missing|required)|must be (?:present|included|provided))|missing[\s\S]{0,40}(?:reasoning_content|thinking block)/i

/** `isPermanent`: applies to the endpoint, not only to this call. */
export type Objection<Q> = { quirk: Q; isPermanent: boolean }

export type Call<Q> = (quirks: ReadonlySet<Q>) => AsyncGenerator<ProviderDelta>

/** `objectionOf` maps a rejection to the next quirk to apply; null when that would not help. */
export const createQuirkLearner = <Q extends string>(
  objectionOf: (failure: ProviderFailure, known: ReadonlySet<Q>) => Objection<Q> | null,
) => {
  const learned = new Map<string, Set<Q>>()
  return async function* learning(
    { endpoint }: ProviderRequest,
    call: Call<Q>,
  ): AsyncGenerator<ProviderDelta> {
    const endpointKey = `${endpoint.baseUrl} ${endpoint.model}`
    const once = new Set<Q>()
    for (;;) {
      const quirks = new Set([...(learned.get(endpointKey) ?? []), ...once])
      let isFirst = true
      try {
        for await (const delta of call(quirks)) {
          isFirst = false
          yield delta
        }
        return
      } catch (error) {
        const mayLearn = isFirst && error instanceof ProviderFailure && isObjection(error)
        const objection = mayLearn && quirks.size < MAX_QUIRKS ? objectionOf(error, quirks) : null
        if (objection === null) throw error
        if (objection.isPermanent)
          learned.set(endpointKey, new Set([...(learned.get(endpointKey) ?? []), objection.quirk]))
        else once.add(objection.quirk)
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
