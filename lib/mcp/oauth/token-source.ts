/**
 * The access token of one MCP server: renewed before it expires, and once when the server rejects it. A refresh token is used
 * up by one request, so there is one renewal at a time (also between this service and the command line), the file is read
 * again under the lock, and the new tokens are written before they are used.
 */
import { sentence, type Words } from '../../base/sentences.ts'
import type { AuthorizationServerMetadata, AuthProvider } from '@modelcontextprotocol/client'
import type { Dispatcher } from 'undici'
import { type Clock, fromSeconds, toSeconds } from '../../base/clock.ts'
import { visibleWords } from '../../base/visible.ts'
import { UserError, wordsOf } from '../../errors.ts'
import { describeNetworkError } from '../../http/network-error.ts'
import { withFileLock } from '../../store/flock.ts'
import { Mutex } from '../../store/mutex.ts'
import type { HttpServer } from '../config.ts'
import { AuthFetch } from './auth-fetch.ts'
import { SignInFile, type StoredSignIn, type StoredTokens } from './stored-sign-in.ts'

/** What a server said when it rejected a request (RFC 6750, RFC 9728). */
export type Challenge = { resourceMetadataUrl?: URL | undefined; scope?: string | undefined }

export type TokenSourceOptions = {
  homeDir: string
  allowPrivate: () => boolean
  dispatcher: Dispatcher | undefined
  clock: Clock
}

/** The person has to sign in; nothing else helps. */
export class SignInNeeded extends Error {
  override name = 'SignInNeeded'
}

/** Renewed this long before its end, or in the last quarter of a shorter life. */
const MAX_SKEW_MS = 60_000
/** The lock is held during one request to the authorization server, which takes 10 s at most. */
const LOCK_WAIT_MS = 15_000
/** Pause after a renewal that failed for now, while the token is still valid. */
const RETRY_MS = 30_000
/** A token that is rejected this soon after its renewal was sent before it, or is rejected for another reason. */
const JUST_RENEWED_MS = 5_000

/** The refresh token, or the client it belongs to, is no longer accepted (RFC 6749 §5.2). */
const REJECTED = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client'])

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

/** A few words without anything that the other side sent, which could contain a token. */
export const reasonOf = (error: unknown): Words =>
  error instanceof UserError
    ? wordsOf(error)
    : error instanceof Error && error.name === 'OAuthError'
      ? sentence('oauth.answered', { code: visibleWords(codeOf(error).slice(0, 60)) })
      : describeNetworkError(error instanceof Error && error.cause ? error.cause : error)

/** `now`: milliseconds since 1970. Seconds are what authorization servers count in; a missing or invalid lifetime means that there is none. */
export const toStoredTokens = (
  reply: { access_token: string; refresh_token?: string; expires_in?: number; scope?: string },
  now: number,
): StoredTokens => {
  const { access_token, refresh_token, expires_in, scope } = reply
  const issued_at = Math.floor(toSeconds(now))
  return {
    access_token,
    ...(refresh_token !== undefined && { refresh_token }),
    ...(scope !== undefined && { scope }),
    issued_at,
    expires_at: expires_in === undefined ? null : issued_at + expires_in,
  }
}

/** `offered`: the configuration says that there is a sign-in. `none`: the server has never required one. */
export type SignInState = 'none' | 'offered' | 'needed' | 'signed_in'

/** As the files say; the server may have rejected it since. */
export const signInState = (homeDir: string, server: HttpServer): SignInState => {
  const signIn = new SignInFile(homeDir, server).read()
  if (signIn) return signIn.grant ? 'signed_in' : 'needed'
  return server.oauth.isExpected ? 'offered' : 'none'
}

/** Renewals of one file wait for each other, whichever profile object or server they are for. */
const locks = new Mutex()

export class TokenSource implements AuthProvider {
  readonly #server: HttpServer
  readonly #options: TokenSourceOptions
  readonly #file: SignInFile
  #challenge: Challenge = {}
  /** The server has rejected a request, and only the person can change that. */
  #isNeeded = false
  #renewedAt = Number.NEGATIVE_INFINITY
  #retryAt = 0

  constructor(server: HttpServer, options: TokenSourceOptions) {
    this.#server = server
    this.#options = options
    this.#file = new SignInFile(options.homeDir, server)
  }

  state(): SignInState {
    return this.#isNeeded ? 'needed' : signInState(this.#options.homeDir, this.#server)
  }

  /** The authorization server of the stored sign-in. */
  issuer = (): string | null => this.#file.read()?.metadata.issuer ?? null
  challenge = (): Challenge => this.#challenge

  /** For a request: renewed if need be. Undefined without a sign-in. */
  async token(): Promise<string | undefined> {
    const signIn = this.#file.read()
    if (!signIn?.grant) return undefined
    return this.#isFresh(signIn.grant, null) ? signIn.grant.access_token : this.#renew(null)
  }

