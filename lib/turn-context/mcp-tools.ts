/** Tools of the MCP servers that respond. The others produce one warning per session, and the turn continues. */
import type { Mcp, McpHome } from '../mcp/mcp.ts'
import { createSessionWarnings } from './session-warnings.ts'
import type { McpSource } from './turn-tools.ts'

export type McpToolsOptions = {
  /** Receives the warnings where the turn's log is not shown. */
  onWarning?: ((message: string) => void) | undefined
  /** MCP servers that the client of a session brings for it alone. */
  sessionServers?: ((sessionId: string) => McpHome | undefined) | undefined
}

export const mcpTools = (
  mcp: Pick<Mcp, 'tools'>,
  redact: (text: string) => string,
  { onWarning, sessionServers }: McpToolsOptions = {},
): McpSource => {
  const warn = createSessionWarnings('mcp', redact, onWarning)
  return async scope => {
    const { signal } = scope.turn.controller
    const places = [scope.home, sessionServers?.(scope.sessionId)].filter(place => place != null)
    const offers = await Promise.all(places.map(place => mcp.tools(place, signal)))
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
