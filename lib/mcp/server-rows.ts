/** Rows of the MCP server list for the page, with secrets masked. */
import { toSeconds } from '../base/clock.ts'
import { isObject } from '../base/json.ts'
import type { Home } from '../profiles/home.ts'
import type { McpServerRow, McpTool } from '../schema/mcp.ts'
import { type InvalidServer, isInvalid, isToolEnabled, type ServerConfig } from './config.ts'
import { changeWords, withCodes } from '../base/sentences.ts'
import { hideValues, maskArgs, maskUrl, maskValues } from './mask-config.ts'
import { toolName } from './tool-names.ts'
import type { McpSignIns } from './oauth/sign-ins.ts'
import type { McpServer } from './server.ts'

export type ConfiguredServer = { config: ServerConfig | InvalidServer; server: McpServer | null }

const MAX_STDERR_CHARS = 4_000

/** The entry as it is in the file, with references to variables not expanded. */
const rawOf = (home: Home, name: string): Record<string, unknown> => {
  const section = home.configFile.read().mcp_servers
  const entry = isObject(section) ? section[name] : undefined
  return isObject(entry) ? entry : {}
}

const wordsOf = (value: unknown): Record<string, string> =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, String(each ?? '')]))
    : {}

/** Configured values that may be secrets. */
export const secretsOf = (config: ServerConfig): string[] =>
  Object.values(config.kind === 'stdio' ? config.env : config.headers)

const toolsOf = ({ config, server }: ConfiguredServer, usedNames: Set<string>): McpTool[] => {
  if (isInvalid(config) || !server) return []
  const secrets = secretsOf(config)
  return (server.listing()?.tools ?? []).map(tool => ({
    name: toolName(config.name, tool.name, usedNames),
    server: config.name,
    tool: tool.name,
    description: hideValues(tool.description, secrets),
    enabled: isToolEnabled(config.filter, tool.name),
    read_only: tool.readOnly,
    destructive: tool.destructive,
  }))
}

const stateOf = ({ config, server }: ConfiguredServer): McpServerRow['state'] => {
  if (isInvalid(config)) return 'invalid'
  if (!config.enabled) return 'disabled'
  return server?.state() ?? 'stopped'
}

const hostOf = (url: string | null): string | null => URL.parse(url ?? '')?.host ?? null

const signInOf = (
  home: Home,
  { config, server }: ConfiguredServer,
  signIns: McpSignIns,
): McpServerRow['sign_in'] => {
  const tokens = server?.tokens()
  const { pending, paste, failure } = signIns.status(home, config.name)
  const state = pending ? 'pending' : (tokens?.state() ?? 'none')
  return { state, host: hostOf(tokens?.issuer() ?? null), paste, failure }
}

const toRow = (
  home: Home,
  entry: ConfiguredServer,
  usedNames: Set<string>,
  signIns: McpSignIns,
): McpServerRow => {
  const { config, server } = entry
  const raw = rawOf(home, config.name)
  const secrets = isInvalid(config) ? [] : secretsOf(config)
  const error = isInvalid(config)
    ? config.problem
    : (server?.error() ?? server?.listing()?.note ?? null)
  const version = server?.version()
  return withCodes({
    name: config.name,
    transport: isInvalid(config) ? null : config.kind,
    enabled: isInvalid(config) || config.enabled,
    state: stateOf(entry),
    command: typeof raw.command === 'string' ? raw.command : '',
    args: maskArgs(Array.isArray(raw.args) ? raw.args.map(String) : []),
    env: maskValues(wordsOf(raw.env)),
    url: maskUrl(typeof raw.url === 'string' ? raw.url : ''),
    headers: maskValues(wordsOf(raw.headers)),
    timeout: isInvalid(config) ? 0 : toSeconds(config.timeoutMs),
    connect_timeout: isInvalid(config) ? 0 : toSeconds(config.connectTimeoutMs),
    error: error === null ? null : changeWords(error, text => hideValues(text, secrets)),
    // Masked before it is cut: half of a value would not be recognized.
    stderr: hideValues(server?.output() ?? '', secrets).slice(-MAX_STDERR_CHARS),
    version: version ? hideValues(`${version.name} ${version.version}`, secrets) : null,
    tools: toolsOf(entry, usedNames),
    sign_in: signInOf(home, entry, signIns),
  })
}

export const serverRows = (
  home: Home,
  servers: readonly ConfiguredServer[],
  signIns: McpSignIns,
): McpServerRow[] => {
  const usedNames = new Set<string>()
  return servers.map(each => toRow(home, each, usedNames, signIns))
}
