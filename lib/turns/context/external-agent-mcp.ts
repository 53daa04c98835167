/** The MCP servers of a session, in the form that external agents accept, and those that they are not given. */
import type { ForwardedMcpServer, WithheldServer } from '../../agent/external-agent.ts'
import { guardingRules } from '../../agent/permissions/rules.ts'
import type { Rule } from '../../agent/permissions/rule.ts'
import { asObject } from '../../base/json.ts'
import { isInvalid, parseServers, type ToolFilter } from '../../mcp/config.ts'
import type { ProfileConfig } from '../../profiles/config.ts'
import { selectToolsets } from './enabled-toolsets.ts'

/** An external agent offers every tool of a server, so filtered servers are not passed on. */
const isWhole = ({ include, exclude }: ToolFilter): boolean =>
  include.length === 0 && exclude.length === 0

/** Whether a rule may be about a tool of the server. A glob counts by its text before the first wildcard. */
const mayName = ({ tools, server: ruleServer }: Rule, server: string): boolean => {
  const safe = server.replace(/[^A-Za-z0-9_-]/g, '_').toLowerCase()
  if (ruleServer !== undefined) return ruleServer === safe
  const prefix = `mcp_${safe}_`
  return tools.some(tool => {
    const start = tool.split(/[*?[]/)[0] ?? ''
    return start === tool
      ? tool.startsWith(prefix)
      : start.startsWith(prefix) || prefix.startsWith(start)
  })
}

/**
 * An external agent may call the tools of a server that it was given without asking us, and which ones it asks about depends on
 * its version and mode. A server that a `deny` or `ask` rule names is therefore not passed on.
 */
export const serversFor = (
  config: ProfileConfig,
  toolsets: unknown,
): { passed: ForwardedMcpServer[]; withheld: WithheldServer[] } => {
  const { mcp: isEnabled } = selectToolsets(config, toolsets)
  const rules = guardingRules(asObject(config.permissions))
  const servers = parseServers(config).flatMap(server =>
    isInvalid(server) || !server.enabled || !isEnabled(server.name) || !isWhole(server.filter)
      ? []
      : [server],
  )
  const withheld = servers.flatMap(({ name }) => {
    const rule = rules.find(each => mayName(each, name))
    return rule ? [{ name, rule: rule.text }] : []
  })
  const passed = servers
    .filter(({ name }) => !withheld.some(each => each.name === name))
    .map((server): ForwardedMcpServer => {
      const { name } = server
      if (server.kind === 'http') {
        const { url, headers, sse } = server
        return { kind: sse ? 'sse' : 'http', name, url, headers }
      }
      const { command, args, env, cwd } = server
      // ACP has no working directory for MCP servers.
      return cwd === null
        ? { kind: 'stdio', name, command, args, env }
        : {
            kind: 'stdio',
            name,
            command: 'sh',
            args: ['-c', 'cd "$0" && exec "$@"', cwd, command, ...args],
            env,
          }
    })
  return { passed, withheld }
}
