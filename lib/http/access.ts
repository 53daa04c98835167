/** Who may make a request: host name, sign-in, origin, and programs that the agent started. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { ACCOUNT_HEADER } from '../base/page-headers.ts'
import { conflict, forbidden, invalid, missing, unauthorized, UserError } from '../errors.ts'
import type { Access as Asked, Caller } from '../schema/person.ts'
import { OWNER } from '../schema/person.ts'
import { type Client, readUser } from './client-address.ts'
import { schemeHint } from './proxy-hints.ts'
import { checkOrigin, isCrossSite, KnownHosts, UNKNOWN_HOST } from './origin.ts'
import { cookiesOf, type Exchange } from './request-context.ts'
import type { AnyEndpoint } from './endpoint.ts'

/** Decides about sign-ins; `lib/people/auth.ts` makes one. */
export type Authenticator = {
  /** A sign-in is required: a password is set, or one has to be. */
  isRequired(): boolean
  /** The person whose sign-in the request proves. */
  personOf(request: Credentials): Caller | undefined
  /** Signs in the user whom a trusted proxy names: a cookie for SESSION_COOKIE and its header. Undefined: no person is this user. */
  admitUser?(request: Credentials): { cookies: Record<string, string>; header: string } | undefined
  /** Whether a person of this role may call such endpoints at all. */
  may(person: Caller, access: Asked): boolean
  /** Names who is signed in; null when no one is. Absent: accounts are not checked. */
  account?(cookies: Readonly<Record<string, string>>): string | null
  /** Pending while stored sign-ins cannot be verified yet, shortly after a start. */
  ready?(): Promise<unknown> | undefined
  /** Absent: endpoints for tokens do not exist. */
  tokens?: TokenCheck | undefined
}

/** What a request can prove a sign-in with. */
export type Credentials = {
  cookies: Readonly<Record<string, string>>
  headers: IncomingHttpHeaders
  /** Only determined when needed. */
  client: () => Client
  /** Whom a trusted proxy names. */
  user: string | undefined
}

/** Decides about API tokens; `lib/people/api-tokens.ts`. */
export type TokenCheck = {
  /** Whether the request brings a token for the endpoints of the page. */
  isGiven(headers: IncomingHttpHeaders): boolean
  /** For whom it acts. Throws when it has no valid token for this path, or the API is off. */
  admit(
    headers: IncomingHttpHeaders,
    from: Client,
    request: { path: string; access: Asked },
  ): Caller
  isValid(headers: IncomingHttpHeaders): boolean
}

/** Whether a program that this server started is at the other end of the socket. */
export type IsOwnChild = (socket: Socket) => boolean

/** The only script that browsers may run as a service worker. */
const WORKER = '/sw.js'

const OTHER_ACCOUNT = 'Someone else is signed in in this browser now. Reload the page.'

const FROM_CHILD =
  'Programs started by the agent cannot change anything here or sign in. Do it in the page, or ask in the chat.'

const REFUSED: Readonly<Record<Asked, string>> = {
  own: 'Only an owner of this server can do this.',
  work: 'You can read here, but not change anything.',
  read: 'You may not see this.',
}

/** The person is still who they were when the request was admitted, with the same role and profiles. */
const isSame = (now: Caller | undefined, before: Caller | undefined): boolean =>
  now === before ||
  (now !== undefined &&
    now.id === before?.id &&
    now.role === before.role &&
    JSON.stringify(now.profiles) === JSON.stringify(before.profiles))

const isApi = (path: string): boolean => path === '/api' || path.startsWith('/api/')

const isReading = ({ method }: Exchange): boolean => method === 'GET' || method === 'HEAD'

export type AccessConfig = {
  host: string
  allowedOrigins: readonly string[]
  /** The header in which a trusted proxy names a user (AGENT_WEBUI_AUTH_HEADER). */
  authHeader?: string | null
  isVouched?: boolean
}

export class Access {
  readonly #options
  #warn: ((text: string) => void) | undefined
  readonly #hosts: KnownHosts

  constructor(options: {
    authenticator: Authenticator
    config: AccessConfig
    /** Absent where the peer's process cannot be determined. */
    isOwnChild?: IsOwnChild | undefined
    clientOf: (x: Exchange) => Client
    warn?: ((text: string) => void) | undefined
  }) {
    this.#options = options
    const { config } = options
    this.#warn = options.warn
    this.#hosts = new KnownHosts(config.host, config.allowedOrigins)
  }

