/** Tools of the MCP servers that respond, a warning once per session about those that do not, and the model that answers their requests. */
import type { ToolContext } from '../../agent/types.ts'
import { failed, UserError } from '../../errors.ts'
import type { Sample } from '../../mcp/sampling.ts'
import type { McpOffer } from './mcp-tool-list.ts'
import type { Services } from './services.ts'
import type { TurnScope } from './turn-scope.ts'

/** Calls a model for a server. */
const sampleFor =
  ({ home, turn }: TurnScope, { auxiliary }: Services) =>
  ({ addUsage, turn: { checkBudget } }: ToolContext): Sample =>
  async (messages, { model, allowedModels, maxTokens, signal }) => {
    const own = turn.endpoint instanceof UserError ? null : turn.endpoint
    const { endpoint, ask } = auxiliary.for('mcp', home, own, model ?? undefined)
    if (allowedModels.length > 0 && !allowedModels.includes(endpoint.model))
      throw new Error(`The model ${endpoint.model} is not among its allowed_models.`)
    const refusal = (await checkBudget?.()) ?? null
    if (refusal !== null) throw failed(refusal)
    const text = await ask(messages, {
      signal,
      maxTokens,
      isOnly: true,
      ...(addUsage && { onUsage: addUsage }),
    })
    return { text, model: endpoint.model }
  }

export const mcpTools = async (scope: TurnScope, services: Services): Promise<McpOffer> => {
  const { home, turn, sessionId, unattended } = scope
  // A turn without a user has no one to approve the requests.
  const sample = unattended ? undefined : sampleFor(scope, services)
  const places = [home, services.sessionServers?.(sessionId)].filter(place => place != null)
  const offers = await Promise.all(
    places.map(place => services.mcp.tools(place, turn.controller.signal, sample)),
  )
  const warnings = offers.flatMap(offer => offer.warnings)
  services.warnings.mcp.show(turn, warnings)
  // A server of the session replaces one of the profile with the same name.
  const tools = new Map(offers.flatMap(offer => offer.tools).map(tool => [tool.name, tool]))
  return {
    tools: [...tools.values()],
    missing: offers.flatMap(({ missing }) => missing),
    warnings,
  }
}
