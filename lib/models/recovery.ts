/** What a turn does when its model cannot answer: another key of the same provider, then the next fallback (decision 31). */
import type { AgentRequest, ModelEndpoint, Recovery } from '../agent/types.ts'
import type { FailureType } from '../schema/event.ts'
import type { Candidate } from './credentials.ts'
import { endpointKey } from './endpoint-key.ts'
import { tryEndpoint, type EndpointOf, readFallbacks } from './fallbacks.ts'
import { displayName } from './providers.ts'
import type { PoolHome, CredentialPools } from './credential-pool/credential-pools.ts'

export type RecoveryOptions = { pools: CredentialPools; home: PoolHome; endpointOf: EndpointOf }

/** One turn's; nothing of it outlives the turn. */
export type TurnRecovery = Required<
  Pick<AgentRequest, 'recover' | 'attemptLimit' | 'onEndpointSuccess'>
>

/** A provider that wants to be left alone for longer is not waited for while somebody else can answer. */
const MAX_RETRY_AFTER_MS = 10_000
/** The same key once more, then somebody else. */
const RATE_LIMIT_ATTEMPTS = 2
/** What is overloaded or broke off often works again at once. */
const TRANSIENT_ATTEMPTS = 3

/** The key's fault, so that another one of the same provider may do better. */
const KEY_FAILURES: ReadonlySet<FailureType> = new Set([
  'rate_limit',
  'quota_exhausted',
  'auth_mismatch',
])

/** Who stands in for it would be no better off: the conversation is too long, or nobody wants an answer any more. */
const NOT_RECOVERED: ReadonlySet<string> = new Set([
  'context_overflow',
  'interrupted',
  'budget_reached',
])

const WHY: Partial<Record<FailureType, string>> = {
  rate_limit: 'is rate limited',
  quota_exhausted: 'has no credit left',
  auth_mismatch: 'did not accept the key',
  model_not_found: 'is not offered there',
  network: 'cannot be reached',
  no_response: 'answered nothing',
}

const WHY_KEY: Partial<Record<FailureType, string>> = {
  rate_limit: 'is rate limited',
  quota_exhausted: 'has no credit left',
  auth_mismatch: 'was not accepted',
}

const nameOf = ({ provider, model }: ModelEndpoint) => `${provider}/${model}`

/** What an endpoint's line of predecessors has used up: several runs of one turn go their own ways. */
type Tried = { keys: ReadonlySet<string>; models: ReadonlySet<string> }

const modelKey = ({ provider, model, baseUrl }: ModelEndpoint) =>
  `${provider}\0${model}\0${baseUrl}`
const secretKey = (provider: string, key: string | null) => `${provider}\0${key ?? ''}`

export const createRecovery = ({ pools, home, endpointOf }: RecoveryOptions): TurnRecovery => {
  const lines = new WeakMap<ModelEndpoint, Tried>()

  /** With the failed one itself. */
  const triedBy = (failed: ModelEndpoint): Tried => {
    const line = lines.get(failed)
    return {
      keys: new Set([...(line?.keys ?? []), secretKey(failed.provider, failed.apiKey)]),
      models: new Set([...(line?.models ?? []), modelKey(failed)]),
    }
  }

  const otherKeys = (failed: ModelEndpoint, { keys }: Tried): Candidate[] => {
    if (failed.apiKey === null) return []
    const now = Date.now()
    return pools
      .candidates(home, failed.provider, failed.baseUrl)
      .filter(
        ({ key, cooldownUntilMs }) =>
          cooldownUntilMs <= now && !keys.has(secretKey(failed.provider, key)),
      )
  }

  const otherModel = ({ models }: Tried, isFinal: boolean): ModelEndpoint | null => {
    for (const fallback of readFallbacks(home)) {
      const found = tryEndpoint(fallback, endpointOf)
      if (!found || models.has(modelKey(found))) continue
      // Only now does its strategy count a use.
      return isFinal ? tryEndpoint(fallback, endpointOf, pools.pickerFor(home)) : found
    }
    return null
  }

  const rotated = (failed: ModelEndpoint, tried: Tried): ModelEndpoint | null => {
    const { credential: _, ...plain } = failed
    const chosen = pools.choose(home, failed.provider, otherKeys(failed, tried))
    return chosen
      ? { ...plain, ...endpointKey(chosen, failed.provider, failed.baseUrl, true) }
      : null
  }

  const next = (type: FailureType, failed: ModelEndpoint, tried: Tried): Recovery | null => {
    const sameModel = KEY_FAILURES.has(type) ? rotated(failed, tried) : null
    if (sameModel) {
      const message = `A key of ${displayName(failed.provider)} ${WHY_KEY[type]}; this turn goes on with another one.`
      return { endpoint: sameModel, kind: 'rotated', message }
    }
    const endpoint = otherModel(tried, true)
    if (!endpoint) return null
    const why = WHY[type] ?? 'could not answer'
    const message = `${nameOf(failed)} ${why}; this turn goes on with ${nameOf(endpoint)}.`
    return { endpoint, kind: 'fallback', message }
  }

  return {
    async recover(failure, failed) {
      const { credential, provider, baseUrl } = failed
      if (NOT_RECOVERED.has(failure.type)) return null
      if (credential && KEY_FAILURES.has(failure.type))
        pools.markExhausted(home, provider, baseUrl, credential.id, failure)
      const tried = triedBy(failed)
      const recovery = next(failure.type, failed, tried)
      if (recovery) lines.set(recovery.endpoint, tried)
      return recovery
    },

    attemptLimit(failure, endpoint) {
      const tried = triedBy(endpoint)
      const hasKey = KEY_FAILURES.has(failure.type) && otherKeys(endpoint, tried).length > 0
      if (!hasKey && !otherModel(tried, false)) return undefined
      if (failure.type !== 'rate_limit') return TRANSIENT_ATTEMPTS
      return (failure.retryAfterMs ?? 0) > MAX_RETRY_AFTER_MS ? 1 : RATE_LIMIT_ATTEMPTS
    },

    onEndpointSuccess({ credential, provider, baseUrl }) {
      if (credential) pools.markOk(home, provider, baseUrl, credential.id)
    },
  }
}
