/** Which of several keys is used next: the home's strategy over what is known of each (agent-home §3.4). Pure. */
import { isObject } from '../../base/json.ts'
import { toProviderId } from '../provider-ids.ts'
import { type Candidate, firstAvailable } from '../credentials.ts'

const STRATEGIES = ['fill_first', 'round_robin', 'random', 'least_used'] as const
export type Strategy = (typeof STRATEGIES)[number]

/** `credential_pool_strategies` of config.yaml; what it does not know is the first. */
export const strategyOf = (
  config: Readonly<Record<string, unknown>>,
  provider: string,
): Strategy => {
  const given = config.credential_pool_strategies
  if (!isObject(given)) return 'fill_first'
  const [, said] = Object.entries(given).find(([id]) => toProviderId(id) === provider) ?? []
  return STRATEGIES.find(strategy => strategy === said) ?? 'fill_first'
}

export type Choice = {
  strategy: Strategy
  nowMs: number
  /** The id that was chosen last. */
  last: string | undefined
  random: () => number
}

type KeyUsage = Pick<Candidate, 'id' | 'cooldownUntilMs' | 'requests'>

/** Among those that do not rest. When all do, the one that comes back first. */
export const chooseKey = <C extends KeyUsage>(
  candidates: readonly C[],
  { strategy, nowMs, last, random }: Choice,
): C | undefined => {
  const awake = candidates.filter(({ cooldownUntilMs }) => cooldownUntilMs <= nowMs)
  if (awake.length === 0) return firstAvailable(candidates, nowMs)
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
