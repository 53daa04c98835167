/** The MCP servers of a home, in the form that external agents accept. */
import type { ForwardedMcpServer } from '../agent/external-agent.ts'
import { isInvalid, parseServers, type ToolFilter } from '../mcp/config.ts'

/** An external agent offers every tool of a server, so filtered servers are not passed on. */
const isWhole = ({ include, exclude }: ToolFilter): boolean =>
  include.length === 0 && exclude.length === 0

export const passedServers = (values: Readonly<Record<string, unknown>>): ForwardedMcpServer[] =>
  parseServers(values).flatMap((server): ForwardedMcpServer[] => {
    if (isInvalid(server) || !server.enabled || !isWhole(server.filter)) return []
    const { name } = server
    if (server.kind === 'http') {
      const { url, headers, sse } = server
      return [{ kind: sse ? 'sse' : 'http', name, url, headers }]
    }
    const { command, args, env, cwd } = server
    // ACP has no working directory for MCP servers.
    return cwd === null
      ? [{ kind: 'stdio', name, command, args, env }]
      : [
          {
            kind: 'stdio',
            name,
            command: 'sh',
            args: ['-c', 'cd "$0" && exec "$@"', cwd, command, ...args],
            env,
          },
        ]
  })
