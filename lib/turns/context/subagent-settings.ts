/** Delegation to subagents: depth, steps and model, from the section `delegation` of config.yaml. */
import type { Delegation, ModelEndpoint } from '../../agent/types.ts'
import type { ModelServices } from '../../models/models.ts'
import { subagentFiles } from '../../profiles/skills/subagent-files.ts'
import type { Services } from './services.ts'
import type { TurnScope } from './turn-scope.ts'

const DEEPEST = 5

/** Resolved when a subagent starts, so that a wrong model name fails only that subagent. */
const ownEndpoint = (
  { home, config }: TurnScope,
  models: ModelServices,
): (() => ModelEndpoint) | undefined => {
  const { model, provider, base_url: baseUrl, api_key: apiKey } = config.delegation
  if (!model) return undefined
  return () => {
    const id = provider ? `@${provider}:${model}` : model
    const endpoint = models.endpoint(home, id, baseUrl || undefined)
    return apiKey ? { ...endpoint, apiKey } : endpoint
  }
}

export const delegationOf = (scope: TurnScope, { models }: Services): Delegation => {
  const { home, config } = scope
  const endpoint = ownEndpoint(scope, models)
  return {
    depth: 0,
    maxDepth: Math.min(config.delegation.max_depth, DEEPEST),
    maxSteps: config.delegation.max_iterations,
    ...(endpoint && { endpoint }),
    kinds: () =>
      subagentFiles(home).map(({ name, prompt, tools, model }) => ({
        name,
        prompt,
        tools,
        ...(model !== null && { endpoint: () => models.endpoint(home, model) }),
      })),
  }
}