  /** Throws a 400 for a user that anyone but a trusted proxy names, a 403 for one that the agent's own programs name. */
  readUser(x: Exchange): void {
    x.user = readUser(x.req, this.#options.config.authHeader, () => this.#options.clientOf(x))
    if (x.user !== undefined && this.#options.isOwnChild?.(x.req.socket))
      throw forbidden(FROM_CHILD, { code: 'own_program' })
  }

  /** Without a password, rejects host names that DNS rebinding could point at us. */
  checkHost(x: Exchange): void {
    const { req } = x
    const { host } = req.headers
    if (host === undefined) {
      if (req.httpVersionMinor > 0) throw invalid('The Host header is missing')
      return
    }
    // A page of another site cannot be someone whom the proxy has signed in there.
    if (this.#options.config.isVouched) return
    const isKnown =
      this.#hosts.has(host) &&
      (req.headers['x-forwarded-host'] === undefined ||
        this.#hosts.has(this.#options.clientOf(x).host))
    if (!isKnown && !this.#options.authenticator.isRequired())
      throw forbidden(UNKNOWN_HOST, { code: 'host_not_allowed' })
  }

  /** True when the request may proceed, false when it should be redirected to /login. Throws a 401 otherwise. */
  admit(x: Exchange, endpoint: AnyEndpoint | undefined): boolean {
    const access = endpoint?.access ?? (endpoint?.byToken ? 'work' : 'own')
    if (endpoint?.byToken) {
      this.#admitToken(x, access)
      return true
    }
    if (endpoint?.public) {
      this.#refreshUser(x)
      this.#checkAccount(x)
      return true
    }
    const person = this.#usesToken(x)
      ? this.#admitToken(x, access)
      : (this.#personOf(x) ?? this.#admitUser(x))
    if (person) {
      // Before the role: the page shall reload, whatever the other person may do.
      this.#checkAccount(x)
      if (endpoint && !this.#options.authenticator.may(person, access))
        throw forbidden(REFUSED[access], { code: 'role_not_allowed' })
      x.person = person
      return true
    }
    const isPage = endpoint ? endpoint.page : !isApi(x.path)
    if (isPage && isReading(x)) return false
    throw unauthorized('Authentication required', { code: 'sign_in_required' })
  }

  /** Rejects cross-site requests, and writes by programs that the agent started: it could approve its own commands. */
  checkSource(x: Exchange, endpoint: AnyEndpoint): void {
    const { req } = x
    // A file of the workspace must never answer requests of the page, also after its script has ended.
    if (req.headers['service-worker'] === 'script' && x.path !== WORKER)
      throw forbidden('Only the app’s own service worker can be used here.')
    if (!isReading(x) || endpoint.effects || this.#usesToken(x)) {
      if (!endpoint.linked) {
        checkOrigin(req, this.#options.clientOf(x), this.#options.config.allowedOrigins)
        this.#warnOfScheme(x)
      }
      if (this.#options.isOwnChild?.(req.socket))
        throw forbidden(FROM_CHILD, { code: 'own_program' })
    } else if (isApi(x.path) && isCrossSite(req)) {
      // Pages may be linked to. Replies of the API are for our own pages, with or without a password.
      checkOrigin(req, this.#options.clientOf(x), this.#options.config.allowedOrigins)
    }
  }

  /** Whether the sign-in that this request was admitted by is still valid. */
  isStillAdmitted(x: Exchange): boolean {
    return this.#usesToken(x)
      ? (this.#options.authenticator.tokens?.isValid(x.req.headers) ?? false)
      : isSame(this.#personOf(x), x.person)
  }

  #credentialsOf(x: Exchange): Credentials {
    return {
      cookies: cookiesOf(x),
      headers: x.req.headers,
      client: () => this.#options.clientOf(x),
      user: x.user,
    }
  }

  #personOf(x: Exchange): Caller | undefined {
    return this.#options.authenticator.isRequired()
      ? this.#options.authenticator.personOf(this.#credentialsOf(x))
      : OWNER
  }

  /** Signs in whom a trusted proxy names. From then on, the request has the cookie that the response sets. */
  #admitUser(x: Exchange): Caller | undefined {
    const signIn =
      x.user === undefined
        ? undefined
        : this.#options.authenticator.admitUser?.(this.#credentialsOf(x))
    if (!signIn) return undefined
    x.headers.push('Set-Cookie', signIn.header)
    x.cookies = { ...cookiesOf(x), ...signIn.cookies }
    return this.#personOf(x)
  }

  /** Public endpoints that say who is signed in must not rely on a cookie alone. */
  #refreshUser(x: Exchange): void {
    if (!this.#options.config.authHeader) return
    try {
      if (!this.#personOf(x)) this.#admitUser(x)
    } catch (error) {
      // The file of the people cannot be read. Signing in says so; the page itself must work.
      if (!(error instanceof UserError)) throw error
    }
  }

  /** Once: the next request would say the same. */
  #warnOfScheme(x: Exchange): void {
    const hint = this.#warn ? schemeHint(x.req, this.#options.clientOf(x)) : null
    if (hint === null) return
    this.#warn?.(hint)
    this.#warn = undefined
  }

  /** The programs' own endpoints, and those of the page for a request that brings a token. */
  #usesToken({ endpoint, path, req }: Exchange): boolean {
    return (
      endpoint?.byToken === true ||
      (isApi(path) && (this.#options.authenticator.tokens?.isGiven(req.headers) ?? false))
    )
  }

  #admitToken(x: Exchange, access: Asked): Caller {
    if (!this.#options.authenticator.tokens) throw missing('not found')
    // Only the token counts, so that a program gets no more than it gives.
    x.cookies = {}
    return this.#options.authenticator.tokens.admit(x.req.headers, this.#options.clientOf(x), {
      path: x.path,
      access,
    })
  }

  /**
   * Rejects requests of a page that was opened by someone else: in one browser another person can sign in while it is
   * open, and what was written in it must not be sent in their name.
   */
  #checkAccount(x: Exchange): void {
    const expectedAccount = x.req.headers[ACCOUNT_HEADER]
    if (expectedAccount === undefined || !this.#options.authenticator.account) return
    const account = this.#options.authenticator.account(cookiesOf(x))
    if (account !== null && account !== expectedAccount)
      throw conflict(OTHER_ACCOUNT, { code: 'other_account' })
  }
}
