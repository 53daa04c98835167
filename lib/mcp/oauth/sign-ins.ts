/**
 * Signing in to MCP servers: authorization code with PKCE (OAuth 2.1). A sign-in is pending in memory for ten minutes, bound
 * to the profile, the server with its address, and the browser and login session that began it. Its `state` is used once.
 */
import { sentence } from '../../base/sentences.ts'
import { randomBytes } from 'node:crypto'
import { sha256 } from '../../base/sha256.ts'
import type {
  AuthorizationServerMetadata,
  OAuthClientInformationMixed,
} from '@modelcontextprotocol/client'
import type { Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import { visibleWords } from '../../base/visible.ts'
import { invalid, messageOf, missing, unavailable, UserError } from '../../errors.ts'
import type { Home } from '../../profiles/home.ts'
import type { HttpServer } from '../config.ts'
import type { McpServer } from '../server.ts'
import { type AuthFetchOptions, AuthFetch } from './auth-fetch.ts'
import { discover } from './discover.ts'
import { SignInFile, type StoredSignIn } from './stored-sign-in.ts'
import { type Challenge, reasonOf, toStoredTokens } from './token-source.ts'

/** The browser that begins or ends a sign-in: its cookie for this purpose, and its login session. */
export type Browser = { cookie: string; session: string }

/** The query of the address that the authorization server sends the browser to (RFC 6749 §4.1.2, RFC 9207). */
export type SignInReply = {
  state?: string | undefined
  code?: string | undefined
  error?: string | undefined
  iss?: string | undefined
}

export type StartedSignIn = {
  /** The page of the authorization server. */
  url: string
  /** The browser will not come back by itself: the person pastes the address it is sent to. */
  paste: boolean
}

type Pending = {
  home: Home
  server: HttpServer
  /** Hash of the browser's cookie and login session. */
  browser: string
  redirectUri: string
  metadata: AuthorizationServerMetadata
  resource: string | null
  client: OAuthClientInformationMixed
  codeVerifier: string
  paste: boolean
  until: number
}

const LIFETIME_MS = 10 * 60_000
const MAX_PENDING = 100
/** What remains when an authorization server accepts only addresses of this machine. Nothing has to listen there. */
const LOOPBACK_REDIRECT = 'http://127.0.0.1:33418/callback'
const REVOKE_TIMEOUT_MS = 5_000
/** Finding out what a server says to a request without a token. */
const START_WAIT_MS = 10_000

const EXPIRED =
  'This sign-in has expired, was already used, or began in another browser. Start it again.'

const hashOf = ({ cookie, session }: Browser): string => sha256(JSON.stringify([cookie, session]))

const keyOf = (home: Home, name: string): string => JSON.stringify([home.dir, name])

/** Error codes of RFC 6749 §4.1.2.1 in words. The description comes with the address, so anyone could have written it. */
const sentenceFor = (code: string): string => {
  if (code === 'access_denied') return 'The sign-in was canceled or denied.'
  return `The sign-in failed: the authorization server answered “${visibleWords(code.slice(0, 60))}”.`
}

/** Where the sign-ins find their server. */
export type ServerLookup = {
  /** The server as it is configured now; null when it was removed. */
  current: (home: Home, name: string) => HttpServer | null
  /** The enabled server of this name. */
  find: (home: Home, name: string) => McpServer
  /** The server if it exists already. */
  running: (home: Home, name: string) => McpServer | undefined
}

type Started = { redirectUri: string; browser: Browser; signal: AbortSignal }

export class McpSignIns {
  readonly #servers: ServerLookup
  readonly #dispatcher: Dispatcher | undefined
  readonly #clock: Clock
  /** By `state`. */
  readonly #pending = new Map<string, Pending>()
  /** Why the last sign-in to a server failed, by home and server. */
  readonly #failures = new Map<string, string>()

  constructor(servers: ServerLookup, dispatcher: Dispatcher | undefined, clock: Clock) {
    this.#servers = servers
    this.#dispatcher = dispatcher
    this.#clock = clock
  }

  /** Whether a sign-in waits for the browser, and why the last one failed. */
  status(home: Home, name: string): { pending: boolean; paste: boolean; failure: string | null } {
    const pending = this.#find(home, name)?.[1]
    const failure = this.#failures.get(keyOf(home, name)) ?? null
    return { pending: pending !== undefined, paste: pending?.paste ?? false, failure }
  }

  /** Starts a sign-in. The page sends the browser to the returned address. Throws a UserError. */
  async start(home: Home, name: string, at: Started): Promise<StartedSignIn> {
    const config = this.#servers.current(home, name)
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
    return this.begin(home, config, server.tokens()?.challenge() ?? {}, at)
  }

  /** `redirectUri` is our own callback as the browser sees it. Throws a UserError. */
  async begin(
    home: Home,
    server: HttpServer,
    challenge: Challenge,
    at: Started,
  ): Promise<StartedSignIn> {
    const { browser, signal } = at
    this.cancel(home, server.name)
    const options = { ...this.#fetchOptions(home, server), signal }
    const target = await discover(server, challenge, options)
    const { metadata, resource, scope } = target
    const uri = server.oauth.redirectUri ?? at.redirectUri
    const { client, redirectUri } = await this.#client(server, metadata, uri, scope, options)
    const { startAuthorization } = await import('@modelcontextprotocol/client')
    const state = randomBytes(32).toString('base64url')
    const { authorizationUrl, codeVerifier } = await startAuthorization(metadata.issuer, {
      metadata,
      clientInformation: client,
      redirectUrl: redirectUri,
      state,
      ...(scope !== undefined && { scope }),
      ...(resource !== null && { resource }),
    }).catch((error: unknown) => {
      throw unavailable(`The sign-in is not possible: ${messageOf(error)}`, {
        code: 'mcp_sign_in_failed',
        values: { reason: messageOf(error) },
      })
    })
    const paste = redirectUri !== at.redirectUri
    // Again: another start, from another device, may have passed this one.
    this.cancel(home, server.name)
    this.#pending.set(state, {
      ...{ home, server, browser: hashOf(browser), redirectUri, metadata, resource, client },
      ...{ codeVerifier, paste, until: this.#clock.now() + LIFETIME_MS },
    })
    return { url: authorizationUrl.href, paste }
  }

  /**
   * Ends a sign-in with the reply of the authorization server. Returns the home and server it was for, also when it failed:
   * `status` has the reason. Throws a UserError for a reply that belongs to no sign-in of `from`: the browser that
   * began it, or the home in which the person has pasted the address.
   */
  async finish(
    reply: SignInReply,
    from: { browser: Browser } | { home: Home },
  ): Promise<{ home: Home; name: string; ok: boolean }> {
    const state = reply.state ?? ''
    this.#dropExpired()
    const pending = this.#pending.get(state)
    const isOwn =
      pending &&
      ('home' in from
        ? pending.home.dir === from.home.dir
        : pending.browser === hashOf(from.browser))
    if (!isOwn) throw invalid(EXPIRED, { code: 'sign_in_expired' })
    // Before anything is awaited: used once, whatever comes of it.
    this.#pending.delete(state)
    const { home, server } = pending
    const key = keyOf(home, server.name)
    try {
      await this.#exchange(pending, reply)
      this.#failures.delete(key)
    } catch (error) {
      this.#failures.set(key, messageOf(error))
      return { home, name: server.name, ok: false }
    }
    const running = this.#servers.running(home, server.name)
    await running?.restart()
    // In the background: the page shows its state.
    void running?.ensureStarted(0)
    return { home, name: server.name, ok: true }
  }

  /** Ends a sign-in that waits for the browser, and forgets why the last one failed. */
  cancel(home: Home, name: string): void {
    const pending = this.#find(home, name)
    if (pending) this.#pending.delete(pending[0])
    this.#failures.delete(keyOf(home, name))
  }

  /** Deletes and revokes the tokens of a server, if it has any. Null, or why they could not be revoked. */
  async signOut(home: Home, name: string): Promise<string | null> {
    const server = this.#servers.current(home, name)
    if (!server) return null
    this.cancel(home, name)
    const file = new SignInFile(home.dir, server)
    const signIn = file.read()
    file.remove()
    const problem = signIn && (await this.#revoke(home, server, signIn))
    await this.#servers.running(home, name)?.restart()
    return problem
  }

  /** RFC 7009. Null, or why it could not. */
  async #revoke(home: Home, server: HttpServer, signIn: StoredSignIn): Promise<string | null> {
    const token = signIn.grant?.refresh_token ?? signIn.grant?.access_token
    if (token === undefined) return null
    const { client, metadata } = signIn
    if (metadata.revocation_endpoint === undefined)
      return 'The authorization server offers no way to revoke tokens; they end by themselves.'
    const form = new URLSearchParams({ token, client_id: client.client_id })
    if (client.client_secret !== undefined) form.set('client_secret', client.client_secret)
    const signal = AbortSignal.timeout(REVOKE_TIMEOUT_MS)
    const { fetch } = new AuthFetch({ ...this.#fetchOptions(home, server), signal })
    try {
      const { status } = await fetch(metadata.revocation_endpoint, { method: 'POST', body: form })
      return status < 300 ? null : `The authorization server did not revoke the tokens (${status}).`
    } catch (error) {
      return `The tokens were deleted here but not revoked: ${reasonOf(error)}.`
    }
  }

  #find(home: Home, name: string): [string, Pending] | undefined {
    this.#dropExpired()
    return [...this.#pending].find(
      ([, { home: own, server }]) => own.dir === home.dir && server.name === name,
    )
  }

  #dropExpired(): void {
    const now = this.#clock.now()
    for (const [state, { until }] of this.#pending)
      if (until <= now || this.#pending.size >= MAX_PENDING) this.#pending.delete(state)
  }

  #fetchOptions(home: Home, { url }: HttpServer): AuthFetchOptions {
    const { allow_private_urls: allowPrivate } = home.config().browser
    return { serverUrl: url, allowPrivate, dispatcher: this.#dispatcher }
  }

  /** The configured client, or one registered for this sign-in (RFC 7591): a server may have forgotten an earlier one. */
  async #client(
    { oauth }: HttpServer,
    metadata: AuthorizationServerMetadata,
    redirectUri: string,
    scope: string | undefined,
    options: AuthFetchOptions,
  ): Promise<{ client: OAuthClientInformationMixed; redirectUri: string }> {
    if (oauth.clientId !== null) {
      const secret = oauth.clientSecret === null ? {} : { client_secret: oauth.clientSecret }
      return { client: { client_id: oauth.clientId, ...secret }, redirectUri }
    }
    if (metadata.registration_endpoint === undefined)
      throw unavailable(
        'The authorization server registers no clients. Create one there and set oauth.client_id of this server in config.yaml.',
        { code: 'mcp_no_registration' },
      )
    const { registerClient, RegistrationRejectedError, resolveClientMetadata } = await import(
      '@modelcontextprotocol/client'
    )
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['none']
    const register = async (uri: string) => {
      const clientMetadata = resolveClientMetadata({
        redirectUrl: uri,
        clientMetadata: {
          client_name: oauth.clientName,
          redirect_uris: [uri],
          response_types: ['code'],
          token_endpoint_auth_method: methods.includes('none') ? 'none' : methods[0],
        },
      } as unknown as Parameters<typeof resolveClientMetadata>[0])
      const { fetch: fetchFn } = new AuthFetch(options)
      const request = { metadata, clientMetadata, ...(scope !== undefined && { scope }), fetchFn }
      return { client: await registerClient(metadata.issuer, request), redirectUri: uri }
    }
    try {
      return await register(redirectUri).catch((error: unknown) => {
        // Many accept only https and loopback addresses (RFC 8252 §7.3).
        if (!(error instanceof RegistrationRejectedError) || error.status >= 500) throw error
        return register(LOOPBACK_REDIRECT)
      })
    } catch (error) {
      if (error instanceof UserError) throw error
      const reason =
        error instanceof RegistrationRejectedError
          ? sentence('oauth.status', { status: error.status ?? '' })
          : reasonOf(error)
      throw unavailable(
        `The authorization server did not register this client: ${reason}. Set oauth.client_id of this server in config.yaml.`,
        { code: 'mcp_not_registered', values: { reason } },
      )
    }
  }

  async #exchange(pending: Pending, { code, error, iss }: SignInReply): Promise<void> {
    const { home, server, metadata, client, resource } = pending
    if (this.#servers.current(home, server.name)?.url !== server.url)
      throw unavailable(
        'The address of the server has changed during the sign-in. Start it again.',
        {
          code: 'sign_in_expired',
        },
      )
    const library = await import('@modelcontextprotocol/client')
    try {
      // Also for an error: a reply of another server says nothing about this sign-in (RFC 9207 §2.4).
      library.validateAuthorizationResponseIssuer({
        iss,
        expectedIssuer: metadata.issuer,
        issParameterSupported: metadata.authorization_response_iss_parameter_supported === true,
      })
    } catch {
      throw unavailable('The reply came from another authorization server, so it was not used.', {
        code: 'mcp_other_server',
      })
    }
    if (error !== undefined)
      throw unavailable(
        sentenceFor(error),
        error === 'access_denied'
          ? { code: 'mcp_sign_in_denied' }
          : { code: 'mcp_sign_in_failed', values: { reason: visibleWords(error.slice(0, 60)) } },
      )
    if (!code)
      throw unavailable('The reply of the authorization server contains no code.', {
        code: 'sign_in_expired',
      })
    const { fetch: fetchFn } = new AuthFetch(this.#fetchOptions(home, server))
    const { codeVerifier, redirectUri } = pending
    const tokens = await library
      .exchangeAuthorization(metadata.issuer, {
        ...{ metadata, clientInformation: client, authorizationCode: code, codeVerifier },
        ...{ redirectUri, fetchFn, ...(iss !== undefined && { iss }) },
        ...(resource !== null && { resource }),
      })
      .catch((cause: unknown) => {
        throw unavailable(`The sign-in failed: ${reasonOf(cause)}.`, {
          code: 'mcp_sign_in_failed',
          values: { reason: reasonOf(cause) },
        })
      })
    const { issuer, token_endpoint, token_endpoint_auth_methods_supported } = metadata
    const revocation_endpoint =
      'revocation_endpoint' in metadata ? metadata.revocation_endpoint : undefined
    new SignInFile(home.dir, server).write({
      version: 1,
      url: server.url,
      metadata: {
        ...{ issuer, token_endpoint },
        ...(revocation_endpoint && { revocation_endpoint: String(revocation_endpoint) }),
        ...(token_endpoint_auth_methods_supported && { token_endpoint_auth_methods_supported }),
      },
      resource,
      client: { ...client },
      grant: toStoredTokens(tokens, this.#clock.now()),
    })
  }
}
