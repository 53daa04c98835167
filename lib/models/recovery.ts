/** Recovery from provider failures within a turn: rotate to another key of the provider, then to a fallback model. */
import type { ProviderFailure } from '../agent/failure.ts'
import type { ModelEndpoint, Recovery, TurnRecovery } from '../agent/types.ts'
import { type Sentence, sentence } from '../base/sentences.ts'
import type { FailureType } from '../schema/failure-type.ts'
import type { Candidate } from './credentials.ts'
import { endpointKey } from './endpoint-key.ts'
import { tryEndpoint, type EndpointOf, readFallbacks } from './fallbacks.ts'
import { displayName } from './providers.ts'
import type { PoolHome, CredentialPools } from './credential-pool/credential-pools.ts'

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

/** Rotates keys and chooses fallbacks in one turn. */
export class ModelRecovery implements TurnRecovery {
  readonly #pools: CredentialPools
  readonly #home: PoolHome
  readonly #endpointOf: EndpointOf
  readonly #lines = new WeakMap<ModelEndpoint, Tried>()

  constructor(pools: CredentialPools, home: PoolHome, endpointOf: EndpointOf) {
    this.#pools = pools
    this.#home = home
    this.#endpointOf = endpointOf
  }

  /** Including the failed endpoint. */
  #triedBy(failed: ModelEndpoint): Tried {
    const line = this.#lines.get(failed)
    return {
      keys: new Set([...(line?.keys ?? []), secretKey(failed.provider, failed.apiKey)]),
      models: new Set([...(line?.models ?? []), modelKey(failed)]),
    }
  }

  #otherKeys(failed: ModelEndpoint, { keys }: Tried): Candidate[] {
    if (failed.apiKey === null) return []
    const now = this.#home.clock.now()
    return this.#pools.candidates(this.#home, failed.provider, failed.baseUrl).filter(
      ({ key, id, cooldownUntilMs }) =>
        cooldownUntilMs <= now &&
        !keys.has(secretKey(failed.provider, key)) &&
        // The same sign-in: its token was renewed before it was rejected.
        id !== failed.signIn?.id,
    )
  }

  #otherModel({ models }: Tried, isFinal: boolean): ModelEndpoint | null {
    for (const fallback of readFallbacks(this.#home)) {
      const endpoint = tryEndpoint(fallback, this.#endpointOf)
      if (!endpoint || models.has(modelKey(endpoint))) continue
      // Resolve again with the pool's strategy, which counts the use.
      return isFinal
        ? tryEndpoint(fallback, this.#endpointOf, this.#pools.pickerFor(this.#home))
        : endpoint
    }
    return null
  }

  #rotated(failed: ModelEndpoint, tried: Tried): ModelEndpoint | null {
    const { credential: _, signIn: __, ...plain } = failed
    const candidate = this.#pools.choose(
      this.#home,
      failed.provider,
      this.#otherKeys(failed, tried),
    )
    const { provider, baseUrl: url } = failed
    return candidate
      ? {
          ...plain,
          ...endpointKey(candidate, { dir: this.#home.dir, provider, url, isOneOfMany: true }),
        }
      : null
  }

  #next(type: FailureType, failed: ModelEndpoint, tried: Tried): Recovery | null {
    const sameModel = KEY_FAILURES.has(type) ? this.#rotated(failed, tried) : null
    if (sameModel) {
      const message = sentence('turn.other_key', {
        name: displayName(failed.provider),
        reason: WHY_KEY[type] ?? sentence('why.failed'),
      })
      return { endpoint: sameModel, kind: 'rotated', message }
    }
    const endpoint = this.#otherModel(tried, true)
    if (!endpoint) return null
    const message = sentence('turn.other_model', {
      model: nameOf(failed),
      reason: WHY[type] ?? sentence('why.failed'),
      other: nameOf(endpoint),
    })
    return { endpoint, kind: 'fallback', message }
  }

  async recover(failure: ProviderFailure, failed: ModelEndpoint): Promise<Recovery | null> {
    const { credential, provider, baseUrl } = failed
    if (NOT_RECOVERED.has(failure.type)) return null
    if (credential && KEY_FAILURES.has(failure.type))
      this.#pools.markExhausted(this.#home, provider, baseUrl, credential.id, failure)
    const tried = this.#triedBy(failed)
    const recovery = this.#next(failure.type, failed, tried)
    if (recovery) this.#lines.set(recovery.endpoint, tried)
    return recovery
  }

  attemptLimit(failure: ProviderFailure, endpoint: ModelEndpoint): number | undefined {
    const tried = this.#triedBy(endpoint)
    const hasKey = KEY_FAILURES.has(failure.type) && this.#otherKeys(endpoint, tried).length > 0
    if (!hasKey && !this.#otherModel(tried, false)) return undefined
    if (failure.type !== 'rate_limit') return TRANSIENT_ATTEMPTS
    return (failure.retryAfterMs ?? 0) > MAX_RETRY_AFTER_MS ? 1 : RATE_LIMIT_ATTEMPTS
  }

  onEndpointSuccess({ credential, provider, baseUrl }: ModelEndpoint): void {
    if (credential) this.#pools.markOk(this.#home, provider, baseUrl, credential.id)
  }
}
