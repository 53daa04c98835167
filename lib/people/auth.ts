/**
 * Sign-in: who a request is from. An optional password for the server, passwords of further people, users that a trusted
 * proxy names, sign-ins with cookies, and the signed-in devices.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Clock, fromSeconds } from '../base/clock.ts'
import { isSameSecret } from '../base/sha256.ts'
import { conflict, forbidden, UserError, unauthorized } from '../errors.ts'
import type { Authenticator, TokenCheck } from '../http/access.ts'
import type { Caller } from '../schema/person.ts'
import { type Identities, identityKey, proxyIdentity } from './identities.ts'
import { may } from './may.ts'
import type { SettingsPassword } from './password-record.ts'
import {
  type AuthMode,
  fingerprintOf,
  normalizePassword,
  passwordCandidates,
  Passwords,
} from './passwords.ts'
import type { People, Person } from './people.ts'
import {
  accountOf,
  type MadeBy,
  MAX_AGENT_CHARS,
  SESSION_COOKIE,
  type SignIn,
  type SignInClient,
  type SignInMethod,
  SignIns,
  sessionCookie,
} from './sign-ins.ts'
import { openSigningKey } from './signing-key.ts'
import { Throttle } from './throttle.ts'

/** A signed-in device, as people see it. */
export type Device = {
  /** First characters of the token's hash. */
  id: string
  created_at: number
  expires_at: number
  /** Of the sign-in. */
  address: string
  agent: string
  /** The device that made this request. */
  current: boolean
  /** Empty: never renamed; a client shows what the user agent says. */
  name: string
  how: SignInMethod
  /** To the minute. */
  seen_at: number
  seen_address: string
  /** Id of the person who signed in; absent: the first owner. */
  person?: string
}

type Confirmation = { password?: string | undefined; client: SignInClient }

const DEVICE_ID_CHARS = 16

/** A sign-in younger than this is a confirmation by itself. */
const FRESH_MS = 600_000
const CONFIRMING: ReadonlySet<SignIn['how']> = new Set([
  'password',
  'new-password',
  'passkey',
  'oidc',
])

/** Of one user whom a proxy names: user agents are free text. */
const MAX_PROXY_DEVICES = 20

export const PASSWORD_FROM_ENVIRONMENT =
  'AGENT_WEBUI_PASSWORD sets the password. Change it where the server is started.'
const PASSWORD_REQUIRED =
  'The password cannot be removed while the server can be reached from other machines.'
const PASSWORD_OF_PEOPLE =
  'The password cannot be removed while other people can sign in. Remove them first.'

const signInRequired = () => unauthorized('Authentication required', { code: 'sign_in_required' })

const wrongPassword = (mode?: AuthMode) =>
  mode?.kind === 'damaged' && mode.isOfOtherKey
    ? unauthorized(
        'Invalid password. The signing key of this server was replaced, so an earlier password is refused: run "agent-webui password" in a terminal on the server’s machine.',
        { code: 'signing_key_replaced' },
      )
    : unauthorized('Invalid password', { code: 'wrong_password' })

type WithPassword = { id: string; password?: Person['password'] }

/** What sign-ins of a person are bound to: a new password ends them, as it ends those of the first owner. */
const stampOf = ({ id, password }: WithPassword): string =>
  fingerprintOf(password ?? `person ${id}`)

/** The id is hashed too, so that equal passwords have different hashes. */
const personalText = (id: string, password: string): string => `${id}:${password}`

/** For a name that no one has, so that it takes as long as a wrong password. */
const UNKNOWN: WithPassword = { id: '' }

const deviceIdOf = ({ hash }: { hash: string }): string => hash.slice(0, DEVICE_ID_CHARS)

const toDevice = (entry: SignIn, current: boolean): Device => {
  const { created_at, expires_at, address, agent } = entry
  return {
    id: deviceIdOf(entry),
    created_at,
    expires_at,
    address,
    agent,
    current,
    name: entry.name ?? '',
    how: entry.how ?? 'password',
    seen_at: entry.seen_at ?? created_at,
    seen_address: entry.seen_address ?? address,
    ...(entry.person !== undefined && { person: entry.person }),
  }
}

export class Auth {
  readonly #config: { password: string | null; isExposed: boolean }
  readonly #people: People
  readonly #identities: Identities | undefined
  readonly #codes: AuthOptions['codes']
  readonly #on: NonNullable<AuthOptions['on']>
  readonly #clock: Clock
  readonly #key: Buffer
  readonly #throttle: Throttle
  readonly #passwords: Passwords
  readonly #signIns: SignIns

