/** Chooses the next key of a pool by the home's strategy. Pure. */
import { toProviderId } from '../provider-ids.ts'
import { type Candidate, firstAvailable } from '../credentials.ts'
import type { ProfileConfig } from '../../profiles/config.ts'

export type Strategy = ProfileConfig['credential_pool_strategies'][string]

/** The provider may be written under any alias. */
export const strategyOf = (
  { credential_pool_strategies: strategies }: Pick<ProfileConfig, 'credential_pool_strategies'>,
  provider: string,
): Strategy =>
  Object.entries(strategies).find(([id]) => toProviderId(id) === provider)?.[1] ?? 'fill_first'

export type Choice = {
  strategy: Strategy
  /** Milliseconds since 1970. */
  now: number
  /** The id chosen last. */
  last: string | undefined
  random: () => number
}

type KeyUsage = Pick<Candidate, 'id' | 'cooldownUntilMs' | 'requests'>

/** Chooses among usable keys. If all are cooling down, the one whose cooldown ends first. */
export const chooseKey = <C extends KeyUsage>(
  candidates: readonly C[],
  { strategy, now, last, random }: Choice,
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