  /** The server has answered 401. The request is sent once more when this resolves. */
  async onUnauthorized({ response }: { response: Response }): Promise<void> {
    const { extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client')
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
    this.#challenge = { resourceMetadataUrl, scope }
    if (this.#options.clock.monotonic() - this.#renewedAt < JUST_RENEWED_MS) return
    const rejected = this.#file.read()?.grant?.access_token
    if (rejected === undefined) throw this.needed()
    await this.#renew(rejected)
  }

  /** The server has rejected a renewed token, or requires permissions that were not granted. */
  needed(scope?: string): SignInNeeded {
    this.#isNeeded = true
    const { name } = this.#server
    if (scope !== undefined) {
      const granted = this.#file.read()?.grant?.scope ?? ''
      const all = new Set(`${granted} ${scope}`.split(' ').filter(Boolean))
      this.#challenge = { ...this.#challenge, scope: [...all].join(' ') }
    }
    const why = scope === undefined ? 'requires a sign-in' : 'requires more permissions'
    return new SignInNeeded(
      `The server ${why}. Only the user can do this: Settings → Tools → “Sign in” at ${name}.`,
    )
  }

  /** There is a new sign-in, or none any more. */
  reset(): void {
    this.#isNeeded = false
    this.#retryAt = 0
  }

  #isFresh(
    { access_token, issued_at, expires_at }: StoredTokens,
    rejected: string | null,
  ): boolean {
    if (access_token === rejected) return false
    if (expires_at === null) return true
    const { clock } = this.#options
    const leftMs = fromSeconds(expires_at) - clock.now()
    const skewMs = Math.min(MAX_SKEW_MS, fromSeconds(expires_at - issued_at) / 4)
    return leftMs > skewMs || (leftMs > 0 && clock.monotonic() < this.#retryAt)
  }

  /** The new access token. `rejected` is the one that the server did not accept. */
  #renew(rejected: string | null): Promise<string> {
    const { path } = this.#file
    return locks.run(path, () =>
      withFileLock(`${path}.lock`, { timeoutMs: LOCK_WAIT_MS }, async () => {
        const signIn = this.#file.read()
        if (!signIn?.grant) throw this.needed()
        // Renewed by another request or program while this one waited.
        if (this.#isFresh(signIn.grant, rejected)) return signIn.grant.access_token
        return this.#exchange(signIn, signIn.grant, rejected)
      }),
    )
  }

  async #exchange(
    signIn: StoredSignIn,
    tokens: StoredTokens,
    rejected: string | null,
  ): Promise<string> {
    const { refresh_token: refreshToken } = tokens
    const { clock, dispatcher, allowPrivate } = this.#options
    if (refreshToken === undefined) {
      if (
        tokens.access_token !== rejected &&
        fromSeconds(tokens.expires_at ?? Infinity) > clock.now()
      )
        return tokens.access_token
      this.#file.write({ ...signIn, grant: null })
      throw this.needed()
    }
    const { refreshAuthorization } = await import('@modelcontextprotocol/client')
    const { url: serverUrl } = signIn
    const { fetch } = new AuthFetch({ serverUrl, allowPrivate: allowPrivate(), dispatcher })
    // A disk that accepts no writes must be noticed before the refresh token is used up.
    this.#file.write(signIn)
    try {
      const renewed = await refreshAuthorization(signIn.metadata.issuer, {
        metadata: signIn.metadata as unknown as AuthorizationServerMetadata,
        clientInformation: signIn.client,
        refreshToken,
        ...(signIn.resource !== null && { resource: signIn.resource }),
        fetchFn: fetch,
      })
      const next = { ...toStoredTokens(renewed, clock.now()), scope: renewed.scope ?? tokens.scope }
      if (!this.#isStill(tokens)) return this.#changed()
      this.#file.write({ ...signIn, grant: next })
      this.#renewedAt = clock.monotonic()
      this.#isNeeded = false
      return next.access_token
    } catch (error) {
      if (!this.#isStill(tokens)) return this.#changed()
      if (REJECTED.has(codeOf(error))) {
        this.#file.write({ ...signIn, grant: null })
        throw this.needed()
      }
      this.#retryAt = clock.monotonic() + RETRY_MS
      if (this.#isFresh(tokens, rejected)) return tokens.access_token
      throw new Error(`The sign-in could not be renewed: ${reasonOf(error)}.`)
    }
  }

  /** False when the person has signed out, or in again, during a renewal: that must not be undone. */
  #isStill = ({ refresh_token: before }: StoredTokens): boolean =>
    this.#file.read()?.grant?.refresh_token === before

  #changed(): string {
    const now = this.#file.read()?.grant?.access_token
    if (now === undefined) throw this.needed()
    return now
  }
}