  constructor(stateDir: string, people: People, options: AuthOptions) {
    const { config, log, clock, settings, iterations } = options
    const { warn } = log
    const key = openSigningKey(stateDir)
    this.#config = config
    this.#people = people
    this.#identities = options.identities
    this.#codes = options.codes
    this.#on = options.on ?? {}
    this.#clock = clock
    this.#key = key
    this.#throttle = new Throttle({ path: join(stateDir, 'auth-throttle.json'), clock, warn })
    this.#passwords = new Passwords(stateDir, key, people, {
      config,
      settings,
      warn,
      iterations,
      onEnvironmentHash: fingerprint =>
        void this.#end(({ under, person }) => person === undefined && under !== fingerprint),
    })
    this.#signIns = new SignIns(join(stateDir, 'auth-sessions.json'), key, clock, warn)
    if (config.password !== null && this.#needsHash())
      this.#passwords
        .hashEnvironment(config.password)
        .catch(() => warn('could not hash AGENT_WEBUI_PASSWORD at startup'))
  }

  // Whether and how people sign in

  enabled(): boolean {
    return this.mode() !== 'open'
  }

  /** Which kind of password is in force. */
  mode(): AuthMode['kind'] {
    return this.#passwords.mode().kind
  }

  status(cookie: string | undefined): { auth_enabled: boolean; logged_in: boolean } {
    const auth_enabled = this.enabled()
    return { auth_enabled, logged_in: auth_enabled && this.check(cookie) }
  }

  /** Pending until stored sign-ins can be verified, shortly after a start; undefined afterwards. */
  settling(): Promise<unknown> | undefined {
    return this.#needsHash() ? this.#passwords.pendingHash() : undefined
  }

  // Who a request is from

  /** Whether the cookie belongs to a valid sign-in. */
  check(cookie: string | undefined): boolean {
    return this.#find(cookie) !== undefined
  }

  /**
   * The person who signed in with the cookie. `address`: of a request, which counts as a use of the device. `user`: whom a
   * trusted proxy names in it.
   */
  personOf(cookie: string | undefined, address?: () => string, user?: string): Caller | undefined {
    const entry = this.#find(cookie)
    if (!entry || !this.#isVouched(entry, user)) return undefined
    if (address) this.#signIns.noteSeen(entry, address)
    return this.#people.caller(entry.person)
  }

  /** The account of who is signed in with the cookie; null when no one is. */
  account(cookie: string | undefined): string | null {
    const entry = this.#find(cookie)
    return this.enabled() && !entry ? null : accountOf(this.#key, entry?.person)
  }

  // Signing in and out

  /** Returns the value of a new cookie. Throws a 401 for a wrong password and a 429 for too many attempts. */
  async login(
    password: string,
    client: SignInClient,
    { code, name = '' }: { code?: string | undefined; name?: string | undefined } = {},
  ): Promise<string> {
    const slot = this.#throttle.take(client)
    const mode = this.#passwords.mode()
    if (mode.kind === 'setup') {
      // A setup token is no password: the page must not say so.
      if (!this.#passwords.useSetupToken(password)) throw unauthorized('Invalid password')
      slot.clear()
      return this.#signIns.add(client, this.#passwords.setupFingerprint, { how: 'setup' })
    }
    try {
      const person = await this.#verifyNamed(name, password)
      if (person) {
        slot.clear()
        this.#on.password?.(password.trim())
        return this.#signIns.add(client, stampOf(person), { how: 'password', person: person.id })
      }
      const hash = await this.#passwords.verify(password, mode)
      if (hash === undefined) throw wrongPassword(mode)
      slot.clear()
      this.#on.password?.(password.trim())
      if (this.#codes?.isOn()) await this.#codes.require(code)
      // The password proved to be correct, so a damaged record can be rewritten from it.
      if (mode.kind === 'damaged') this.#passwords.store(hash)
      return this.#signIns.add(client, fingerprintOf(hash), { how: 'password' })
    } catch (error) {
      // Only a wrong password counts as an attempt, not a full hash queue or a damaged record.
      if (!(error instanceof UserError) || error.kind !== 'unauthorized') slot.release()
      throw error
    }
  }

  /** A new sign-in that was proven otherwise; returns its cookie. `isStillValid` is checked again after the wait. */
  async admit(
    client: SignInClient,
    method: MadeBy,
    isStillValid: () => boolean = () => true,
  ): Promise<string> {
    const mode = this.#passwordMode()
    const under =
      method.person === undefined
        ? fingerprintOf(await this.#passwords.expectedHash(mode))
        : this.#fingerprint(method.person)
    if (under === undefined || !isStillValid()) throw signInRequired()
    return this.#signIns.add(client, under, method)
  }

  /** A new cookie without a password, for the browser that has just set one; null while no password is set. */
  issue(client: SignInClient): string | null {
    const fingerprint = this.#passwords.fingerprint()
    return fingerprint === undefined
      ? null
      : this.#signIns.add(client, fingerprint, { how: 'new-password' })
  }

  /**
   * Signs in the user whom a trusted proxy names: one device for each person and user agent. The cookie alone proves nothing,
   * each request needs the header too; the cookie is what ends the streams of a browser whose user changes or disappears.
   * Returns the value of the cookie; undefined when no person is this user.
   */
  admitUser(user: string, client: () => SignInClient): string | undefined {
    const identity = proxyIdentity(user)
    const id = this.mode() === 'setup' ? undefined : this.#identities?.personOf(identity)
    if (id === undefined) return undefined
    const person = id || undefined
    const under = this.#fingerprint(person)
    if (under === undefined) return undefined
    const from = client()
    const { agent = '' } = from
    const name = identityKey(identity)
    const devices = this.#signIns
      .list()
      .filter(entry => entry.how === 'proxy' && entry.identity === name)
    const before = devices.find(
      entry => entry.agent === agent.slice(0, MAX_AGENT_CHARS) && this.#isBound(entry),
    )
    if (before?.salt !== undefined && before.person === person)
      return this.#signIns.cookieOf(before.salt)
    const oldest = devices.at(0)
    if (devices.length >= MAX_PROXY_DEVICES) this.#end(entry => entry.hash === oldest?.hash)
    const salt = randomBytes(16).toString('hex')
    const cookie = this.#signIns.add(from, under, { how: 'proxy', identity: name, person }, salt)
    this.#on.proxySignIn?.(from, user)
    return cookie
  }

  logout(cookie: string | undefined): void {
    const entry = this.#find(cookie)
    if (entry) this.#end(other => other.hash === entry.hash)
  }

  // Confirming that the person is present, before a change that would outlive a stolen cookie

  /**
   * Passes when the person signed in on this device within the last ten minutes or gives the password; `always` accepts
   * only the password. Throws a 403: a 401 would make the page ask for a sign-in that is still valid.
   */
  async confirm(
    cookie: string | undefined,
    { password, client, always = false }: Confirmation & { always?: boolean },
  ): Promise<void> {
    const mode = this.#passwordMode()
    const entry = this.#find(cookie)
    if (!entry) throw signInRequired()
    const age = this.#clock.now() - fromSeconds(entry.created_at)
    // Negative: the clock was set back since then.
    const isFresh = age >= 0 && age < FRESH_MS && CONFIRMING.has(entry.how)
    if (isFresh && !always) return
    if (!password) throw forbidden('Enter the password to confirm.', { code: 'confirm_password' })
    const slot = this.#throttle.take(client)
    let isRight: boolean
    try {
      isRight =
        entry.person === undefined
          ? (await this.#passwords.verify(password, mode)) !== undefined
          : await this.#verifyPerson(entry.person, password)
    } catch (error) {
      slot.release()
      throw error
    }
    if (!isRight) throw forbidden('Incorrect password.', { code: 'wrong_password' })
    slot.clear()
    // It may have ended while hashing.
    if (!this.#find(cookie)) throw signInRequired()
  }

  /** As `confirm`, for what also exists without a password: then there is nothing to confirm. */
  async confirmChange(cookie: string | undefined, confirmation: Confirmation): Promise<void> {
    const mode = this.mode()
    if (mode !== 'open' && mode !== 'setup') await this.confirm(cookie, confirmation)
  }

  /** Names the valid sign-in of a cookie. Throws a 409 without a password, a 401 without a sign-in. */
  signInOf(cookie: string | undefined): string {
    this.#passwordMode()
    const entry = this.#find(cookie)
    if (!entry) throw signInRequired()
    return entry.hash
  }

  /** Whether the sign-in that `signInOf` named is still valid. */
  isSignedIn(hash: string): boolean {
    return this.#bound().some(entry => entry.hash === hash)
  }

  /** The person of the sign-in that `signInOf` named; undefined: the first owner. */
  personBehind(hash: string): string | undefined {
    return this.#signIns.list().find(entry => entry.hash === hash)?.person
  }

  // Passwords

  /** Throws when a change would have no effect or is not allowed; null stands for removing the password. */
  checkChange(password: string | null): void {
    if (this.#config.password !== null)
      throw conflict(PASSWORD_FROM_ENVIRONMENT, { code: 'password_from_environment' })
    if (password !== null) normalizePassword(password)
    else if (this.#config.isExposed)
      throw conflict(PASSWORD_REQUIRED, { code: 'password_required' })
    else if (this.#people.hasOthers()) throw conflict(PASSWORD_OF_PEOPLE, { code: 'people_exist' })
  }

  /** Stores a new password and ends every sign-in except that of the cookie `keep`. */
  async setPassword(password: string, keep?: string): Promise<void> {
    this.checkChange(password)
    const before = this.mode()
    const own = this.#find(keep)
    const hash = await this.#passwords.hash(normalizePassword(password))
    // While hashing, a password may have been set, or the sign-in of `keep` may have ended.
    if ((before === 'open' && this.enabled()) || (own && !this.#find(keep))) throw signInRequired()
    this.#passwords.store(hash)
    this.#on.password?.(password.trim())
    // Other people have passwords of their own.
    this.#end(({ hash: each, person }) => each !== own?.hash && person === undefined)
    if (own) this.#signIns.rebind(own, fingerprintOf(hash))
  }

  clearPassword(): void {
    this.checkChange(null)
    if (this.mode() === 'open') return
    this.#passwords.store(null)
    this.#end(() => true)
  }

  /** Hash of a new password of a person. Throws a 400 for one that cannot be used. */
  hashFor(id: string, password: string): Promise<string> {
    return this.#passwords.hash(personalText(id, normalizePassword(password)))
  }

  /** Ends the sign-ins of a person, except that of the cookie `keep`. */
  endPerson(id: string, keep?: string): void {
    const own = this.#find(keep)
    this.#end(({ person, hash }) => person === id && hash !== own?.hash)
  }

  /** Binds the sign-in of a cookie to the new password of its person. */
  rebindPerson(cookie: string | undefined, person: Person): void {
    const entry = cookie === undefined ? undefined : this.#signIns.find(cookie)
    if (entry?.person === person.id) this.#signIns.rebind(entry, stampOf(person))
  }

  // Devices: one per sign-in

  /** Signed-in devices, newest first. */
  list(cookie: string | undefined): Device[] {
    const own = this.#find(cookie)
    return this.#bound()
      .map(entry => toDevice(entry, entry.hash === own?.hash))
      .toReversed()
  }

  /** Names a device; an empty name shows the user agent again. False when there is no such device. */
  rename(id: string, name: string): boolean {
    const entry = this.#deviceOf(id)
    if (entry) this.#signIns.rename(entry, name)
    return entry !== undefined
  }

  /** Signs one device out; false when there is no such device. */
  revoke(id: string): boolean {
    const entry = this.#deviceOf(id)
    return entry !== undefined && this.#end(other => other.hash === entry.hash) > 0
  }

  /** Signs out the devices that this identity signed in. */
  revokeIdentity(key: string): void {
    this.#end(entry => entry.identity === key)
  }

  /** Signs out every device of the person except that of the cookie `keep`; returns their number. */
  revokeOthers(keep: string | undefined): number {
    const own = this.#find(keep)
    return this.#end(entry => entry.hash !== own?.hash && entry.person === own?.person)
  }

  /** Whether a device is of the person of this cookie. */
  isOwnDevice(id: string, cookie: string | undefined): boolean {
    const entry = this.#deviceOf(id)
    return entry !== undefined && entry.person === this.#find(cookie)?.person
  }

  close(): void {
    this.#signIns.close()
  }

  /** The valid sign-in of a cookie. */
  #find(cookie: string | undefined): SignIn | undefined {
    const entry = cookie ? this.#signIns.find(cookie) : undefined
    return entry && this.#isBound(entry) ? entry : undefined
  }

  /** A sign-in is valid while the fingerprint of its password is the current one, and its person exists. */
  #isBound(entry: SignIn): boolean {
    return entry.under === this.#fingerprint(entry.person)
  }

  #bound(): SignIn[] {
    return this.#signIns.list().filter(entry => this.#isBound(entry))
  }

  /** Undefined: there are no valid sign-ins. `id`: of a person who is not the first owner. */
  #fingerprint(id: string | undefined): string | undefined {
    if (id === undefined) return this.#passwords.fingerprint()
    const person = this.#people.find(id)
    return person && this.enabled() ? stampOf(person) : undefined
  }

  /** Ends the matching sign-ins and returns their number. */
  #end(matches: (entry: SignIn) => boolean): number {
    const deviceIds = this.#signIns.list().filter(matches).map(deviceIdOf)
    const count = this.#signIns.end(matches)
    if (deviceIds.length > 0) this.#on.signOut?.(deviceIds)
    return count
  }

  #deviceOf(id: string): SignIn | undefined {
    return id.length === DEVICE_ID_CHARS
      ? this.#bound().find(({ hash }) => hash.startsWith(id))
      : undefined
  }

  /** Whether the header of a proxy still vouches for this sign-in. One for which it does not is ended, and its streams with it. */
  #isVouched(entry: SignIn, user: string | undefined): boolean {
    if (entry.how !== 'proxy') return true
    const identity = user === undefined ? undefined : proxyIdentity(user)
    const isSame =
      identity !== undefined &&
      entry.identity === identityKey(identity) &&
      this.#identities?.personOf(identity) === (entry.person ?? '')
    if (!isSame) this.#end(({ hash }) => hash === entry.hash)
    return isSame
  }

  /** Stored sign-ins may belong to an earlier AGENT_WEBUI_PASSWORD; only its hash can tell, and those by a proxy are bound to it. */
  #needsHash(): boolean {
    return this.#signIns.size() > 0 || this.#identities !== undefined
  }

  /** The mode, when a password is set that sign-ins can be bound to. */
  #passwordMode(): AuthMode {
    const mode = this.#passwords.mode()
    if (mode.kind === 'open' || mode.kind === 'setup')
      throw conflict('Set a password in Settings → Access first.', { code: 'password_missing' })
    return mode
  }

  /** The person of this name, if it is their password; undefined: no name, or that of the first owner. Throws a 401. */
  async #verifyNamed(name: string, password: string): Promise<Person | undefined> {
    if (name.trim() === '') return undefined
    const person = this.#people.byName(name)
    if (person?.id === this.#people.owner().id) return undefined
    const isRight = await this.#isPasswordOf(person ?? UNKNOWN, password)
    if (!person || !isRight) throw wrongPassword()
    return person
  }

  async #verifyPerson(id: string, password: string): Promise<boolean> {
    const person = this.#people.find(id)
    return person !== undefined && (await this.#isPasswordOf(person, password))
  }

  async #isPasswordOf(
    { id, password: expected }: WithPassword,
    password: string,
  ): Promise<boolean> {
    for (const candidate of passwordCandidates(password)) {
      const hash = await this.#passwords.hash(personalText(id, candidate))
      if (expected && isSameSecret(expected, hash)) return true
    }
    return false
  }
}

export type AuthOptions = {
  config: {
    password: string | null
    /** The server can be reached from other machines: without a password it requires the setup token. */
    isExposed: boolean
  }
  /** The copy of the hash in settings.json. */
  settings: SettingsPassword
  /** Whose the users are that a trusted proxy names; absent: it names none. */
  identities?: Identities | undefined
  /** The second factor to the password; absent: none. */
  codes?: {
    isOn(): boolean
    /** Throws unless the code is right. */
    require(code: string | undefined): Promise<void>
  }
  on?: {
    /** With a correct password, in plain text, so that it can be redacted elsewhere. */
    password?: (password: string) => void
    /** With the ids of devices whose sign-in was ended, not of those that expired. */
    signOut?: (ids: readonly string[]) => void
    /** A user whom a trusted proxy names has signed in on a new device. */
    proxySignIn?: (client: SignInClient, user: string) => void
  }
  log: { warn(text: string): void }
  clock: Clock
  /** PBKDF2 iterations, for tests. */
  iterations?: number | undefined
}

/** Sign-in as the HTTP layer needs it: whether one is required, whose a request proves, and what that person may call. */
export const authenticatorOf = (auth: Auth, tokens?: TokenCheck): Authenticator => ({
  tokens,
  isRequired: () => auth.enabled(),
  ready: () => auth.settling(),
  account: cookies => auth.account(cookies[SESSION_COOKIE]),
  personOf: ({ cookies, client, user }) =>
    auth.personOf(cookies[SESSION_COOKIE], () => client().address, user),
  admitUser({ headers, client, user }) {
    if (user === undefined) return undefined
    const value = auth.admitUser(user, () => ({
      address: client().address,
      agent: headers['user-agent'],
    }))
    if (value === undefined) return undefined
    const header = sessionCookie(value, client().secure)
    return { cookies: { [SESSION_COOKIE]: value }, header }
  },
  may: (person, access) => may(person, access, null),
})
