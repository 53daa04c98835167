/** The MCP servers of all profiles. Each home has its own, in sync with its config.yaml. */
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import type { Tool } from '../agent/types.ts'
import { invalid, missing } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { McpServerRow, McpTestResult } from '../schema/mcp.ts'
import { mcpTools, type ServerSource } from './create-tools.ts'
import {
  type HttpServer,
  type InvalidServer,
  isInvalid,
  parseServers,
  type ServerConfig,
} from './config.ts'
import { changeWords, withCodes, sentence, type Words } from '../base/sentences.ts'
import { hideValues } from './mask-config.ts'
import { McpSignIns, type ServerLookup } from './oauth/sign-ins.ts'
import { TokenSource } from './oauth/token-source.ts'
import { secretsOf, serverRows } from './server-rows.ts'
import { McpServer } from './server.ts'

/** What the tools of a home need of it: the servers of one session have a home of their own. */
export type McpHome = {
  readonly dir: string
  env: Home['env']
  config: Home['config']
}

export type HomeTools = {
  tools: readonly Tool[]
  /** A sentence for each server that the turn cannot use. */
  warnings: readonly Words[]
  /** The names of those servers. */
  missing: readonly string[]
}

const TURN_WAIT_MS = 10_000
const IDLE_MS = 30 * 60_000
/** A test started by the user may wait longer than a turn. */
const TEST_WAIT_MS = 30_000
const STILL_STARTING = 'It has not answered yet and is still starting.'

export class Mcp {
  readonly #version: string
  readonly #dispatcher: Dispatcher | undefined
  readonly #clock: Clock
  readonly #turnWaitMs: number
  readonly #idleMs: number
  /** By home, then by name: homes do not share servers. */
  readonly #homes = new Map<string, Map<string, McpServer>>()
  /** Servers that are being closed. */
  readonly #closing = new Set<Promise<void>>()
  readonly signIns: McpSignIns

  constructor({
    version,
    dispatcher,
    clock,
    turnWaitMs = TURN_WAIT_MS,
    idleMs = IDLE_MS,
  }: {
    version: string
    dispatcher?: Dispatcher | undefined
    clock: Clock
    /** How long a turn waits for starting servers. */
    turnWaitMs?: number
    idleMs?: number
  }) {
    this.#version = version
    this.#dispatcher = dispatcher
    this.#clock = clock
    this.#turnWaitMs = turnWaitMs
    this.#idleMs = idleMs
    const servers: ServerLookup = {
      find: (home, name) => this.#find(home, name),
      current: (home, name) => this.#currentHttp(home, name),
      running: (home, name) => this.#homes.get(home.dir)?.get(name),
    }
    this.signIns = new McpSignIns(servers, dispatcher, clock)
  }

  #closeServer(server: McpServer): void {
    const gone = server.close().catch(() => undefined)
    this.#closing.add(gone)
    void gone.finally(() => this.#closing.delete(gone))
  }

