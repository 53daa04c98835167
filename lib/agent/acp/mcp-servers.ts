/** Converts our MCP servers to ACP's format, for those transports that the agent supports. */
import type { ExternalAgentContext } from '../external-agent.ts'
import type { ModelEndpoint } from '../types.ts'
import type { InitializeResponse } from './updates.ts'

type Pair = { name: string; value: string }

const pairs = (map: Readonly<Record<string, string>>): Pair[] =>
  Object.entries(map).map(([name, value]) => ({ name, value }))

export type AcpMcpServer =
  | { name: string; command: string; args: string[]; env: Pair[] }
  | { type: 'http' | 'sse'; name: string; url: string; headers: Pair[] }

/** All agents support stdio; http and sse are optional capabilities. */
export const toAcpServers = (
  { mcpServers }: ExternalAgentContext,
  agent: ModelEndpoint['agent'],
  { agentCapabilities: { mcpCapabilities } }: InitializeResponse,
): AcpMcpServer[] => {
  if (agent?.settings?.mcp === false) return []
  return mcpServers.flatMap((server): AcpMcpServer[] => {
    const { name } = server
    if (server.kind === 'stdio')
      return [{ name, command: server.command, args: [...server.args], env: pairs(server.env) }]
    const { kind, url, headers } = server
    return mcpCapabilities[kind] ? [{ type: kind, name, url, headers: pairs(headers) }] : []
  })
}
