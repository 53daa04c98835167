/** Which toolsets are enabled: the session's override, else `platform_toolsets.cli` of its profile, minus the disabled ones. Pure. */
import { asObject, type JsonObject } from '../../base/json.ts'
import type { ProfileConfig } from '../../profiles/config.ts'
import { composite, isToolset } from '../../agent/toolsets.ts'

export type ToolsetSelection = {
  /** Enabled toolsets of our own. */
  toolsets: ReadonlySet<string>
  /** Whether an MCP server is enabled. */
  mcp: (server: string) => boolean
  /** Whether an MCP tool is enabled, by its name. */
  allowsTool: (tool: string) => boolean
  /** Where the selection comes from. */
  source: 'session' | 'profile' | 'default'
  /** `agent.disabled_toolsets`: overrides everything else. */
  forbidden: readonly string[]
}

const NO_MCP = 'no_mcp'
const DEFAULT: readonly string[] = ['agent-cli']

/** Parses a list of names or a comma-separated string; null for anything else. */
const namesIn = (value: unknown): string[] | null => {
  if (typeof value === 'string') {
    const names = value.split(/[,\s]+/).filter(Boolean)
    return names.length > 0 ? names : null
  }
  if (!Array.isArray(value)) return null
  return [...new Set(value.map(each => String(each).trim()).filter(Boolean))]
}

/** Plain toolsets if any are named, else the contents of the composites. */
const expand = (names: readonly string[]): string[] => {
  const plain = names.filter(isToolset)
  return plain.length > 0 ? plain : [...new Set(names.flatMap(name => composite(name) ?? []))]
}

const isOurs = (name: string): boolean => isToolset(name) || composite(name) !== null

/** The server's name as it appears in `mcp_<server>_…`. */
const toMcpName = (server: string): string => server.replace(/[^A-Za-z0-9_-]/g, '_')

const servers = (config: ProfileConfig): string[] => Object.keys(asObject(config.mcp_servers))

/** Whether a name is valid in a list of toolsets. */
export const isKnownName = (config: ProfileConfig, name: string): boolean =>
  isOurs(name) || name === NO_MCP || servers(config).includes(name)

/** All servers, unless some are named or `no_mcp` is. */
const mcpOf = (config: ProfileConfig, names: readonly string[]) => {
  const all = servers(config)
  const matches = names.filter(name => all.includes(name) && !isOurs(name))
  return (server: string): boolean =>
    !names.includes(NO_MCP) && (matches.length === 0 || matches.includes(server))
}

export const selectToolsets = (config: ProfileConfig, override?: unknown): ToolsetSelection => {
  const own = namesIn(override)
  const profile = config.platform_toolsets.cli
  const names = own ?? profile ?? DEFAULT
  const disabled = config.agent.disabled_toolsets ?? []
  // Disabling a composite disables everything in it.
  const forbidden = [...new Set(disabled.flatMap(name => [name, ...(composite(name) ?? [])]))]
  const chosen = expand(names).filter(name => !forbidden.includes(name))
  // An override selects our toolsets; the profile still selects the servers, unless the override names some.
  const says = own?.some(name => name === NO_MCP || servers(config).includes(name))
  const mcp = mcpOf(config, says === false && profile ? profile : names)
  const isAllowed = (server: string) => mcp(server) && !forbidden.includes(server)
  return {
    toolsets: new Set(chosen),
    mcp: isAllowed,
    allowsTool(tool) {
      const matching = servers(config).filter(name => tool.startsWith(`mcp_${toMcpName(name)}_`))
      // Of `a` and `a_b` the longer match is the server. A tool of an unconfigured server stays enabled.
      const [server] = matching.toSorted((a, b) => b.length - a.length)
      if (server !== undefined) return isAllowed(server)
      return !tool.startsWith('mcp_') || !names.includes(NO_MCP)
    },
    source: own ? 'session' : profile ? 'profile' : 'default',
    forbidden,
  }
}

/**
 * `platform_toolsets.cli` with one toolset switched on or off. Composites are expanded; other names (MCP servers,
 * toolsets that only the host agent has) are preserved.
 */
export const withToolset = (
  config: Readonly<JsonObject>,
  toolset: string,
  on: boolean,
): string[] => {
  const names = namesIn(asObject(config.platform_toolsets).cli) ?? DEFAULT
  const others = names.filter(name => !isOurs(name))
  const chosen = expand(names).filter(name => name !== toolset)
  return [...chosen, ...(on ? [toolset] : []), ...others]
}