  #create(home: McpHome, config: ServerConfig): McpServer {
    const allowPrivate = () => home.config().browser.allow_private_urls
    const tokens =
      config.kind === 'http'
        ? new TokenSource(config, {
            homeDir: home.dir,
            allowPrivate,
            dispatcher: this.#dispatcher,
            clock: this.#clock,
          })
        : undefined
    return new McpServer(config, {
      target: {
        env: home.env(),
        dir: home.dir,
        version: this.#version,
        dispatcher: this.#dispatcher,
        tokens,
      },
      clock: this.#clock,
      idleMs: this.#idleMs,
    })
  }

  /** Reads the configuration, and stops servers that were removed or changed in it. */
  #sync(home: McpHome): { servers: McpServer[]; bad: InvalidServer[] } {
    const all = parseServers(home.config())
    const current = this.#homes.get(home.dir) ?? new Map<string, McpServer>()
    const configs = all.filter((each): each is ServerConfig => !isInvalid(each))
    const next = new Map<string, McpServer>()
    for (const config of configs) {
      if (!config.enabled) continue
      const old = current.get(config.name)
      if (old && old.config.hash === config.hash) {
        old.updateConfig(config)
        next.set(config.name, old)
      } else next.set(config.name, this.#create(home, config))
    }
    for (const [name, server] of current) if (next.get(name) !== server) this.#closeServer(server)
    if (next.size > 0) this.#homes.set(home.dir, next)
    else this.#homes.delete(home.dir)
    return { servers: [...next.values()], bad: all.filter(isInvalid) }
  }

  #find(home: McpHome, name: string): McpServer {
    const server = this.#sync(home).servers.find(each => each.config.name === name)
    if (!server) throw new Error(`The MCP server "${name}" is no longer configured.`)
    return server
  }

  /** Null when it was removed, or is no server over HTTP. */
  #currentHttp(home: Home, name: string): HttpServer | null {
    const server = parseServers(home.config()).find(each => each.name === name)
    return server && !isInvalid(server) && server.kind === 'http' ? server : null
  }

  #warningOf(server: McpServer): Words[] {
    const { name } = server.config
    switch (server.state()) {
      case 'ready':
        return []
      case 'starting':
        return [sentence('mcp.still_starting', { name })]
      default:
        return [
          sentence('mcp.unusable', {
            name,
            reason: server.error() ?? sentence('mcp.not_running'),
          }),
        ]
    }
  }

  /** A failing server is a warning, never a rejection. */
  async tools(
    home: McpHome,
    signal: AbortSignal,
    sampleFor?: ServerSource['sampleFor'],
  ): Promise<HomeTools> {
    if (home.config().mcp_servers === undefined && !this.#homes.has(home.dir))
      return { tools: [], warnings: [], missing: [] }
    const { servers, bad } = this.#sync(home)
    await Promise.all(servers.map(server => server.ensureStarted(this.#turnWaitMs, signal)))
    return {
      tools: mcpTools(
        servers.filter(server => server.state() === 'ready'),
        { find: name => this.#find(home, name), sampleFor },
      ),
      warnings: [
        ...bad.map(({ name, problem }) => sentence('mcp.unusable', { name, reason: problem })),
        ...servers.flatMap(server => this.#warningOf(server)),
      ],
      missing: servers
        .filter(server => server.state() !== 'ready')
        .map(({ config }) => config.name),
    }
  }

  /** All configured servers, disabled and invalid ones included, in the order of the file. */
  list(home: Home): McpServerRow[] {
    const { servers } = this.#sync(home)
    const rows = parseServers(home.config()).map(config => ({
      config,
      server: servers.find(each => each.config.name === config.name) ?? null,
    }))
    return serverRows(home, rows, this.signIns)
  }

  /** Starts a server and reports the outcome. */
  async test(home: Home, name: string, signal: AbortSignal): Promise<McpTestResult> {
    const config = parseServers(home.config()).find(each => each.name === name)
    if (!config)
      throw missing(`There is no MCP server "${name}".`, {
        code: 'mcp_server_not_found',
        values: { name },
      })
    if (isInvalid(config))
      throw invalid(config.problem, {
        code: 'mcp_invalid_entry',
        values: { name, problem: config.problem },
      })
    const startedAt = this.#clock.monotonic()
    // A disabled server is started for the test only.
    const server = config.enabled ? this.#find(home, name) : this.#create(home, config)
    server.resetBackoff()
    // Slightly longer than the server's own timeout, whose message is more precise.
    await server.ensureStarted(Math.min(config.connectTimeoutMs + 500, TEST_WAIT_MS), signal)
    const ok = server.state() === 'ready'
    const listing = server.listing()
    const message = ok ? (listing?.note ?? 'It answers.') : (server.error() ?? STILL_STARTING)
    if (!config.enabled) this.#closeServer(server)
    return withCodes({
      ok,
      message: changeWords(message, text => hideValues(text, secretsOf(config))),
      tools: ok ? (listing?.tools.map(tool => tool.name) ?? []) : [],
      stderr: hideValues(server.output(), secretsOf(config)),
      duration_ms: Math.round(this.#clock.monotonic() - startedAt),
    })
  }

  /** Stops the servers of a deleted profile, or of a closed session. */
  forget(dir: string): void {
    for (const server of this.#homes.get(dir)?.values() ?? []) this.#closeServer(server)
    this.#homes.delete(dir)
  }

  async close(): Promise<void> {
    for (const servers of this.#homes.values())
      for (const server of servers.values()) this.#closeServer(server)
    this.#homes.clear()
    await Promise.all(this.#closing)
  }
}
