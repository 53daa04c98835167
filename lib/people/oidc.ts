/**
 * OpenID Connect: the authorization code flow with PKCE, by `openid-client`. No state is stored: `state` is signed and bound
 * to a random cookie of the browser, from which nonce and PKCE verifier are derived. So a flood of starts costs no memory.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { Configuration } from 'openid-client'
import type { Dispatcher } from 'undici'
import { type Clock, toSeconds, waitAtMost } from '../base/clock.ts'
import { isLoopbackHost } from '../base/local-network.ts'
import type { OidcConfig } from '../config.ts'
import { UserError } from '../errors.ts'
import { formatCookie } from '../http/cookies.ts'
import { describeNetworkError } from '../http/network-error.ts'
import { fileReason } from '../store/file-error.ts'
import { readWholeText } from '../store/read-text.ts'
import { Challenges } from './challenges.ts'
import type { ExternalIdentity } from './identities.ts'

/** As the browser sees this server. */
export type PageOrigin = { secure: boolean; host: string; prefix: string }

/** Why a sign-in at the provider did not succeed. The page has a sentence for each. */
export type OidcProblem =
  | 'unreachable' // the provider does not answer, or not as one
  | 'refused' // it sent an error: the person canceled, or may not use this application
  | 'expired' // too late, already used, or begun in another browser
  | 'rejected' // its answer does not prove who this is
  | 'unknown' // no person here has this identity
  | 'throttled' // too many answers that were not accepted

export class OidcFailure extends UserError {
  readonly problem: OidcProblem
  constructor(problem: OidcProblem, message: string) {
    super(problem === 'unreachable' ? 'unavailable' : 'unauthorized', message)
    this.problem = problem
  }
}

const LIFETIME_MS = 300_000
const CLOCK_TOLERANCE_MS = 60_000
/** How long signing out waits for the address of the provider's own sign-out. */
const LOGOUT_WAIT_MS = 2_000
const MAX_TEXT_CHARS = 255
const CALLBACK = '/api/auth/oidc/callback'

const clip = (text: unknown): string =>
  typeof text === 'string' ? text.slice(0, MAX_TEXT_CHARS) : ''

/** `__Host-` keeps other sites of the same domain from setting it, but exists only over https. */
const cookieName = (secure: boolean): string => (secure ? '__Host-agent_oidc' : 'agent_oidc')

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url')

const derive = (secret: string, what: string, state: string): string =>
  createHmac('sha256', secret).update(`${what} ${state}`).digest('base64url')

const originOf = ({ secure, host }: PageOrigin): string => `${secure ? 'https' : 'http'}://${host}`

/** Throws one sentence when the file cannot be used. */
export const readClientSecret = ({ clientSecret, clientSecretFile }: OidcConfig): string | null => {
  if (clientSecretFile === null) return clientSecret
  let text: string
  try {
    text = readWholeText(clientSecretFile).trim()
  } catch (error) {
    throw new Error(`AGENT_WEBUI_OIDC_CLIENT_SECRET_FILE cannot be read: ${fileReason(error)}`)
  }
  if (text === '') throw new Error('AGENT_WEBUI_OIDC_CLIENT_SECRET_FILE is empty')
  return text
}

const TIMEOUT_MS = 10_000
const MAX_BYTES = 1 << 20

/** Statuses whose responses have no body. */
const EMPTY: ReadonlySet<number> = new Set([101, 103, 204, 205, 304])

/** https, or http to a provider on this machine. What the provider publishes about itself is not trusted to be. */
const isProtected = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname))

type FetchInit = {
  method: string
  headers: Record<string, string>
  body?: unknown
  signal?: AbortSignal | undefined
}

/** In the form of `fetch`, as the library takes it. Redirects are not followed. `signal` also limits the body. */
const providerFetch = async (
  address: string,
  { method, headers, body }: FetchInit,
  dispatcher: Dispatcher | undefined,
  signal: AbortSignal,
): Promise<Response> => {
  const url = new URL(address)
  if (!isProtected(url)) throw new Error(`${url.origin} is not reached over https`)
  const { request } = await import('undici')
  const reply = await request(url, {
    method: method as Dispatcher.HttpMethod,
    headers,
    body: body === undefined || body === null ? null : String(body),
    // Also for the body, which a provider could send one byte at a time.
    signal,
    ...(dispatcher && { dispatcher }),
  })
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of reply.body) {
    size += chunk.length
    // Leaving the loop destroys the body.
    if (size > MAX_BYTES) throw new Error(`the reply of ${url.host} is too long`)
    chunks.push(chunk)
  }
  const type = reply.headers['content-type']
  return new Response(EMPTY.has(reply.statusCode) ? null : Buffer.concat(chunks), {
    status: reply.statusCode,
    headers: type === undefined ? {} : { 'content-type': String(type) },
  })
}

