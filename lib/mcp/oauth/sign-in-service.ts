/** Sign-ins of the running servers: asks a server where to sign in, and connects it again when the sign-in has changed. */
import { invalid, missing } from '../../errors.ts'
import type { Home } from '../../profiles/home.ts'
import type { HttpServer } from '../config.ts'
import type { McpServer } from '../server.ts'
import { type Browser, McpSignIns, type SignInReply, type SignInsOptions } from './sign-ins.ts'

export type SignInServiceOptions = SignInsOptions & {
  /** The enabled server of this name. */
  find: (home: Home, name: string) => McpServer
  /** The server if it exists already. */
  running: (home: Home, name: string) => McpServer | undefined
}

/** Finding out what a server says to a request without a token. */
const START_WAIT_MS = 10_000

export type SignInService = ReturnType<typeof createSignInService>

export const createSignInService = (options: SignInServiceOptions) => {
  const { find, running, current } = options
  const signIns = new McpSignIns(options)

  return {
    status: (home: Home, name: string) => signIns.status(home, name),
    cancel: (home: Home, name: string): void => signIns.cancel(home, name),

    /** Starts a sign-in. The page sends the browser to the returned address. Throws a UserError. */
    async start(
      home: Home,
      name: string,
      at: { redirectUri: string; browser: Browser; signal: AbortSignal },
    ) {
      const config: HttpServer | null = current(home, name)
      if (!config)
        throw missing(`There is no MCP server "${name}" with an address.`, {
          code: 'mcp_server_not_found',
          values: { name },
        })
      if (!config.enabled) throw invalid('Enable the server first.', { code: 'mcp_off' })
      const server = find(home, name)
      // Its answer to a request without a token says where to sign in.
      server.resetBackoff()
      await server.ensureStarted(START_WAIT_MS, at.signal)
      return signIns.begin(home, config, { ...at, challenge: server.tokens()?.challenge() ?? {} })
    },

    /** Ends a sign-in; see `McpSignIns.finish`. */
    async finish(reply: SignInReply, from: { browser: Browser } | { home: Home }) {
      const ended = await signIns.finish(reply, from)
      const server = running(ended.home, ended.name)
      if (ended.ok && server) {
        await server.restart()
        // In the background: the page shows its state.
        void server.ensureStarted(0)
      }
      return ended
    },

    /** Deletes and revokes the tokens of a server, if it has any. Null, or why they could not be revoked. */
    async signOut(home: Home, name: string): Promise<string | null> {
      const config = current(home, name)
      if (!config) return null
      const problem = await signIns.signOut(home, config)
      await running(home, name)?.restart()
      return problem
    },
  }
}
