/** Leaves out of a request what an endpoint objected to, so that it is asked once and not before every call. */
import { ProviderFailure } from '../failure.ts'
import type { ProviderDelta, ProviderRequest } from '../types.ts'

const MAX_QUIRKS = 8

/** Thinking models whose server checks that earlier thoughts are in the conversation. */
export const MISSING_REASONING =
  /(?:reasoning|thinking)[\s\S]{0,80}(?:passed back|is (?:missing|required)|must be (?:present|included|provided))|missing[\s\S]{0,40}(?:reasoning_content|thinking block)/i

/** `isPermanent`: it is about the endpoint, not about this one conversation. */
export type Objection<Q> = { quirk: Q; isPermanent: boolean }

export type Call<Q> = (quirks: ReadonlySet<Q>) => AsyncGenerator<ProviderDelta>

/** `objectionOf` says what to leave out next after a refused request; null when that would not help. */
export const createQuirkLearner = <Q extends string>(
  objectionOf: (failure: ProviderFailure, known: ReadonlySet<Q>) => Objection<Q> | null,
) => {
  const learned = new Map<string, Set<Q>>()
  return async function* learning(
    { endpoint }: ProviderRequest,
    call: Call<Q>,
  ): AsyncGenerator<ProviderDelta> {
    const place = `${endpoint.baseUrl} ${endpoint.model}`
    const once = new Set<Q>()
    for (;;) {
      const quirks = new Set([...(learned.get(place) ?? []), ...once])
      let isSilent = true
      try {
        for await (const delta of call(quirks)) {
          isSilent = false
          yield delta
        }
        return
      } catch (error) {
        const mayLearn = isSilent && error instanceof ProviderFailure && isObjection(error)
        const objection = mayLearn && quirks.size < MAX_QUIRKS ? objectionOf(error, quirks) : null
        if (objection === null) throw error
        if (objection.isPermanent)
          learned.set(place, new Set([...(learned.get(place) ?? []), objection.quirk]))
        else once.add(objection.quirk)
      }
    }
  }
}

/** Statuses with which servers say that they do not understand a part of the request. */
const isObjection = ({ status, message }: ProviderFailure) =>
  status === 400 ||
  status === 422 ||
  status === 501 ||
  // A router that found nobody who could: not the model is unknown.
  (status === 404 && /tool use|support tools/i.test(message))