/** 100 kB that only servers with a provider need. */
const library = () => import('openid-client')

export class Oidc {
  readonly #config
  readonly #clientSecret
  readonly #clock
  readonly #log
  readonly #challenges: Challenges
  readonly #closing = new AbortController()
  readonly #fetch
  #configuration: Promise<Configuration> | undefined
  readonly name

  constructor(options: {
    config: OidcConfig
    clientSecret: string | null
    clock: Clock
    dispatcher?: Dispatcher | undefined
    log: { warn(text: string): void }
    /** Of one request to the provider, for tests. */
    timeoutMs?: number | undefined
  }) {
    const { config, clientSecret, clock, log } = options
    this.#config = config
    this.#clientSecret = clientSecret
    this.#clock = clock
    this.#log = log
    this.#challenges = new Challenges(clock)
    const { dispatcher, timeoutMs = TIMEOUT_MS } = options
    this.#fetch = (address: string, init: FetchInit) =>
      providerFetch(
        address,
        init,
        dispatcher,
        AbortSignal.any([this.#closing.signal, AbortSignal.timeout(timeoutMs)]),
      )
    this.name = config.name
  }

  /** Where to send the browser, and the cookie to give it. `purpose` is what the answer may be used for. */
  async begin(place: PageOrigin, purpose: string): Promise<{ url: string; cookie: string }> {
    const configuration = await this.#provider()
    const client = await library()
    const secret = randomBytes(32).toString('base64url')
    const state = Buffer.from(this.#challenges.create(this.#purposeOf(secret, purpose))).toString(
      'base64url',
    )
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: `${originOf(place)}${place.prefix}${CALLBACK}`,
      scope: this.#config.scopes,
      state,
      nonce: derive(secret, 'nonce', state),
      code_challenge: digest(derive(secret, 'verifier', state)),
      code_challenge_method: 'S256',
    })
    if (!isProtected(url))
      throw new OidcFailure('unreachable', `${url.origin} is not reached over https.`)
    const cookie = formatCookie(cookieName(place.secure), secret, {
      maxAge: toSeconds(LIFETIME_MS),
      secure: place.secure,
    })
    return { url: url.href, cookie }
  }

  /** Removes the cookie of `begin`. */
  endCookie({ secure }: PageOrigin): string {
    return formatCookie(cookieName(secure), '', { maxAge: 0, secure })
  }

