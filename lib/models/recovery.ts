/** Recovery from provider failures within a turn: rotate to another key of the provider, then to a fallback model. */
import { type Sentence, sentence } from '../base/sentences.ts'
import type { AgentRequest, ModelEndpoint, Recovery } from '../agent/types.ts'
import type { FailureType } from '../schema/failure-type.ts'
import type { Candidate } from './credentials.ts'
import { endpointKey } from './endpoint-key.ts'
import { tryEndpoint, type EndpointOf, readFallbacks } from './fallbacks.ts'
import { displayName } from './providers.ts'
import type { PoolHome, CredentialPools } from './credential-pool/credential-pools.ts'

export type RecoveryOptions = { pools: CredentialPools; home: PoolHome; endpointOf: EndpointOf }

/** State of one turn. */
export type TurnRecovery = Required<
  Pick<AgentRequest, 'recover' | 'attemptLimit' | 'onEndpointSuccess'>
>

/** A longer Retry-After is not waited for while another key or model can answer. */
const MAX_RETRY_AFTER_MS = 10_000
/** Attempts after a rate limit before rotating. */
const RATE_LIMIT_ATTEMPTS = 2
/** Attempts after transient failures, which often succeed immediately. */
const TRANSIENT_ATTEMPTS = 3

/** Failures that depend on the key, so another key of the provider may work. */
const KEY_FAILURES: ReadonlySet<FailureType> = new Set([
  'rate_limit',
  'quota_exhausted',
  'auth_mismatch',
])

/** Failures that no other key or model can fix. */
const NOT_RECOVERED: ReadonlySet<string> = new Set([
  'context_overflow',
  'interrupted',
  'budget_reached',
])

const WHY: Partial<Record<FailureType, Sentence>> = {
  rate_limit: sentence('why.rate_limit'),
  quota_exhausted: sentence('why.no_credit'),
  auth_mismatch: sentence('why.rejected_key'),
  model_not_found: sentence('why.unavailable'),
  network: sentence('why.unreachable'),
  no_response: sentence('why.nothing'),
  content_refused: sentence('why.refused'),
  blocked: sentence('why.refused'),
  wrong_address: sentence('why.unreachable'),
  not_ready: sentence('why.not_ready'),
  model_memory: sentence('why.not_ready'),
}

const WHY_KEY: Partial<Record<FailureType, Sentence>> = {
  rate_limit: sentence('why.rate_limit'),
  quota_exhausted: sentence('why.no_credit'),
  auth_mismatch: sentence('why.key_was_rejected'),
}

const nameOf = ({ provider, model }: ModelEndpoint) => `${provider}/${model}`

/** Keys and models already tried on the way to an endpoint. Tracked per endpoint, because a turn can have several runs. */
type Tried = { keys: ReadonlySet<string>; models: ReadonlySet<string> }

const modelKey = ({ provider, model, baseUrl }: ModelEndpoint) =>
  `${provider}\0${model}\0${baseUrl}`
const secretKey = (provider: string, key: string | null) => `${provider}\0${key ?? ''}`

export const createRecovery = ({ pools, home, endpointOf }: RecoveryOptions): TurnRecovery => {
  const lines = new WeakMap<ModelEndpoint, Tried>()

  /** Including the failed endpoint. */
  const triedBy = (failed: ModelEndpoint): Tried => {
    const line = lines.get(failed)
    return {
      keys: new Set([...(line?.keys ?? []), secretKey(failed.provider, failed.apiKey)]),
      models: new Set([...(line?.models ?? []), modelKey(failed)]),
    }
  }

  const otherKeys = (failed: ModelEndpoint, { keys }: Tried): Candidate[] => {
    if (failed.apiKey === null) return []
    const now = home.clock.now()
    return pools.candidates(home, failed.provider, failed.baseUrl).filter(
      ({ key, id, cooldownUntilMs }) =>
        cooldownUntilMs <= now &&
        !keys.has(secretKey(failed.provider, key)) &&
        // The same sign-in: its token was renewed before it was rejected.
        id !== failed.signIn?.id,
    )
  }

  const otherModel = ({ models }: Tried, isFinal: boolean): ModelEndpoint | null => {
    for (const fallback of readFallbacks(home)) {
      const found = tryEndpoint(fallback, endpointOf)
      if (!found || models.has(modelKey(found))) continue
      // Resolve again with the pool's strategy, which counts the use.
      return isFinal ? tryEndpoint(fallback, endpointOf, pools.pickerFor(home)) : found
    }
    return null
  }

  const rotated = (failed: ModelEndpoint, tried: Tried): ModelEndpoint | null => {
    const { credential: _, signIn: __, ...plain } = failed
    const chosen = pools.choose(home, failed.provider, otherKeys(failed, tried))
    const { provider, baseUrl: url } = failed
    return chosen
      ? { ...plain, ...endpointKey(chosen, { dir: home.dir, provider, url, isOneOfMany: true }) }
      : null
  }

  const next = (type: FailureType, failed: ModelEndpoint, tried: Tried): Recovery | null => {
    const sameModel = KEY_FAILURES.has(type) ? rotated(failed, tried) : null
    if (sameModel) {
      const message = sentence('turn.other_key', {
        name: displayName(failed.provider),
        reason: WHY_KEY[type] ?? sentence('why.failed'),
      })
      return { endpoint: sameModel, kind: 'rotated', message }
    }
    const endpoint = otherModel(tried, true)
    if (!endpoint) return null
    const message = sentence('turn.other_model', {
      model: nameOf(failed),
      reason: WHY[type] ?? sentence('why.failed'),
      other: nameOf(endpoint),
    })
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
