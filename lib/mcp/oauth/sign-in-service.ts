/** Sign-ins of the running servers: asks a server where to sign in, and connects it again when the sign-in has changed. */
import type { Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import { invalid, missing } from '../../errors.ts'
import type { Home } from '../../profiles/home.ts'
import type { HttpServer } from '../config.ts'
import type { McpServer } from '../server.ts'
import { type Browser, McpSignIns, type SignInReply, type StartedSignIn } from './sign-ins.ts'

/** Where the sign-ins find their server. */
export type ServerLookup = {
  /** The server as it is configured now; null when it was removed. */
  current: (home: Home, name: string) => HttpServer | null
  /** The enabled server of this name. */
  find: (home: Home, name: string) => McpServer
  /** The server if it exists already. */
  running: (home: Home, name: string) => McpServer | undefined
}

/** Finding out what a server says to a request without a token. */
const START_WAIT_MS = 10_000

export class McpSignInService {
  readonly #servers: ServerLookup
  readonly #signIns: McpSignIns

  constructor(servers: ServerLookup, dispatcher: Dispatcher | undefined, clock: Clock) {
    this.#servers = servers
    this.#signIns = new McpSignIns(servers.current, dispatcher, clock)
  }

  status(home: Home, name: string): { pending: boolean; paste: boolean; failure: string | null } {
    return this.#signIns.status(home, name)
  }

  cancel(home: Home, name: string): void {
    this.#signIns.cancel(home, name)
  }

  /** Starts a sign-in. The page sends the browser to the returned address. Throws a UserError. */
  async start(
    home: Home,
    name: string,
    at: { redirectUri: string; browser: Browser; signal: AbortSignal },
  ): Promise<StartedSignIn> {
    const config: HttpServer | null = this.#servers.current(home, name)
    if (!config)
      throw missing(`There is no MCP server "${name}" with an address.`, {
        code: 'mcp_server_not_found',
        values: { name },
      })
    if (!config.enabled) throw invalid('Enable the server first.', { code: 'mcp_off' })
    const server = this.#servers.find(home, name)
    // Its answer to a request without a token says where to sign in.
    server.resetBackoff()
    await server.ensureStarted(START_WAIT_MS, at.signal)
    return this.#signIns.begin(home, config, {
      ...at,
      challenge: server.tokens()?.challenge() ?? {},
    })
  }

  /** Ends a sign-in; see `McpSignIns.finish`. */
  async finish(
    reply: SignInReply,
    from: { browser: Browser } | { home: Home },
  ): Promise<{ home: Home; name: string; ok: boolean }> {
    const ended = await this.#signIns.finish(reply, from)
    const server = this.#servers.running(ended.home, ended.name)
    if (ended.ok && server) {
      await server.restart()
      // In the background: the page shows its state.
      void server.ensureStarted(0)
    }
    return ended
  }

  /** Deletes and revokes the tokens of a server, if it has any. Null, or why they could not be revoked. */
  async signOut(home: Home, name: string): Promise<string | null> {
    const config = this.#servers.current(home, name)
    if (!config) return null
    const problem = await this.#signIns.signOut(home, config)
    await this.#servers.running(home, name)?.restart()
    return problem
  }
}
