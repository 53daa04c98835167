/** Which toolsets are on: what the session says, else `platform_toolsets.cli` of its profile, never what the profile forbids. Pure. */
import { asObject, type JsonObject } from '../base/json.ts'
import type { ProfileConfig } from '../profiles/config.ts'
import { composite, isToolset } from '../agent/toolsets.ts'

export type ToolsetSelection = {
  /** Of our own tools. */
  toolsets: ReadonlySet<string>
  /** Whether tools of this MCP server are offered. */
  mcp: (server: string) => boolean
  /** The same for a tool of one, by its name. */
  allowsTool: (tool: string) => boolean
  /** Who said so. */
  source: 'session' | 'profile' | 'default'
  /** `agent.disabled_toolsets`: off whatever else is said. */
  forbidden: readonly string[]
}

const NO_MCP = 'no_mcp'
const DEFAULT: readonly string[] = ['agent-cli']

/** A list of names, or one name, or nothing that could be meant. */
const namesIn = (value: unknown): string[] | null => {
  if (typeof value === 'string') {
    const names = value.split(/[,\s]+/).filter(Boolean)
    return names.length > 0 ? names : null
  }
  if (!Array.isArray(value)) return null
  return [...new Set(value.map(each => String(each).trim()).filter(Boolean))]
}

/** Named one by one they are exactly those; else what the composites stand for. */
const expand = (names: readonly string[]): string[] => {
  const named = names.filter(isToolset)
  return named.length > 0 ? named : [...new Set(names.flatMap(name => composite(name) ?? []))]
}

const isOurs = (name: string): boolean => isToolset(name) || composite(name) !== null

/** As `mcp_<server>_…` spells it. */
const spelled = (server: string): string => server.replace(/[^A-Za-z0-9_-]/g, '_')

type ToolsetConfig = Pick<ProfileConfig, 'platform_toolsets' | 'agent' | 'mcp_servers'>

const servers = (config: Pick<ProfileConfig, 'mcp_servers'>): string[] =>
  Object.keys(asObject(config.mcp_servers))

/** Whether a list of toolsets may hold this name: otherwise it says nothing. */
export const isKnownName = (config: Pick<ProfileConfig, 'mcp_servers'>, name: string): boolean =>
  isOurs(name) || name === NO_MCP || servers(config).includes(name)

/** All servers, unless some are named or none is wanted. */
const mcpOf = (config: Pick<ProfileConfig, 'mcp_servers'>, names: readonly string[]) => {
  const known = servers(config)
  const named = names.filter(name => known.includes(name) && !isOurs(name))
  return (server: string): boolean =>
    !names.includes(NO_MCP) && (named.length === 0 || named.includes(server))
}

export const selectToolsets = (config: ToolsetConfig, override?: unknown): ToolsetSelection => {
  const own = namesIn(override)
  const profile = config.platform_toolsets.cli
  const names = own ?? profile ?? DEFAULT
  const disabled = config.agent.disabled_toolsets ?? []
  // A composite that is off is all it stands for.
  const forbidden = [...new Set(disabled.flatMap(name => [name, ...(composite(name) ?? [])]))]
  const chosen = expand(names).filter(name => !forbidden.includes(name))
  // An override says which of our tools; which servers there are stays the profile's to say, unless it names some.
  const says = own?.some(name => name === NO_MCP || servers(config).includes(name))
  const mcp = mcpOf(config, says === false && profile ? profile : names)
  const isAllowed = (server: string) => mcp(server) && !forbidden.includes(server)
  return {
    toolsets: new Set(chosen),
    mcp: isAllowed,
    allowsTool(tool) {
      const matching = servers(config).filter(name => tool.startsWith(`mcp_${spelled(name)}_`))
      // Of `a` and `a_b` the longer one is meant. A tool of no server in the configuration is nobody's to switch off.
      const [server] = matching.toSorted((a, b) => b.length - a.length)
      if (server !== undefined) return isAllowed(server)
      return !tool.startsWith('mcp_') || !names.includes(NO_MCP)
    },
    source: own ? 'session' : profile ? 'profile' : 'default',
    forbidden,
  }
}

/**
 * `platform_toolsets.cli` with one toolset on or off. Composites are written out, names that are not ours (MCP servers,
 * toolsets only the command line has) stay where they are.
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
