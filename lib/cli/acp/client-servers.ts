/** The MCP servers that a client names for a session, in the form of `mcp_servers` in config.yaml. */
import type { McpServer } from '@agentclientprotocol/sdk'

const toMap = (pairs: readonly { name: string; value: string }[]): Record<string, string> =>
  Object.fromEntries(pairs.map(({ name, value }) => [name, value]))

/** Commands start in the directory of the session. */
export const toServers = (servers: readonly McpServer[], cwd: string): Record<string, unknown> =>
  Object.fromEntries(
    servers.map(server => {
      if ('command' in server) {
        const { command, args, env } = server
        return [server.name, { command, args, env: toMap(env), cwd }]
      }
      const transport = server.type === 'sse' ? { transport: 'sse' } : {}
      return [server.name, { url: server.url, headers: toMap(server.headers), ...transport }]
    }),
  )
