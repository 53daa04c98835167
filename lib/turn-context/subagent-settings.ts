/** How far a turn may delegate, and to which model: the section `delegation` of config.yaml. */
import type { Delegation, ModelEndpoint } from '../agent/types.ts'
import type { Home } from '../profiles/home.ts'
import { numberAt, type TurnScope } from './turn-scope.ts'

const MAX_STEPS = 50
/** A subagent may delegate once more, its own subagents no further. */
const MAX_DEPTH = 2
const DEEPEST = 5

export type DelegationOptions = {
  /** Throws a Refusal with the sentence why the model cannot be called. */
  endpoint: (home: Home, model: string, baseUrl?: string) => ModelEndpoint
}

const words = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

/** Looked up when a subagent starts: a wrong name fails that subagent with its sentence, and nobody else. */
const ownEndpoint = (
  { home, config }: TurnScope,
  deps: DelegationOptions,
): (() => ModelEndpoint) | null => {
  const said = (config.delegation ?? {}) as Record<string, unknown>
  const [model, provider, baseUrl, apiKey] = [
    said.model,
    said.provider,
    said.base_url,
    said.api_key,
  ].map(words)
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
      maxDepth: Math.min(numberAt(place.config, 'delegation', 'max_depth') ?? MAX_DEPTH, DEEPEST),
      maxSteps: numberAt(place.config, 'delegation', 'max_iterations') ?? MAX_STEPS,
      ...(endpoint && { endpoint }),
    }
  }