  /**
   * The identity that the answer proves. Only in the browser that began, once, and for one of these purposes.
   * Throws an OidcFailure. `needsEmail`: nothing is known about this subject yet.
   */
  async finish(
    place: PageOrigin,
    answer: {
      query: string
      cookies: Readonly<Record<string, string>>
      purposes: readonly string[]
      needsEmail: (identity: ExternalIdentity) => boolean
    },
  ): Promise<{ identity: ExternalIdentity; purpose: string }> {
    const secret = answer.cookies[cookieName(place.secure)] ?? ''
    const url = new URL(`${originOf(place)}${place.prefix}${CALLBACK}?${answer.query}`)
    const states = url.searchParams.getAll('state')
    const [state = ''] = states
    const purpose = answer.purposes.find(
      each => secret !== '' && this.#challenges.spend(state, this.#purposeOf(secret, each)),
    )
    if (states.length !== 1 || purpose === undefined)
      throw new OidcFailure('expired', 'The sign-in took too long or began elsewhere.')
    const configuration = await this.#provider()
    const client = await library()
    try {
      const tokens = await client.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        expectedNonce: derive(secret, 'nonce', state),
        pkceCodeVerifier: derive(secret, 'verifier', state),
        idTokenExpected: true,
      })
      return {
        identity: await this.#identityOf(configuration, tokens as never, answer.needsEmail),
        purpose,
      }
    } catch (error) {
      const problem = problemOf(error)
      this.#log.warn(`sign-in with ${this.#config.name}: ${reasonOf(error)}`)
      throw new OidcFailure(problem, `The answer of ${this.#config.name} was not accepted.`)
    }
  }

  /** Where the person can sign out of the provider too; undefined when it offers that nowhere or does not answer soon. */
  async signOutUrl(): Promise<string | undefined> {
    // Signing out here has happened already; the provider's part is optional.
    const provider = this.#provider().catch(() => undefined)
    const configuration = await waitAtMost(this.#clock, LOGOUT_WAIT_MS, provider)
    const end = configuration?.serverMetadata().end_session_endpoint
    if (!end || !URL.canParse(end) || !isProtected(new URL(end))) return undefined
    const url = new URL(end)
    url.searchParams.set('client_id', this.#config.clientId)
    return url.href
  }

  /** Throws an OidcFailure when the provider does not answer as one. */
  async check(): Promise<void> {
    void (await this.#provider())
  }

  close(): void {
    this.#closing.abort()
  }

  async #discover(): Promise<Configuration> {
    const client = await library()
    const issuer = new URL(this.#config.issuer)
    const isHttp = issuer.protocol === 'http:'
    const configuration = await client.discovery(
      issuer,
      this.#config.clientId,
      { [client.clockTolerance]: toSeconds(CLOCK_TOLERANCE_MS) },
      this.#clientSecret === null ? client.None() : client.ClientSecretBasic(this.#clientSecret),
      {
        [client.customFetch]: this.#fetch as never,
        // `fetch` allows http on this machine only.
        execute: isHttp
          ? [client.allowInsecureRequests, client.enableNonRepudiationChecks]
          : [client.enableNonRepudiationChecks],
      },
    )
    const { token_endpoint_auth_methods_supported: methods } = configuration.serverMetadata()
    if (this.#clientSecret === null || !methods || methods.includes('client_secret_basic'))
      return configuration
    const posting = new client.Configuration(
      configuration.serverMetadata(),
      this.#config.clientId,
      { [client.clockTolerance]: toSeconds(CLOCK_TOLERANCE_MS) },
      client.ClientSecretPost(this.#clientSecret),
    )
    posting[client.customFetch] = this.#fetch as never
    if (isHttp) client.allowInsecureRequests(posting)
    client.enableNonRepudiationChecks(posting)
    return posting
  }

  /** One discovery for all who wait. A failed one is repeated with the next request. */
  async #provider(): Promise<Configuration> {
    this.#configuration ??= this.#discover()
    const mine = this.#configuration
    try {
      return await mine
    } catch (error) {
      if (this.#configuration === mine) this.#configuration = undefined
      this.#log.warn(`sign-in with ${this.#config.name}: ${reasonOf(error)}`)
      throw new OidcFailure('unreachable', `${this.#config.name} does not answer as expected.`)
    }
  }

  #purposeOf(secret: string, purpose: string): string {
    return `${purpose} ${digest(secret)}`
  }

  /** Claims of the token, with those of the userinfo endpoint when the token has no email address. */
  async #identityOf(
    configuration: Configuration,
    tokens: { access_token: string; claims(): Record<string, unknown> | undefined },
    needsEmail: (identity: ExternalIdentity) => boolean,
  ): Promise<ExternalIdentity> {
    const claims = tokens.claims() ?? {}
    const subject = claims.sub
    if (typeof subject !== 'string' || subject === '') throw new Error('the token has no subject')
    const read = (from: Record<string, unknown>): ExternalIdentity => {
      const email = clip(from.email)
      // Some providers send the word instead of the value.
      const isVerified = from.email_verified === true || from.email_verified === 'true'
      return {
        issuer: String(claims.iss),
        subject,
        email: isVerified && email !== '' ? email : null,
        name: clip(from.name) || clip(from.preferred_username) || email || subject,
      }
    }
    const identity = read(claims)
    if (claims.email !== undefined || !configuration.serverMetadata().userinfo_endpoint)
      return identity
    if (!needsEmail(identity)) return identity
    const { fetchUserInfo } = await library()
    return read({
      ...claims,
      ...(await fetchUserInfo(configuration, tokens.access_token, subject)),
    })
  }
}

/** The error and its causes. */
const chainOf = (error: unknown): Error[] => {
  const chain: Error[] = []
  for (let at = error; at instanceof Error && chain.length < 5; at = at.cause) chain.push(at)
  return chain
}

const isNetworkError = (error: Error): boolean =>
  /^(?:TimeoutError|AbortError)$/.test(error.name) ||
  ('code' in error && /^(?:UND_ERR|E[A-Z]+$)/.test(String(error.code)))

/** What the network reports, or the outermost and the innermost message, without the bodies that some errors of the library carry. */
const reasonOf = (error: unknown): string => {
  const chain = chainOf(error)
  const network = chain.find(isNetworkError)
  if (network) return describeNetworkError(network).text
  // `error` is the code of an OAuth error, such as invalid_client.
  const texts = chain.map(each =>
    'error' in each && /^\w{1,50}$/.test(String(each.error))
      ? `${each.message} (${each.error})`
      : each.message,
  )
  return [...new Set([texts.at(0), texts.at(-1)])].join(': ').slice(0, 300)
}

/** The library names what failed by classes and codes; see its errors `AuthorizationResponseError` and `ResponseBodyError`. */
const problemOf = (error: unknown): OidcProblem => {
  const chain = chainOf(error)
  if (chain.some(({ name }) => name === 'AuthorizationResponseError')) return 'refused'
  return chain.some(isNetworkError) ? 'unreachable' : 'rejected'
}
