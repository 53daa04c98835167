/** Signing in and staying signed in: one optional password for the whole service. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { unauthorized } from '../errors.ts'
import { createToken, signToken, verifyCookie } from './cookie.ts'
import { openKey } from './key.ts'
import { createHasher, isSameHash } from './password.ts'
import { openSignIns, type SignIn } from './sign-ins.ts'
import { createThrottle } from './throttle.ts'

/** The part of the settings that is a secret. */
export type PasswordStore = {
  passwordHash(): string | null
  setPasswordHash(hash: string | null): void
}

/** From where somebody signs in: the address for the throttle, the browser for the list of devices. */
export type Caller = { address: string; agent?: string | undefined }

export type AuthOptions = {
  stateDir: string
  config: { password: string | null }
  settings: PasswordStore
  log: { warn(text: string): void }
  /** Milliseconds since 1970. */
  now?: () => number
  /** For tests. */
  iterations?: number
}

export type Device = {
  /** First characters of the token's hash. */
  id: string
  created_at: number
  expires_at: number
  address: string
  agent: string
  /** The one that asks. */
  current: boolean
}

export type Auth = ReturnType<typeof createAuth>

/** Verified cookies; one HMAC a request would cost a third of the throughput (storage.md, B5). */
const REMEMBERED = 1_000
const LONGEST_PASSWORD = 1_024
const ID_CHARACTERS = 16

export const createAuth = ({
  stateDir,
  config,
  settings,
  log,
  now = Date.now,
  iterations,
}: AuthOptions) => {
  const key = openKey(stateDir)
  const hasher = createHasher(key, iterations)
  const throttle = createThrottle(now)
  const signIns = openSignIns(join(stateDir, 'auth-sessions.json'), () => now() / 1000, log.warn)
  const verified = new Map<string, SignIn>()
  let environment: Promise<string> | undefined
  let environmentHash: string | undefined

  /** A sign-in is bound to the password it was made with. Never the hash itself: the file is no place for that. */
  const fingerprint = (hash: string): string =>
    createHash('sha256').update(hash).digest('hex').slice(0, 16)

  const drop = (isGone: (entry: SignIn) => boolean): number => {
    verified.clear()
    return signIns.end(isGone)
  }

  /** Hash of the password that counts now; that of the environment is worked out once, when it is first needed. */
  const currentHash = async (): Promise<string | null> => {
    if (config.password === null) return settings.passwordHash() || null
    environment ??= hasher.hash(config.password).then(hash => {
      environmentHash = hash
      drop(entry => entry.under !== fingerprint(hash))
      return hash
    })
    try {
      return await environment
    } catch (error) {
      // The queue was full: the next one tries again.
      environment = undefined
      throw error
    }
  }

  const enabled = (): boolean => config.password !== null || Boolean(settings.passwordHash())

  /** Whether it was made under the password that counts now. */
  const isBound = (entry: SignIn): boolean => {
    if (config.password !== null)
      return environmentHash === undefined || entry.under === fingerprint(environmentHash)
    const hash = settings.passwordHash()
    return Boolean(hash) && entry.under === fingerprint(hash ?? '')
  }

  const find = (cookie: string | undefined): SignIn | undefined => {
    if (!cookie) return undefined
    const known = verified.get(cookie)
    if (known) return known.expires_at > now() / 1000 && isBound(known) ? known : undefined
    const token = verifyCookie(key, cookie)
    const entry = token === undefined ? undefined : signIns.find(token)
    if (!entry || !isBound(entry)) return undefined
    if (verified.size >= REMEMBERED) verified.clear()
    verified.set(cookie, entry)
    return entry
  }

  const issueUnder = (hash: string, { address, agent = '' }: Caller): string => {
    const token = createToken()
    // The oldest may have to go for it.
    verified.clear()
    signIns.add(token, { address, agent, under: fingerprint(hash) })
    return signToken(key, token)
  }

  // Stored sign-ins may be of an earlier password of the environment; only its hash can tell.
  if (config.password !== null && signIns.size() > 0) {
    currentHash().catch(() =>
      log.warn('The password of the environment could not be hashed at start'),
    )
  }

  return {
    enabled,
    /** Whether this cookie is one of a sign-in that still holds. */
    check: (cookie: string | undefined): boolean => find(cookie) !== undefined,

    status: (cookie: string | undefined) => {
      const auth_enabled = enabled()
      return { auth_enabled, logged_in: auth_enabled && find(cookie) !== undefined }
    },

    /** The value of a new cookie. Refuses a wrong password, and too many of them. */
    async login(password: string, caller: Caller): Promise<string> {
      const slot = throttle.take(caller.address)
      const given = password.trim()
      if (given === '' || given.length > LONGEST_PASSWORD) throw unauthorized('Invalid password')
      const [right, hash] = await Promise.all([currentHash(), hasher.hash(given)]).catch(error => {
        // Not the caller's mistake: too many were waiting.
        slot.giveBack()
        throw error
      })
      if (right === null || !isSameHash(right, hash)) throw unauthorized('Invalid password')
      slot.clear()
      return issueUnder(right, caller)
    },

    logout(cookie: string | undefined): void {
      const entry = find(cookie)
      if (entry) drop(other => other.hash === entry.hash)
    },

    /** A new cookie without a password: for whoever has just turned authentication on. */
    async issue(caller: Caller): Promise<string | null> {
      const hash = await currentHash()
      return hash === null ? null : issueUnder(hash, caller)
    },

    /**
     * Stores a new password and ends every sign-in but the one of `keep`. A password of the environment goes on
     * counting, so nothing ends then.
     */
    async setPassword(password: string, keep?: string): Promise<void> {
      const hash = await hasher.hash(password.trim())
      const own = find(keep)
      settings.setPasswordHash(hash)
      if (config.password !== null) return
      drop(entry => entry.hash !== own?.hash)
      if (own) signIns.rebind(own, fingerprint(hash))
    },

    clearPassword(): void {
      settings.setPasswordHash(null)
      if (config.password === null) drop(() => true)
    },

    /** Signed-in devices, newest first. */
    list(cookie: string | undefined): Device[] {
      const own = find(cookie)
      return signIns
        .list()
        .filter(isBound)
        .map(({ hash, under: _, ...rest }) => ({
          id: hash.slice(0, ID_CHARACTERS),
          ...rest,
          current: hash === own?.hash,
        }))
        .toReversed()
    },

    /** Signs one device out; false when there is no such one. */
    revoke: (id: string): boolean =>
      id.length === ID_CHARACTERS && drop(entry => entry.hash.startsWith(id)) > 0,

    /** Signs everyone out but the one of `keep`. */
    revokeOthers(keep: string | undefined): number {
      const own = find(keep)
      return drop(entry => entry.hash !== own?.hash)
    },

    close(): void {
      verified.clear()
    },
  }
}
