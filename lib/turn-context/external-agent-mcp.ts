/** The MCP servers of a home as another program's agent is told of them. */
import type { ForwardedMcpServer } from '../agent/external-agent.ts'
import { isInvalid, parseServers, type ToolFilter } from '../mcp/config.ts'

/** An agent would offer its model every tool of a server: one that is shown in part only stays with us. */
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
    // The protocol has no word for where it runs.
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
