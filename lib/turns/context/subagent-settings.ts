/** Delegation to subagents: depth, steps and model, from the section `delegation` of config.yaml. */
import type { Delegation, ModelEndpoint } from '../../agent/types.ts'
import type { Home } from '../../profiles/home.ts'
import type { SubagentFile } from '../../profiles/skills/subagent-files.ts'
import type { TurnScope } from './turn-scope.ts'

const DEEPEST = 5

export type DelegationOptions = {
  /** Throws UserError when the model cannot be called. */
  endpoint: (home: Home, model: string, baseUrl?: string) => ModelEndpoint
  /** The subagents of the user. */
  subagents: (home: Home) => readonly SubagentFile[]
}

/** Resolved when a subagent starts, so that a wrong model name fails only that subagent. */
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
  (scope: TurnScope): Delegation => {
    const endpoint = ownEndpoint(scope, deps)
    return {
      depth: 0,
      maxDepth: Math.min(scope.config.delegation.max_depth, DEEPEST),
      maxSteps: scope.config.delegation.max_iterations,
      ...(endpoint && { endpoint }),
      kinds: () =>
        deps.subagents(scope.home).map(({ name, prompt, tools, model }) => ({
          name,
          prompt,
          tools,
          ...(model !== null && { endpoint: () => deps.endpoint(scope.home, model) }),
        })),
    }
  }
