/**
 * Keeps the sign-ins of auth.json valid: renews a token before it expires, and once when it is rejected (docs/sign-in.md).
 *
 * Refresh tokens are used up by one request. Therefore: one renewal at a time, under the lock shared with the host agent; the
 * file is read again under the lock, because another program may have renewed the sign-in; it is written before the new
 * token is used; and a file that cannot be written is noticed before the old token is spent.
 */
import { dirname, join } from 'node:path'
import type { Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import type { SignInReference } from '../../agent/types.ts'
import { isObject, type JsonObject } from '../../base/json.ts'
import { messageOf, unauthorized, unavailable, UserError } from '../../errors.ts'
import { withFileLock } from '../../store/flock.ts'
import { Mutex } from '../../store/mutex.ts'
import { realPath } from '../../store/path-within.ts'
import { LOCK_WAIT_MS, readAuth, writeAuth } from '../credential-pool/auth-json.ts'
import { SIGN_IN_ID } from '../credentials.ts'
import { signInKey, tokenOf } from '../provider-config.ts'
import { displayName, type Issuer, PROVIDERS } from '../providers.ts'
import { type NewTokens, requestToken, type TokenReply } from './request-token.ts'
import { tokensInShared, withSharedFile, writeShared } from './shared-sign-in.ts'
import {
  clientIdOf,
  fingerprint,
  isLapsed,
  isRejected,
  refreshTokenOf,
  signInExpired,
  type TokenFacts,
  tokenFacts,
} from './stored-token.ts'
import { entriesWith, findEntry, setRejected, setTokens } from './update-entry.ts'

export type SignInsOptions = {
  /** Where the host agent keeps its shared copy of the Nous Portal sign-in. */
  sharedFile: string
  dispatcher?: Dispatcher | undefined
  log: (line: string, extra?: Record<string, unknown>) => void
  clock: Clock
  issuerOf?: (provider: string) => Issuer | undefined
  /** Limit of the request to the issuer. Shorter than the host agent waits for the lock (15 s), which is held during the request. */
  timeoutMs?: number
  writeFile?: typeof writeAuth
}

/** The key of an endpoint that may be the token of a sign-in. */
export type SignInToken = { apiKey: string | null; signIn?: SignInReference }

type SignInEntry = { entry: JsonObject; key: string; facts: TokenFacts }
type Failed = { failed: string }
/** The key; null when there is no better one; or why the renewal failed for now. */
type Outcome = string | null | Failed

/** A token that expires sooner is renewed before it is used. */
const SKEW_MS = 120_000
const TIMEOUT_MS = 10_000
const LOCK = { timeoutMs: LOCK_WAIT_MS }
/** Delay after a failed renewal; it doubles up to the maximum. */
const FIRST_DELAY_MS = 2_000
const MAX_DELAY_MS = 5 * 60_000
/** A token that is rejected this soon after its renewal is rejected for another reason than its age. */
const JUST_RENEWED_MS = 60_000

const lookUp = (
  auth: JsonObject | null,
  { provider, id }: SignInReference,
): SignInEntry | undefined => {
  const entry = auth ? findEntry(auth, provider, id) : undefined
  if (!entry) return undefined
  const isOutsidePool = id === SIGN_IN_ID
  const key = isOutsidePool ? signInKey(provider, entry) : tokenOf(entry)
  const marked = isOutsidePool ? { ...entry, auth_type: 'oauth' } : entry
  const facts = tokenFacts(provider, marked, key)
  return facts && { entry, key, facts }
}

const fileOf = ({ dir }: SignInReference): string => realPath(join(dir, 'auth.json'))

/** Undefined for a file that cannot be read: the key that was read before stays in use. */
const current = (ref: SignInReference): SignInEntry | undefined => {
  try {
    return lookUp(readAuth(fileOf(ref)), ref)
  } catch (error) {
    if (error instanceof UserError) return undefined
    throw error
  }
}

export class SignIns {
  readonly #options: Required<Omit<SignInsOptions, 'dispatcher'>>
  readonly #dispatcher: Dispatcher | undefined
  readonly #mutex = new Mutex()
  /** Failed renewals by fingerprint of the refresh token. */
  readonly #failures = new Map<string, { count: number; until: number; reason: string }>()
  /** Tokens that could not be written, by fingerprint of the refresh token in the file. Without them the sign-in is lost. */
  readonly #unsaved = new Map<string, NewTokens>()
  /** Times of renewals by key. */
  readonly #renewedAt = new Map<string, number>()

  constructor({ dispatcher, ...options }: SignInsOptions) {
    this.#dispatcher = dispatcher
    this.#options = {
      issuerOf: provider => PROVIDERS.get(provider)?.issuer,
      timeoutMs: TIMEOUT_MS,
      writeFile: writeAuth,
      ...options,
    }
  }

  /**
   * The key to use for an endpoint whose key is the token of a sign-in. `isRejected`: the provider has rejected the
   * endpoint's key. Null: there is no better key. Throws a UserError: `unauthorized` when the user has to sign in again,
   * `unavailable` when the token has expired and cannot be renewed now.
   */
  readonly keyFor = async (
    { signIn, apiKey }: SignInToken,
    isRejected: boolean,
  ): Promise<string | null> => {
    if (!signIn) return null
    const rejected = isRejected ? apiKey : null
    const token = current(signIn)
    if (!token) return null
    return this.#isFresh(token, rejected) ? token.key : this.#renew(signIn, rejected)
  }

  get #ticks(): number {
    return this.#options.clock.monotonic()
  }

  get #now(): number {
    return this.#options.clock.now()
  }

  /** Usable without a renewal. `rejected` is the key that the provider has rejected, or null. */
  #isFresh({ entry, key, facts }: SignInEntry, rejected: string | null): boolean {
    return (
      key !== rejected &&
      !this.#unsaved.has(fingerprint(refreshTokenOf(entry))) &&
      (facts.expiresAtMs > this.#now + (facts.canRenew ? SKEW_MS : 0) || this.#isNew(key))
    )
  }

  /** Just renewed. If it has expired already, this clock is wrong, or its lifetime is short: another one would be no better. */
  #isNew(key: string): boolean {
    return this.#ticks - (this.#renewedAt.get(key) ?? -Infinity) < JUST_RENEWED_MS
  }

  #renew(ref: SignInReference, rejected: string | null): Promise<string | null> {
    const path = fileOf(ref)
    return this.#mutex.run(path, async () => {
      // An earlier caller may have renewed it.
      const token = lookUp(readAuth(path), ref)
      if (!token) return null
      if (this.#isFresh(token, rejected)) return token.key
      const outcome = await this.#underLocks(ref, path, shared =>
        this.#exchange(ref, rejected, shared),
      ).catch((error: unknown): Failed => {
        if (error instanceof UserError && error.kind === 'unauthorized') throw error
        // The lock is held too long, or the file cannot be read or written.
        this.#logFailure(ref, messageOf(error))
        return { failed: messageOf(error).replace(/\.$/, '') }
      })
      if (!isObject(outcome)) return outcome
      // The old token is used while it is valid.
      if (token.key !== rejected && token.facts.expiresAtMs > this.#now) return token.key
      throw unavailable(
        `Couldn’t renew the sign-in of ${displayName(ref.provider)}: ${outcome.failed}.`,
        {
          code: 'sign_in_not_renewed',
          values: { name: displayName(ref.provider), reason: outcome.failed },
        },
      )
    })
  }

  /**
   * The host agent locks the file of the profile; profiles that link to one file share the lock beside that. The shared
   * copy of a sign-in is locked last, as the host agent does.
   */
  #underLocks<T>(
    ref: SignInReference,
    path: string,
    work: (shared: JsonObject | null) => Promise<T>,
  ): Promise<T> {
    const hasCopy = ref.provider === 'nous' && ref.id === SIGN_IN_ID
    const inner = () =>
      hasCopy ? withSharedFile(this.#options.sharedFile, LOCK, work) : work(null)
    const own = join(ref.dir, 'auth.lock')
    const target = join(dirname(path), 'auth.lock')
    if (target === join(realPath(ref.dir), 'auth.lock')) return withFileLock(own, LOCK, inner)
    return withFileLock(own, LOCK, () => withFileLock(target, LOCK, inner))
  }

  /** Under all locks. Throws `unauthorized` when the user has to sign in again. */
  async #exchange(
    ref: SignInReference,
    rejected: string | null,
    shared: JsonObject | null,
  ): Promise<Outcome> {
    const { provider } = ref
    const path = fileOf(ref)
    const auth = readAuth(path)
    const token = lookUp(auth, ref)
    if (!auth || !token) return null
    if (this.#isFresh(token, rejected)) return token.key
    const old = refreshTokenOf(token.entry)
    const id = fingerprint(old)
    const tokens =
      this.#unsaved.get(id) ?? (shared && tokensInShared(shared, token.entry, this.#now))
    if (old !== '' && tokens) return this.#useKnown(ref, rejected, { shared, old, tokens })
    const issuer = this.#options.issuerOf(provider)
    if (!token.facts.canRenew || !issuer) {
      if (isLapsed(token.facts, this.#now) || isRejected(token.entry))
        throw unauthorized(signInExpired(displayName(provider)), {
          code: 'provider_sign_in_expired',
          values: { name: displayName(provider) },
        })
      return token.key === rejected ? null : token.key
    }
    if (rejected !== null && this.#isNew(rejected)) return null
    const failure = this.#failures.get(id)
    if (failure && this.#ticks < failure.until) return { failed: failure.reason }
    // A full or read-only disk must not be noticed after the old token is spent.
    this.#options.writeFile(path, auth, this.#now)
    const reply = await requestToken(
      { issuer, refreshToken: old, clientId: clientIdOf(token.entry) },
      this.#options.timeoutMs,
      this.#dispatcher,
    )
    if (reply.kind === 'failed') return this.#recordFailure(ref, id, reply.message)
    this.#failures.delete(id)
    if (reply.kind === 'rejected') return this.#reject(ref, rejected, old, reply)
    const entry = this.#save(ref, old, reply.tokens)
    if (shared && entry) this.#saveShared(shared, entry)
    return this.#remember(entry?.key || reply.tokens.accessToken)
  }

  /** Tokens that were renewed already: by this process, which could not write them, or by another one. */
  async #useKnown(
    ref: SignInReference,
    rejected: string | null,
    { shared, old, tokens }: { shared: JsonObject | null; old: string; tokens: NewTokens },
  ): Promise<Outcome> {
    const entry = this.#save(ref, old, tokens)
    // They may have expired as well.
    if (entry && refreshTokenOf(entry.entry) === (tokens.refreshToken ?? old))
      return this.#exchange(ref, rejected, shared)
    const key = entry?.key || tokens.accessToken
    return key === rejected ? { failed: 'auth.json can’t be written' } : key
  }

  /**
   * Writes new tokens over every entry with the old refresh token. Undefined when the file cannot be written: the tokens
   * are kept in memory and written with the next call.
   */
  #save(ref: SignInReference, old: string, tokens: NewTokens): SignInEntry | undefined {
    this.#unsaved.set(fingerprint(old), tokens)
    try {
      const token = this.#edit(ref, old, entry => setTokens(entry, tokens, this.#now))
      this.#unsaved.delete(fingerprint(old))
      return token
    } catch (error) {
      this.#options.log('could not save a renewed sign-in; it is lost when this process ends', {
        provider: ref.provider,
        error: messageOf(error),
      })
      return undefined
    }
  }

  #saveShared(shared: JsonObject, { entry }: SignInEntry): void {
    try {
      writeShared(this.#options.sharedFile, shared, entry, this.#now)
    } catch (error) {
      this.#options.log('could not save a renewed sign-in for the other profiles', {
        file: this.#options.sharedFile,
        error: messageOf(error),
      })
    }
  }

  /** Marks the sign-in, unless another program replaced it during the request. */
  #reject(
    ref: SignInReference,
    rejected: string | null,
    old: string,
    { code, status }: Extract<TokenReply, { kind: 'rejected' }>,
  ): string {
    const { provider } = ref
    const message = signInExpired(displayName(provider))
    const rejection = { provider, code, status, message }
    const now = this.#edit(ref, old, entry => setRejected(entry, rejection, this.#now))
    this.#logFailure(ref, code)
    if (now && this.#isFresh(now, rejected)) return now.key
    throw unauthorized(message, {
      code: 'provider_sign_in_expired',
      values: { name: displayName(provider) },
    })
  }

  /** Reads the file again, because a program that does not take the lock may have written during the request. */
  #edit(
    ref: SignInReference,
    old: string,
    change: (entry: JsonObject) => void,
  ): SignInEntry | undefined {
    const path = fileOf(ref)
    const auth = readAuth(path)
    const entries = auth ? entriesWith(auth, ref.provider, old) : []
    for (const entry of entries) change(entry)
    if (auth && entries.length > 0) this.#options.writeFile(path, auth, this.#now)
    return lookUp(auth, ref)
  }

  #recordFailure(ref: SignInReference, id: string, reason: string): Failed {
    const count = (this.#failures.get(id)?.count ?? 0) + 1
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (count - 1), MAX_DELAY_MS)
    this.#failures.set(id, { count, until: this.#ticks + delayMs, reason })
    this.#logFailure(ref, reason)
    return { failed: reason }
  }

  #logFailure({ provider }: SignInReference, error: string): void {
    this.#options.log('could not renew a sign-in', { provider, error })
  }

  #remember(key: string): string {
    for (const [token, at] of this.#renewedAt)
      if (this.#ticks - at >= JUST_RENEWED_MS) this.#renewedAt.delete(token)
    this.#renewedAt.set(key, this.#ticks)
    return key
  }
}
