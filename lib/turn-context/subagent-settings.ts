/** How far a turn may delegate, and to which model: the section `delegation` of config.yaml. */
import type { Delegation, ModelEndpoint } from '../agent/types.ts'
import type { Home } from '../profiles/home.ts'
import type { TurnScope } from './turn-scope.ts'

const DEEPEST = 5

export type DelegationOptions = {
  /** Throws a Refusal with the sentence why the model cannot be called. */
  endpoint: (home: Home, model: string, baseUrl?: string) => ModelEndpoint
}

/** Looked up when a subagent starts: a wrong name fails that subagent with its sentence, and nobody else. */
const ownEndpoint = (
  { home, config }: TurnScope,
  deps: DelegationOptions,
): (() => ModelEndpoint) | null => {
  const { model, provider, base_url: baseUrl, api_key: apiKey } = config.delegation
  if (!model) return null
  return () => {
    const id = provider ? `@${provider}:${model}` : model
    const endpoint = deps.endpoint(home, id, baseUrl || undefined)
    return apiKey ? { ...endpoint, apiKey } : endpoint
  }
}

export const createDelegation =
  (deps: DelegationOptions) =>
  (place: TurnScope): Delegation => {
    const endpoint = ownEndpoint(place, deps)
    return {
      depth: 0,
      maxDepth: Math.min(place.config.delegation.max_depth, DEEPEST),
      maxSteps: place.config.delegation.max_iterations,
      ...(endpoint && { endpoint }),
    }
  }
