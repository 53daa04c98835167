/** Tools of MCP servers in a turn: what answers is offered, what does not is said once, and the turn goes on. */
import type { Mcp } from '../mcp/mcp.ts'
import type { ToolSource } from './turn-tools.ts'

/** Conversations of which is remembered what they were told; older ones are told again. */
const REMEMBERED = 200

/** `also` hears the warnings where nobody reads the turn's log. */
export const mcpTools = (
  mcp: Pick<Mcp, 'tools'>,
  redact: (text: string) => string,
  also?: (message: string) => void,
): ToolSource => {
  const told = new Map<string, string>()
  return async ({ home, turn, sessionId }) => {
    const { tools, warnings } = await mcp.tools(home, turn.controller.signal)
    const text = warnings.join('\n')
    if (text !== (told.get(sessionId) ?? '') && !turn.over) {
      told.delete(sessionId)
      if (text !== '') told.set(sessionId, text)
      for (const message of warnings.map(redact)) {
        turn.log.append({ type: 'warning', data: { message, type: 'mcp' } })
        also?.(message)
      }
      const [oldest] = told.keys()
      if (told.size > REMEMBERED && oldest !== undefined) told.delete(oldest)
    }
    return tools
  }
}
