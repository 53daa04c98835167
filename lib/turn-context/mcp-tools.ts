/** Tools of the MCP servers that respond. The others produce one warning per session, and the turn continues. */
import type { Mcp } from '../mcp/mcp.ts'
import type { ToolSource } from './turn-tools.ts'

/** How many sessions we remember warnings for. */
const MAX_SESSIONS = 200

/** `onWarning` receives the warnings where the turn's log is not shown. */
export const mcpTools = (
  mcp: Pick<Mcp, 'tools'>,
  redact: (text: string) => string,
  onWarning?: (message: string) => void,
): ToolSource => {
  const warned = new Map<string, string>()
  return async ({ home, turn, sessionId }) => {
    const { tools, warnings } = await mcp.tools(home, turn.controller.signal)
    const text = warnings.join('\n')
    if (text !== (warned.get(sessionId) ?? '') && !turn.over) {
      warned.delete(sessionId)
      if (text !== '') warned.set(sessionId, text)
      for (const message of warnings.map(redact)) {
        turn.log.append({ type: 'warning', data: { message, type: 'mcp' } })
        onWarning?.(message)
      }
      const [oldest] = warned.keys()
      if (warned.size > MAX_SESSIONS && oldest !== undefined) warned.delete(oldest)
    }
    return tools
  }
}
