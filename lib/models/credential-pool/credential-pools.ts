/** Credential pools of all homes: chooses keys, tracks their cooldowns and saves their status to auth.json. */
import { sha256 } from '../../base/sha256.ts'
import { type Clock, toSeconds } from '../../base/clock.ts'
import { messageOf } from '../../errors.ts'
import type { FailureType } from '../../schema/failure-type.ts'
import { mutex } from '../../store/mutex.ts'
import { type Candidate, candidatesFor } from '../credentials.ts'
import { chooseKey, strategyOf } from './strategy.ts'
import { type KeyStatus, saveKeyStatus } from './auth-json.ts'
import { type ModelHome, type ModelSetup, COOLDOWN_MS, readSetup } from '../provider-config.ts'

export type PoolHome = ModelHome & { readonly dir: string }

export type CredentialPoolsOptions = {
  log: (line: string, extra?: Record<string, unknown>) => void
  redact: (text: string) => string
  clock: Pick<Clock, 'now'>
  random?: () => number
  /** Path of the `flock` program. */
  flock?: string
}

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
type Known = { cooldownUntilMs?: number; used: number }

/** A stable id for a key without one. */
const seedId = (text: string): string => sha256(text).slice(0, 6)

export type CredentialPools = ReturnType<typeof createCredentialPools>

export const createCredentialPools = ({
  log,
  redact,
  clock,
  random = Math.random,
  flock,
}: CredentialPoolsOptions) => {
  const known = new Map<string, Known>()
  const lastChosen = new Map<string, string>()
  const writing = new Set<Promise<void>>()
  const inTurn = mutex()

  const poolIdOf = (home: PoolHome, provider: string) => `${home.dir}\0${provider}`
  /** Contains the key, so that a replaced key starts without a status. */
  const nameOf = (home: PoolHome, provider: string, { id, key }: Candidate) =>
    `${poolIdOf(home, provider)}\0${id}\0${key}`

  const knownOf = (name: string): Known => {
    const found = known.get(name) ?? { used: 0 }
    known.set(name, found)
    return found
  }

  const withKnown =
    (home: PoolHome, provider: string) =>
    (candidate: Candidate): Candidate => {
      const beyond = known.get(nameOf(home, provider, candidate))
      if (!beyond) return candidate
      return {
        ...candidate,
        cooldownUntilMs: beyond.cooldownUntilMs ?? candidate.cooldownUntilMs,
        requests: candidate.requests + beyond.used,
      }
    }

  const candidates = (home: PoolHome, provider: string, url: string): Candidate[] =>
    candidatesFor(readSetup(home), provider, url).map(withKnown(home, provider))

  const choose = (home: PoolHome, provider: string, among: readonly Candidate[]) => {
    const poolId = poolIdOf(home, provider)
    const chosen = chooseKey(among, {
      strategy: strategyOf(home.settings(), provider),
      now: clock.now(),
      last: lastChosen.get(poolId),
      random,
    })
    if (!chosen) return undefined
    lastChosen.set(poolId, chosen.id)
    knownOf(nameOf(home, provider, chosen)).used++
    return chosen
  }

  /** Saves in the background and in order. No turn waits for the lock or fails because of it. */
  const write = (
    home: PoolHome,
    provider: string,
    candidate: Candidate,
    status: Omit<KeyStatus, 'used'>,
  ) => {
    const state = knownOf(nameOf(home, provider, candidate))
    const work = inTurn(home.dir, async () => {
      const { used } = state
      const variable = candidate.id.startsWith('env:') ? candidate.name : null
      const id = candidate.isPooled ? candidate.id : seedId(candidate.id)
      const noted = { provider, id, key: candidate.key, variable }
      const isWritten = await saveKeyStatus(
        home.dir,
        noted,
        { ...status, used },
        flock ? { flock } : {},
      )
      if (!isWritten) return
      // The file is authoritative now; other programs may change it.
      delete state.cooldownUntilMs
      state.used -= used
    }).catch((error: unknown) =>
      log('could not update key status in auth.json', { error: messageOf(error) }),
    )
    writing.add(work)
    void work.finally(() => writing.delete(work))
  }

  const find = (home: PoolHome, provider: string, id: string, url: string) =>
    candidates(home, provider, url).find(candidate => candidate.id === id)

  return {
    candidates,
    choose,
    /** Chooses by the home's strategy; for `resolveEndpoint`. */
    pickerFor:
      (home: PoolHome) => (_setup: ModelSetup, provider: string, found: readonly Candidate[]) =>
        choose(home, provider, found.map(withKnown(home, provider))),

    /** The provider rejected the key: it cools down until the given reset time. */
    markExhausted(
      home: PoolHome,
      provider: string,
      url: string,
      id: string,
      failure: KeyFailure,
    ): void {
      const candidate = find(home, provider, id, url)
      if (!candidate) return
      const now = clock.now()
      const resetMs = failure.retryAfterMs === undefined ? undefined : now + failure.retryAfterMs
      knownOf(nameOf(home, provider, candidate)).cooldownUntilMs = resetMs ?? now + COOLDOWN_MS
      write(home, provider, candidate, {
        status: 'exhausted',
        at: toSeconds(now),
        code: failure.status,
        reason: REASONS[failure.type] ?? failure.type,
        message: redact(failure.message).slice(0, MAX_MESSAGE_CHARS),
        resetAt: resetMs === undefined ? undefined : toSeconds(resetMs),
      })
    },

    /** The provider accepted the key: clears its cooldown. */
    markOk(home: PoolHome, provider: string, url: string, id: string): void {
      const candidate = find(home, provider, id, url)
      if (!candidate) return
      delete knownOf(nameOf(home, provider, candidate)).cooldownUntilMs
      write(home, provider, candidate, { status: 'ok', at: toSeconds(clock.now()) })
    },

    /** Resolves when all pending writes have finished or failed. */
    async flush(): Promise<void> {
      while (writing.size > 0) await Promise.all([...writing])
    },
  }
}
