/** Who may make a request: host name, sign-in, origin, and programs that the agent started. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { forbidden, invalid, missing, unauthorized } from '../errors.ts'
import type { Client } from './client-address.ts'
import { checkOrigin, createHostCheck, isCrossSite, UNKNOWN_HOST } from './origin.ts'
import { cookiesOf, type Exchange } from './request-context.ts'
import type { AnyEndpoint } from './endpoint.ts'

/** Decides about sign-ins; `lib/auth/authenticator.ts` makes one. */
export type Authenticator = {
  /** A sign-in is required: a password is set, or one has to be. */
  isRequired(): boolean
  /** These cookies prove a sign-in. `address`: the client's, only determined when needed. */
  isAuthenticated(cookies: Readonly<Record<string, string>>, address: () => string): boolean
  /** Pending while stored sign-ins cannot be verified yet, shortly after a start. */
  ready?(): Promise<unknown> | undefined
  /** Absent: endpoints for tokens do not exist. */
  tokens?: TokenCheck
}

/** Decides about API tokens; `lib/api-tokens/api-tokens.ts`. */
export type TokenCheck = {
  /** Throws when the request has no valid token, or the API is off. */
  require(headers: IncomingHttpHeaders, from: Client): unknown
  isValid(headers: IncomingHttpHeaders): boolean
}

/** Whether a program that this server started is at the other end of the socket. */
export type IsOwnChild = (socket: Socket) => boolean

export type AccessOptions = {
  authenticator: Authenticator
  config: { host: string; allowedOrigins: readonly string[] }
  /** Absent where the peer's process cannot be determined. */
  isOwnChild?: IsOwnChild | undefined
  clientOf: (x: Exchange) => Client
}

const FROM_CHILD =
  'Programs started by the agent cannot change anything here or sign in. Do it in the page, or ask in the chat.'

const isApi = (path: string): boolean => path === '/api' || path.startsWith('/api/')

const isReading = ({ method }: Exchange): boolean => method === 'GET' || method === 'HEAD'

export type Access = ReturnType<typeof createAccess>

export const createAccess = ({ authenticator, config, isOwnChild, clientOf }: AccessOptions) => {
  const isKnownHost = createHostCheck(config.host, config.allowedOrigins)
  const isSignedIn = (x: Exchange): boolean =>
    authenticator.isAuthenticated(cookiesOf(x), () => clientOf(x).address)

  return {
    /** Without a password, rejects host names that DNS rebinding could point at us. */
    checkHost(x: Exchange): void {
      const { req } = x
      const { host } = req.headers
      if (host === undefined) {
        if (req.httpVersionMinor > 0) throw invalid('The Host header is missing')
        return
      }
      const isKnown =
        isKnownHost(host) &&
        (req.headers['x-forwarded-host'] === undefined || isKnownHost(clientOf(x).host))
      if (!isKnown && !authenticator.isRequired())
        throw forbidden(UNKNOWN_HOST, { code: 'host_not_allowed' })
    },

    /** True when the request may proceed, false when it should be redirected to /login. Throws a 401 otherwise. */
    admit(x: Exchange, endpoint: AnyEndpoint | undefined): boolean {
      if (endpoint?.byToken) {
        if (!authenticator.tokens) throw missing('not found')
        authenticator.tokens.require(x.req.headers, clientOf(x))
        return true
      }
      if (endpoint?.public || !authenticator.isRequired()) return true
      if (isSignedIn(x)) return true
      const isPage = endpoint ? endpoint.page : !isApi(x.path)
      if (isPage && isReading(x)) return false
      throw unauthorized('Authentication required', { code: 'sign_in_required' })
    },

    /** Rejects cross-site requests, and writes by programs that the agent started: it could approve its own commands. */
    checkSource(x: Exchange, endpoint: AnyEndpoint): void {
      const { req } = x
      if (!isReading(x) || endpoint.effects || endpoint.byToken) {
        if (!endpoint.linked) checkOrigin(req, clientOf(x), config.allowedOrigins)
        if (isOwnChild?.(req.socket)) throw forbidden(FROM_CHILD, { code: 'own_program' })
      } else if (isApi(x.path) && isCrossSite(req)) {
        // Pages may be linked to. Replies of the API are for our own pages, with or without a password.
        checkOrigin(req, clientOf(x), config.allowedOrigins)
      }
    },

    /** Whether the sign-in that this request was admitted by is still valid. */
    isStillAdmitted: (x: Exchange): boolean =>
      x.endpoint?.byToken
        ? (authenticator.tokens?.isValid(x.req.headers) ?? false)
        : !authenticator.isRequired() || isSignedIn(x),
  }
}
