/** Credential pools of all homes: chooses keys, tracks their cooldowns and saves their status to auth.json. */
import { sha256 } from '../../base/sha256.ts'
import { type Clock, toSeconds } from '../../base/clock.ts'
import { redact } from '../../base/redact/redact.ts'
import { messageOf } from '../../errors.ts'
import type { FailureType } from '../../schema/failure-type.ts'
import { Mutex } from '../../store/mutex.ts'
import { type Candidate, candidatesFor, firstAvailable } from '../credentials.ts'
import { type KeyStatus, saveKeyStatus } from './auth-json.ts'
import type { PickKey } from '../endpoint-key.ts'
import { type ModelHome, COOLDOWN_MS, readSetup } from '../provider-config.ts'
import { toProviderId } from '../provider-ids.ts'
import type { ProfileConfig } from '../../profiles/config.ts'

type Strategy = ProfileConfig['credential_pool_strategies'][string]

/** The provider may be written under any alias. */
export const strategyOf = (
  { credential_pool_strategies: strategies }: ProfileConfig,
  provider: string,
): Strategy =>
  Object.entries(strategies).find(([id]) => toProviderId(id) === provider)?.[1] ?? 'fill_first'

/** Chooses among usable keys. If all are cooling down, the one whose cooldown ends first. `last`: the id chosen last. */
export const chooseKey = <C extends { id: string; cooldownUntilMs: number; requests: number }>(
  candidates: readonly C[],
  strategy: Strategy,
  now: number,
  last?: string,
  random: () => number = Math.random,
): C | undefined => {
  const awake = candidates.filter(({ cooldownUntilMs }) => cooldownUntilMs <= now)
  if (awake.length === 0) return firstAvailable(candidates, now)
  switch (strategy) {
    case 'round_robin': {
      const at = candidates.findIndex(({ id }) => id === last)
      return [...candidates.slice(at + 1), ...candidates].find(one => awake.includes(one))
    }
    case 'random':
      return awake[Math.floor(random() * awake.length)]
    case 'least_used':
      return awake.reduce((best, one) => (one.requests < best.requests ? one : best))
    case 'fill_first':
      return awake[0]
  }
}

export type PoolHome = ModelHome & { readonly dir: string }

/** Why a provider rejected a key. */
export type KeyFailure = {
  type: FailureType
  message: string
  status?: number | undefined
  retryAfterMs?: number | undefined
}

/** The command line's names of reasons. */
const REASONS: Partial<Record<FailureType, string>> = {
  rate_limit: 'rate_limit',
  quota_exhausted: 'billing',
  auth_mismatch: 'auth',
}

const MAX_MESSAGE_CHARS = 500

/** Status not in auth.json: until it is saved, or permanently for keys stored elsewhere. */
type KeyUse = { cooldownUntilMs?: number; calls: number }

/** A stable id for a key without one. */
const seedId = (text: string): string => sha256(text).slice(0, 6)

export class CredentialPools {
  readonly #log: (line: string, extra?: Record<string, unknown>) => void
  readonly #clock: Clock
  readonly #uses = new Map<string, KeyUse>()
  readonly #lastChosen = new Map<string, string>()
  readonly #writing = new Set<Promise<void>>()
  readonly #mutex = new Mutex()

  constructor(log: (line: string, extra?: Record<string, unknown>) => void, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  #poolIdOf(home: PoolHome, provider: string) {
    return `${home.dir}\0${provider}`
  }

