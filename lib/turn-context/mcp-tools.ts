/** Tools of the MCP servers that respond, a warning once per session about those that do not, and the model that answers their requests. */
import type { ToolContext } from '../agent/types.ts'
import { failed, UserError } from '../errors.ts'
import type { Mcp, McpHome } from '../mcp/mcp.ts'
import type { Sample } from '../mcp/sampling.ts'
import type { AuxiliaryFor } from './auxiliary-model.ts'
import { createSessionWarnings } from './session-warnings.ts'
import type { TurnScope } from './turn-scope.ts'
import type { McpSource } from './turn-tools.ts'

/** Undefined for a turn without a user who could approve the requests. */
const createSampleFor =
  (auxiliaryFor: AuxiliaryFor) =>
  ({ home, turn, unattended }: TurnScope) =>
    unattended
      ? undefined
      : ({ addUsage, checkBudget }: ToolContext): Sample =>
          async (messages, { model, allowedModels, maxTokens, signal }) => {
            const own = turn.endpoint instanceof UserError ? null : turn.endpoint
            const { endpoint, ask } = auxiliaryFor('mcp', home, own, model ?? undefined)
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

export type McpToolsOptions = {
  /** Receives the warnings where the turn's log is not shown. */
  onWarning?: ((message: string) => void) | undefined
  /** Calls models for the servers. */
  auxiliaryFor?: AuxiliaryFor
  /** MCP servers that the client of a session brings for it alone. */
  sessionServers?: ((sessionId: string) => McpHome | undefined) | undefined
}

export const mcpTools = (
  mcp: Pick<Mcp, 'tools'>,
  redact: (text: string) => string,
  { onWarning, auxiliaryFor, sessionServers }: McpToolsOptions = {},
): McpSource => {
  const warn = createSessionWarnings('mcp', redact, onWarning)
  const sampleFor = auxiliaryFor && createSampleFor(auxiliaryFor)
  return async scope => {
    const { signal } = scope.turn.controller
    const places = [scope.home, sessionServers?.(scope.sessionId)].filter(place => place != null)
    const offers = await Promise.all(
      places.map(place => mcp.tools(place, signal, sampleFor?.(scope))),
    )
    const warnings = offers.flatMap(offer => offer.warnings)
    warn(scope, warnings)
    // A server of the session replaces one of the profile with the same name.
    const tools = new Map(offers.flatMap(offer => offer.tools).map(tool => [tool.name, tool]))
    return {
      tools: [...tools.values()],
      missing: offers.flatMap(({ missing }) => missing),
      warnings,
    }
  }
}
