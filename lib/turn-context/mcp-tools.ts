/** Tools of the MCP servers that respond. The others produce one warning per session, and the turn continues. */
import type { Mcp } from '../mcp/mcp.ts'
import { createSessionWarnings } from './session-warnings.ts'
import type { McpSource } from './turn-tools.ts'

/** `onWarning` receives the warnings where the turn's log is not shown. */
export const mcpTools = (
  mcp: Pick<Mcp, 'tools'>,
  redact: (text: string) => string,
  onWarning?: (message: string) => void,
): McpSource => {
  const warn = createSessionWarnings('mcp', redact, onWarning)
  return async scope => {
    const offer = await mcp.tools(scope.home, scope.turn.controller.signal)
    warn(scope, offer.warnings)
    return offer
  }
}
