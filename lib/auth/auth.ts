/** Signing in and staying signed in: one optional password for the whole service. */
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { conflict, UserError, unauthorized, unavailable } from '../errors.ts'
import { createToken, signToken, verifyCookie } from './cookie.ts'
import { openSigningKey } from './signing-key.ts'
import { createPasswordHasher, isSameHash } from './password.ts'
import { openPasswordRecord, type SettingsPassword } from './password-record.ts'
import { createSetupToken } from './setup-token.ts'
import { openSignIns, type SignIn } from './login-sessions.ts'
import { passwordProblem, normalizePassword, passwordCandidates } from './normalize-password.ts'
import { type ClientAddress, openThrottle } from './throttle.ts'

/** From where somebody signs in: the address for the throttle, the browser for the list of devices. */
export type SignInClient = ClientAddress & { agent?: string | undefined }

export type AuthOptions = {
  stateDir: string
  config: {
    password: string | null
    /** The service can be reached from other machines: without a password it asks for a set-up token. */
    isExposed: boolean
  }
  /** The copy of the hash in settings.json. */
  settings: SettingsPassword
  log: { warn(text: string): void }
  /** A password that is right, in clear: so that it can be hidden where it turns up. */
  onPassword?: (password: string) => void
  /** Milliseconds since 1970. */
  now?: () => number
  /** Milliseconds that never run backwards. */
  ticks?: () => number
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
const MAX_VERIFIED = 1_000
const DEVICE_ID_CHARS = 16

export const PASSWORD_FROM_ENVIRONMENT =
  'AGENT_WEBUI_PASSWORD sets the password. Change it where the service is started.'
export const PASSWORD_REQUIRED =
  'The password cannot be removed while the service can be reached from other machines.'

/** What decides about signing in at this moment. */
type AuthMode =
  | { kind: 'open' }
  | { kind: 'environment' }
  | { kind: 'stored'; hash: string }
  | { kind: 'damaged'; why: string; hash: string | null }
  | { kind: 'setup' }

export const createAuth = ({
  stateDir,
  config,
  settings,
  log,
  onPassword,
  now = Date.now,
  ticks,
  iterations,
}: AuthOptions) => {
  const problem = config.password === null ? null : passwordProblem(config.password)
  if (problem !== null) throw new Error(`AGENT_WEBUI_PASSWORD cannot be used. ${problem}`)
  const key = openSigningKey(stateDir)
  const hasher = createPasswordHasher(key, iterations)
  const throttle = openThrottle({
    path: join(stateDir, 'auth-throttle.json'),
    now,
    ticks,
    warn: log.warn,
  })
  const record = openPasswordRecord({ dir: stateDir, key, settings, warn: log.warn })
  const signIns = openSignIns(join(stateDir, 'auth-sessions.json'), () => now() / 1000, log.warn)
  const setup = createSetupToken(log.warn)
  const verified = new Map<string, SignIn>()
  let environment: Promise<string> | undefined
  let environmentHash: string | undefined

  const authMode = (): AuthMode => {
    if (config.password !== null) return { kind: 'environment' }
    const stored = record.state()
    if (stored.kind === 'hash') return { kind: 'stored', hash: stored.hash }
    if (stored.kind === 'damaged') return stored
    if (!config.isExposed) return { kind: 'open' }
    setup.announce()
    return { kind: 'setup' }
  }

  /** A sign-in is bound to the password it was made with. Never the hash itself: the file is no place for that. */
  const fingerprint = (hash: string): string =>
    createHash('sha256').update(hash).digest('hex').slice(0, 16)
  /** A sign-in by token ends with the process that printed the token. */
  const underSetup = `setup-${randomBytes(8).toString('hex')}`

  const underOf = (now: AuthMode): string | undefined => {
    if (now.kind === 'setup') return underSetup
    const hash =
      now.kind === 'environment' ? environmentHash : now.kind === 'open' ? null : now.hash
    return hash ? fingerprint(hash) : undefined
  }

  const endSignIns = (isGone: (entry: SignIn) => boolean): number => {
    verified.clear()
    return signIns.end(isGone)
  }

  /** Hash of the password of the environment; worked out once, when it is first needed. */
  const hashEnvironment = async (password: string): Promise<string> => {
    environment ??= hasher.hash(normalizePassword(password)).then(hash => {
      environmentHash = hash
      endSignIns(entry => entry.under !== fingerprint(hash))
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

  const rightHash = (now: AuthMode): Promise<string> | string => {
    if (config.password !== null) return hashEnvironment(config.password)
    if (now.kind === 'stored') return now.hash
    if (now.kind === 'damaged' && now.hash !== null) return now.hash
    throw unavailable(
      `The stored password cannot be read, so sign-in is closed. Run "agent-webui password" in a terminal on the machine of the service.`,
      { code: 'password_unreadable' },
    )
  }

  const enabled = (): boolean => authMode().kind !== 'open'

  /** Whether it was made under the password that counts now. */
  const isBound = (entry: SignIn): boolean => entry.under === underOf(authMode())

  const find = (cookie: string | undefined): SignIn | undefined => {
    if (!cookie) return undefined
    const known = verified.get(cookie)
    if (known) return known.expires_at > now() / 1000 && isBound(known) ? known : undefined
    const token = verifyCookie(key, cookie)
    const entry = token === undefined ? undefined : signIns.find(token)
    if (!entry || !isBound(entry)) return undefined
    if (verified.size >= MAX_VERIFIED) verified.clear()
    verified.set(cookie, entry)
    return entry
  }

  const issueUnder = (under: string, { address, agent = '' }: SignInClient): string => {
    const token = createToken()
    // The oldest may have to go for it.
    verified.clear()
    signIns.add(token, { address, agent, under })
    return signToken(key, token)
  }

  /** Whether one of the forms this password may have been stored in has the right hash. */
  const isRight = async (password: string, now: AuthMode): Promise<string | undefined> => {
    const forms = passwordCandidates(password)
    if (forms.length === 0) return undefined
    const right = await rightHash(now)
    for (const form of forms) if (isSameHash(right, await hasher.hash(form))) return right
    return undefined
  }

  // Stored sign-ins may be of an earlier password of the environment; only its hash can tell.
  if (config.password !== null && signIns.size() > 0) {
    hashEnvironment(config.password).catch(() =>
      log.warn('The password of the environment could not be hashed at start'),
    )
  }
  if (config.password !== null && record.state().kind !== 'none')
    log.warn(
      'A stored password exists beside AGENT_WEBUI_PASSWORD. It is not used while the variable is set; "agent-webui password --off" removes it',
    )

  return {
    enabled,
    /** Where the password comes from, for the page. */
    mode: (): AuthMode['kind'] => authMode().kind,
    /** Whether this cookie is one of a sign-in that still holds. */
    check: (cookie: string | undefined): boolean => find(cookie) !== undefined,

    /** Pending until stored sign-ins can be told from those of an earlier password; undefined when they can. */
    settling(): Promise<unknown> | undefined {
      return config.password !== null && environmentHash === undefined && signIns.size() > 0
        ? environment?.catch(() => undefined)
        : undefined
    },

    status: (cookie: string | undefined) => {
      const auth_enabled = enabled()
      return { auth_enabled, logged_in: auth_enabled && find(cookie) !== undefined }
    },

    /** The value of a new cookie. Refuses a wrong password, and too many of them. */
    async login(password: string, caller: SignInClient): Promise<string> {
      const slot = throttle.take(caller)
      const decides = authMode()
      if (decides.kind === 'setup') {
        if (!setup.use(password)) throw unauthorized('Invalid password', { code: 'wrong_password' })
        slot.clear()
        return issueUnder(underSetup, caller)
      }
      try {
        const right = await isRight(password, decides)
        if (right === undefined) throw unauthorized('Invalid password', { code: 'wrong_password' })
        slot.clear()
        onPassword?.(password.trim())
        // The person is here and knows the password: what is lost on disk is written again.
        if (decides.kind === 'damaged') record.set(right)
        return issueUnder(fingerprint(right), caller)
      } catch (error) {
        // Not the caller's mistake: too many were waiting, or nobody can sign in.
        if (!(error instanceof UserError) || error.kind !== 'unauthorized') slot.release()
        throw error
      }
    },

    logout(cookie: string | undefined): void {
      const entry = find(cookie)
      if (entry) endSignIns(other => other.hash === entry.hash)
    },

    /** A new cookie without a password: for the one who has just turned authentication on. */
    issue(caller: SignInClient): string | null {
      const under = underOf(authMode())
      return under === undefined ? null : issueUnder(under, caller)
    },

    /** Refuses a change that would have no effect or could not be used; null stands for removing the password. */
    checkChange(password: string | null): void {
      if (config.password !== null)
        throw conflict(PASSWORD_FROM_ENVIRONMENT, { code: 'password_from_environment' })
      if (password !== null) normalizePassword(password)
      else if (config.isExposed) throw conflict(PASSWORD_REQUIRED, { code: 'password_required' })
    },

    /** Stores a new password and ends every sign-in but the one of `keep`. */
    async setPassword(password: string, keep?: string): Promise<void> {
      this.checkChange(password)
      const [before, own] = [authMode().kind, find(keep)]
      const hash = await hasher.hash(normalizePassword(password))
      if ((before === 'open' && enabled()) || (own && !find(keep)))
        throw unauthorized('Authentication required', { code: 'sign_in_required' })
      record.set(hash)
      onPassword?.(password.trim())
      endSignIns(entry => entry.hash !== own?.hash)
      if (own) signIns.rebind(own, fingerprint(hash))
    },

    clearPassword(): void {
      this.checkChange(null)
      if (authMode().kind === 'open') return
      record.set(null)
      endSignIns(() => true)
    },

    /** Signed-in devices, newest first. */
    list(cookie: string | undefined): Device[] {
      const own = find(cookie)
      return signIns
        .list()
        .filter(isBound)
        .map(({ hash, under: _, ...rest }) => ({
          id: hash.slice(0, DEVICE_ID_CHARS),
          ...rest,
          current: hash === own?.hash,
        }))
        .toReversed()
    },

    /** Signs one device out; false when there is no such one. */
    revoke: (id: string): boolean =>
      id.length === DEVICE_ID_CHARS && endSignIns(entry => entry.hash.startsWith(id)) > 0,

    /** Signs everyone out but the one of `keep`. */
    revokeOthers(keep: string | undefined): number {
      const own = find(keep)
      return endSignIns(entry => entry.hash !== own?.hash)
    },

    close(): void {
      verified.clear()
    },
  }
}