  /** Contains the key, so that a replaced key starts without a status. */
  #nameOf(home: PoolHome, provider: string, { id, key }: Candidate) {
    return `${this.#poolIdOf(home, provider)}\0${id}\0${key}`
  }

  #useOf(name: string): KeyUse {
    const use = this.#uses.get(name) ?? { calls: 0 }
    this.#uses.set(name, use)
    return use
  }

  #withUse(home: PoolHome, provider: string) {
    return (candidate: Candidate): Candidate => {
      const beyond = this.#uses.get(this.#nameOf(home, provider, candidate))
      if (!beyond) return candidate
      return {
        ...candidate,
        cooldownUntilMs: beyond.cooldownUntilMs ?? candidate.cooldownUntilMs,
        requests: candidate.requests + beyond.calls,
      }
    }
  }

  candidates(home: PoolHome, provider: string, url: string): Candidate[] {
    return candidatesFor(readSetup(home), provider, url).map(this.#withUse(home, provider))
  }

  choose(home: PoolHome, provider: string, among: readonly Candidate[]): Candidate | undefined {
    const poolId = this.#poolIdOf(home, provider)
    const strategy = strategyOf(home.config(), provider)
    const last = this.#lastChosen.get(poolId)
    const candidate = chooseKey(among, strategy, this.#clock.now(), last)
    if (!candidate) return undefined
    this.#lastChosen.set(poolId, candidate.id)
    this.#useOf(this.#nameOf(home, provider, candidate)).calls++
    return candidate
  }

  /** Saves in the background and in order. No turn waits for the lock or fails because of it. */
  #write(home: PoolHome, provider: string, candidate: Candidate, status: Omit<KeyStatus, 'calls'>) {
    const state = this.#useOf(this.#nameOf(home, provider, candidate))
    const work = this.#mutex
      .run(home.dir, async () => {
        const { calls } = state
        const variable = candidate.id.startsWith('env:') ? candidate.name : null
        const id = candidate.isPooled ? candidate.id : seedId(candidate.id)
        const pooledKey = { provider, id, key: candidate.key, variable }
        const isWritten = await saveKeyStatus(home.dir, pooledKey, { ...status, calls })
        if (!isWritten) return
        // The file is authoritative now; other programs may change it.
        delete state.cooldownUntilMs
        state.calls -= calls
      })
      .catch((error: unknown) =>
        this.#log('could not update key status in auth.json', { error: messageOf(error) }),
      )
    this.#writing.add(work)
    void work.finally(() => this.#writing.delete(work))
  }

  #find(home: PoolHome, provider: string, id: string, url: string) {
    return this.candidates(home, provider, url).find(candidate => candidate.id === id)
  }

  /** Chooses by the home's strategy; for `resolveEndpoint`. */
  pickerFor(home: PoolHome): PickKey {
    return (_setup, provider, credentials) =>
      this.choose(home, provider, credentials.map(this.#withUse(home, provider)))
  }

  /** The provider rejected the key: it cools down until the given reset time. */
  markExhausted(
    home: PoolHome,
    provider: string,
    url: string,
    id: string,
    failure: KeyFailure,
  ): void {
    const candidate = this.#find(home, provider, id, url)
    if (!candidate) return
    const now = this.#clock.now()
    const resetMs = failure.retryAfterMs === undefined ? undefined : now + failure.retryAfterMs
    this.#useOf(this.#nameOf(home, provider, candidate)).cooldownUntilMs =
      resetMs ?? now + COOLDOWN_MS
    this.#write(home, provider, candidate, {
      status: 'exhausted',
      at: toSeconds(now),
      code: failure.status,
      reason: REASONS[failure.type] ?? failure.type,
      message: redact(failure.message).slice(0, MAX_MESSAGE_CHARS),
      resetAt: resetMs === undefined ? undefined : toSeconds(resetMs),
    })
  }

  /** The provider accepted the key: clears its cooldown. */
  markOk(home: PoolHome, provider: string, url: string, id: string): void {
    const candidate = this.#find(home, provider, id, url)
    if (!candidate) return
    delete this.#useOf(this.#nameOf(home, provider, candidate)).cooldownUntilMs
    this.#write(home, provider, candidate, { status: 'ok', at: toSeconds(this.#clock.now()) })
  }

  /** Resolves when all pending writes have finished or failed. */
  async flush(): Promise<void> {
    while (this.#writing.size > 0) await Promise.all([...this.#writing])
  }
}
