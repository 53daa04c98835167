/** The MCP servers of all profiles: each home has its own, kept in step with its config.yaml. */
import type { Dispatcher } from 'undici'
import type { Tool } from '../agent/types.ts'
import { invalid, missing } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { McpServerRow, McpTestResult } from '../schema/mcp.ts'
import { createMcpTools } from './create-tools.ts'
import { type InvalidServer, isInvalid, parseServers, type ServerConfig } from './config.ts'
import { hideValues } from './mask-config.ts'
import { secretsOf, serverRows } from './server-rows.ts'
import { McpServer } from './server.ts'

export type McpOptions = {
  version: string
  dispatcher?: Dispatcher | undefined
  /** Milliseconds since 1970. */
  now?: () => number
  /** How long a turn waits for servers that are starting. */
  turnWaitMs?: number
  idleMs?: number
}

export type HomeTools = {
  tools: readonly Tool[]
  /** A sentence for each server the turn goes on without. */
  warnings: readonly string[]
}

const TURN_WAIT_MS = 10_000
const IDLE_MS = 30 * 60_000
/** A test may wait longer than a turn, but not as long as a person would not. */
const TEST_WAIT_MS = 30_000
const STILL_STARTING = 'It has not answered yet; it goes on starting.'

export type Mcp = ReturnType<typeof createMcp>

export const createMcp = ({
  version,
  dispatcher,
  now = Date.now,
  turnWaitMs = TURN_WAIT_MS,
  idleMs = IDLE_MS,
}: McpOptions) => {
  /** By home, then by name: no home ever sees another's. */
  const homes = new Map<string, Map<string, McpServer>>()
  /** Those that are on their way down. */
  const closing = new Set<Promise<void>>()

  const closeServer = (server: McpServer): void => {
    const gone = server.close().catch(() => undefined)
    closing.add(gone)
    void gone.finally(() => closing.delete(gone))
  }

  const create = (home: Home, config: ServerConfig): McpServer =>
    new McpServer(config, {
      target: { env: home.env(), dir: home.dir, version, dispatcher },
      now,
      idleMs,
    })

  /** What the configuration says now: servers it does not name any more, or names otherwise, are stopped. */
  const sync = (home: Home): { servers: McpServer[]; bad: InvalidServer[] } => {
    const listed = parseServers(home.settings())
    const held = homes.get(home.dir) ?? new Map<string, McpServer>()
    const wanted = listed.filter((each): each is ServerConfig => !isInvalid(each))
    const next = new Map<string, McpServer>()
    for (const config of wanted) {
      if (!config.enabled) continue
      const old = held.get(config.name)
      if (old && old.config.hash === config.hash) {
        old.updateConfig(config)
        next.set(config.name, old)
      } else next.set(config.name, create(home, config))
    }
    for (const [name, server] of held) if (next.get(name) !== server) closeServer(server)
    if (next.size > 0) homes.set(home.dir, next)
    else homes.delete(home.dir)
    return { servers: [...next.values()], bad: listed.filter(isInvalid) }
  }

  const find = (home: Home, name: string): McpServer => {
    const server = sync(home).servers.find(each => each.config.name === name)
    if (!server) throw new Error(`The MCP server "${name}" is not configured any more.`)
    return server
  }

  const warningOf = (server: McpServer): string[] => {
    const { name } = server.config
    switch (server.state()) {
      case 'ready':
        return []
      case 'starting':
        return [`The MCP server "${name}" is still starting; this turn goes on without it.`]
      default:
        return [
          `The MCP server "${name}" cannot be used: ${server.error() ?? 'it is not running.'}`,
        ]
    }
  }

  return {
    /** Never rejects for what a server does. Costs nothing when none is configured. */
    async tools(home: Home, signal: AbortSignal): Promise<HomeTools> {
      if (home.settings().mcp_servers === undefined && !homes.has(home.dir))
        return { tools: [], warnings: [] }
      const { servers, bad } = sync(home)
      await Promise.all(servers.map(server => server.ensureStarted(turnWaitMs, signal)))
      return {
        tools: createMcpTools(
          servers.filter(server => server.state() === 'ready'),
          name => find(home, name),
        ),
        warnings: [
          ...bad.map(({ name, problem }) => `The MCP server "${name}" cannot be used: ${problem}`),
          ...servers.flatMap(warningOf),
        ],
      }
    },

    /** Every server the configuration names, used or not, in its order. */
    list(home: Home): McpServerRow[] {
      const { servers } = sync(home)
      const listed = parseServers(home.settings()).map(config => ({
        config,
        server: servers.find(each => each.config.name === config.name) ?? null,
      }))
      return serverRows(home, listed)
    },

    /** Starts a server for real and says how that went. */
    async test(home: Home, name: string, signal: AbortSignal): Promise<McpTestResult> {
      const config = parseServers(home.settings()).find(each => each.name === name)
      if (!config)
        throw missing(`There is no MCP server "${name}".`, { code: 'mcp_server_not_found' })
      if (isInvalid(config)) throw invalid(config.problem)
      const startedMs = now()
      // One that is switched off is started for the test only.
      const server = config.enabled ? find(home, name) : create(home, config)
      server.resetBackoff()
      // A little longer than the server has: its own sentence is the better one.
      await server.ensureStarted(Math.min(config.connectTimeoutMs + 500, TEST_WAIT_MS), signal)
      const ok = server.state() === 'ready'
      const listing = server.listing()
      const said = ok ? (listing?.note ?? 'It answers.') : (server.error() ?? STILL_STARTING)
      if (!config.enabled) closeServer(server)
      return {
        ok,
        message: hideValues(said, secretsOf(config)),
        tools: ok ? (listing?.tools.map(tool => tool.name) ?? []) : [],
        stderr: hideValues(server.output(), secretsOf(config)),
        duration_ms: Math.round(now() - startedMs),
      }
    },

    /** A profile has gone: so have its servers. */
    forget(dir: string): void {
      for (const server of homes.get(dir)?.values() ?? []) closeServer(server)
      homes.delete(dir)
    },

    async close(): Promise<void> {
      for (const servers of homes.values())
        for (const server of servers.values()) closeServer(server)
      homes.clear()
      await Promise.all(closing)
    },
  }
}
