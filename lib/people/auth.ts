/** Sign-in: an optional password for the server, passwords of further people, sign-ins with cookies, and the signed-in devices. */
import { join } from 'node:path'
import { isSameSecret } from '../base/sha256.ts'
import { type Clock, fromSeconds } from '../base/clock.ts'
import { accountOf } from './account.ts'
import { conflict, UserError, unauthorized } from '../errors.ts'
import type { Caller } from '../schema/person.ts'
import { OWNER } from '../schema/person.ts'
import { type AuthMode, type AuthModes, createAuthModes, fingerprintOf } from './auth-mode.ts'
import { createToken, signToken, verifyCookie } from './cookie.ts'
import { createConfirmed } from './confirmed.ts'
import { createDevices, deviceIdOf } from './devices.ts'
import { openSignIns, type SignIn, type SignInMethod } from './login-sessions.ts'
import { normalizePassword, passwordCandidates, passwordProblem } from './normalize-password.ts'
import { createPasswordHasher } from './password.ts'
import { createPersonalPasswords, type PeopleOfSignIn, stampOf } from './personal-passwords.ts'
import {
  openPasswordRecord,
  type PasswordRecord,
  type SettingsPassword,
} from './password-record.ts'
import { createProxySignIns } from './proxy-sign-ins.ts'
import type { Identities } from './identities.ts'
import { createSetupToken } from './setup-token.ts'
import { openSigningKey } from './signing-key.ts'
import { type ClientAddress, openThrottle } from './throttle.ts'

/** Who signs in: the address for the throttle, the user agent for the list of devices. */
export type SignInClient = ClientAddress & { agent?: string | undefined }

export type AuthOptions = {
  stateDir: string
  config: {
    password: string | null
    /** The server can be reached from other machines: without a password it requires the setup token. */
    isExposed: boolean
  }
  /** The copy of the hash in settings.json. */
  settings: SettingsPassword
  log: { warn(text: string): void }
  /** People beside the first owner; absent: none. */
  people?: PeopleOfSignIn
  /** Whose the users are that a trusted proxy names; absent: it names none. */
  identities?: Pick<Identities, 'personOf'> | undefined
  /** Called when a user whom a trusted proxy names has signed in on a new device. */
  onProxySignIn?: ((client: SignInClient, user: string) => void) | undefined
  /** The second factor to the password; absent: none. */
  codes?: {
    isOn(): boolean
    /** Throws unless the code is right. */
    require(code: string | undefined): Promise<void>
  }
  /** Called with a correct password, in plain text, so that it can be redacted elsewhere. */
  onPassword?: (password: string) => void
  /** Called with the ids of devices whose sign-in was ended, not of those that expired. */
  onSignOut?: ((ids: readonly string[]) => void) | undefined
  clock: Clock
  /** PBKDF2 iterations, for tests. */
  iterations?: number | undefined
}

/** How a device signs in, and its name if the person gave one. */
export type MadeBy = {
  how: SignInMethod
  name?: string | undefined
  /** `identityKey` of who vouched for the person. */
  identity?: string | undefined
  /** Id of the person; absent: the first owner. */
  person?: string | undefined
}

/** Cache of verified cookies: one HMAC per request would cost a third of the throughput. */
const MAX_VERIFIED = 1_000

export const PASSWORD_FROM_ENVIRONMENT =
  'AGENT_WEBUI_PASSWORD sets the password. Change it where the server is started.'
const PASSWORD_REQUIRED =
  'The password cannot be removed while the server can be reached from other machines.'
const PASSWORD_OF_PEOPLE =
  'The password cannot be removed while other people can sign in. Remove them first.'

const open = ({ stateDir, config, settings, clock, log, iterations }: AuthOptions) => {
  const problem = config.password === null ? null : passwordProblem(config.password)
  if (problem !== null) throw new Error(`AGENT_WEBUI_PASSWORD cannot be used. ${problem}`)
  const key = openSigningKey(stateDir)
  const { warn } = log
  const throttle = openThrottle({ path: join(stateDir, 'auth-throttle.json'), clock, warn })
  return {
    key,
    throttle,
    hasher: createPasswordHasher(key, iterations),
    record: openPasswordRecord({ dir: stateDir, key, settings, warn }),
    signIns: openSignIns(join(stateDir, 'auth-sessions.json'), clock, warn),
    setup: createSetupToken(warn),
    clock,
  }
}

/** Creates and looks up sign-ins. A sign-in is valid while the fingerprint of its password is the current one, and its person exists. */
const createSignInLookup = (
  { key, signIns, clock }: Pick<ReturnType<typeof open>, 'key' | 'signIns' | 'clock'>,
  /** Undefined: there are no valid sign-ins. `person`: id of one who is not the first owner. */
  fingerprint: (person: string | undefined) => string | undefined,
  onSignOut: AuthOptions['onSignOut'],
) => {
  const verified = new Map<string, SignIn>()
  const isBound = (entry: SignIn): boolean => entry.under === fingerprint(entry.person)
  return {
    isBound,
    clearCache: (): void => verified.clear(),

    find(cookie: string | undefined): SignIn | undefined {
      if (!cookie) return undefined
      const known = verified.get(cookie)
      if (known)
        return fromSeconds(known.expires_at) > clock.now() && isBound(known) ? known : undefined
      const token = verifyCookie(key, cookie)
      const entry = token === undefined ? undefined : signIns.find(token)
      if (!entry || !isBound(entry)) return undefined
      if (verified.size >= MAX_VERIFIED) verified.clear()
      verified.set(cookie, entry)
      return entry
    },

    /** Ends the matching sign-ins and returns their number. */
    end(matches: (entry: SignIn) => boolean): number {
      verified.clear()
      const ended = signIns.list().filter(matches).map(deviceIdOf)
      const count = signIns.end(matches)
      if (ended.length > 0) onSignOut?.(ended)
      return count
    },

    /** A new sign-in; returns the value of its cookie. */
    issue(under: string, { address, agent = '' }: SignInClient, made: MadeBy): string {
      const token = createToken()
      // Adding one may remove the oldest, which may be cached.
      verified.clear()
      signIns.add(token, { address, agent, under, ...made })
      return signToken(key, token)
    },
  }
}

/** Stored sign-ins may belong to an earlier AGENT_WEBUI_PASSWORD; only its hash can tell, and those by a proxy are bound to it. */
const needsHash = (
  { identities }: AuthOptions,
  { signIns }: Pick<ReturnType<typeof open>, 'signIns'>,
) => signIns.size() > 0 || identities !== undefined

const hashEarly = (
  options: AuthOptions,
  parts: Pick<ReturnType<typeof open>, 'signIns'>,
  modes: AuthModes,
): void => {
  const { config, log } = options
  if (config.password !== null && needsHash(options, parts)) {
    modes
      .hashEnvironment(config.password)
      .catch(() => log.warn('could not hash AGENT_WEBUI_PASSWORD at startup'))
  }
}

/** Otherwise it could surprise once the variable is gone. */
const warnOfUnused = ({ config, log }: AuthOptions, record: PasswordRecord): void => {
  if (config.password !== null && record.state().kind !== 'none')
    log.warn(
      'A stored password exists beside AGENT_WEBUI_PASSWORD. It is not used while the variable is set; "agent-webui password --off" removes it',
    )
}

/** Whom a request is from. */
const createCallers = ({
  find,
  proxy,
  signIns,
  people,
  mode,
}: {
  find(cookie: string | undefined): SignIn | undefined
  proxy: ReturnType<typeof createProxySignIns>
  signIns: ReturnType<typeof open>['signIns']
  people: PeopleOfSignIn | undefined
  mode(): AuthMode['kind']
}) => ({
  /** Signs in the user whom a trusted proxy names; the value of the cookie. Undefined: no person is this user. */
  admitUser: (user: string, client: () => SignInClient): string | undefined =>
    mode() === 'setup' ? undefined : proxy.admit(user, client),

  /**
   * The person who signed in with the cookie. `address`: of a request, which counts as a use of the device. `user`: whom a
   * trusted proxy names in it.
   */
  personOf(cookie: string | undefined, address?: () => string, user?: string): Caller | undefined {
    const entry = find(cookie)
    if (entry && !proxy.accepts(entry, user)) return undefined
    if (entry && address) signIns.noteSeen(entry, address)
    return entry && (people ? people.caller(entry.person) : OWNER)
  },
})

export type Auth = ReturnType<typeof createAuth>

/** Of a sign-in. */
const wrongPassword = (current?: AuthMode) =>
  current?.kind === 'damaged' && current.isOfOtherKey
    ? unauthorized(
        'Invalid password. The signing key of this server was replaced, so an earlier password is refused: run "agent-webui password" in a terminal on the server’s machine.',
        { code: 'signing_key_replaced' },
      )
    : unauthorized('Invalid password', { code: 'wrong_password' })

export const createAuth = (options: AuthOptions) => {
  const { config, onPassword, people, identities } = options
  const parts = open(options)
  const { hasher, throttle, record, signIns, setup } = parts
  const modes = createAuthModes({
    config,
    record,
    hasher,
    hasOthers: () => people?.hasOthers() ?? false,
    announceSetup: setup.announce,
    onEnvironmentHash: fingerprint =>
      void lookup.end(({ under, person }) => person === undefined && under !== fingerprint),
  })
  const stampOfPerson = (id: string): string | undefined => {
    const person = people?.find(id)
    return person && enabled() ? stampOf(person) : undefined
  }
  const fingerprint = (id: string | undefined): string | undefined =>
    id === undefined ? modes.fingerprint() : stampOfPerson(id)
  const lookup = createSignInLookup(parts, fingerprint, options.onSignOut)
  const { find } = lookup
  const proxy = createProxySignIns({
    ...parts,
    lookup,
    fingerprint,
    identities,
    onSignIn: options.onProxySignIn,
  })
  const personal = createPersonalPasswords({ ...parts, people, lookup })
  const mode = (): AuthMode['kind'] => modes.current().kind
  const enabled = (): boolean => mode() !== 'open'

  /** The matching hash when the password is correct in one of the forms it may have been stored in. */
  const verify = async (password: string, current: AuthMode): Promise<string | undefined> => {
    const candidates = passwordCandidates(password)
    if (candidates.length === 0) return undefined
    const expected = await modes.expectedHash(current)
    for (const candidate of candidates)
      if (isSameSecret(expected, await hasher.hash(candidate))) return expected
    return undefined
  }

  /** Throws when a change would have no effect or is not allowed; null stands for removing the password. */
  const checkChange = (password: string | null): void => {
    if (config.password !== null)
      throw conflict(PASSWORD_FROM_ENVIRONMENT, { code: 'password_from_environment' })
    if (password !== null) normalizePassword(password)
    else if (config.isExposed) throw conflict(PASSWORD_REQUIRED, { code: 'password_required' })
    else if (people?.hasOthers()) throw conflict(PASSWORD_OF_PEOPLE, { code: 'people_exist' })
  }

  hashEarly(options, parts, modes)
  warnOfUnused(options, record)

  return {
    ...createDevices(signIns, lookup),
    ...createConfirmed({
      ...lookup,
      ...parts,
      modes,
      verify,
      stampOfPerson,
      verifyPerson: personal.verifyPerson,
    }),
    ...personal.forAuth,
    /** Whether the sign-in that `signInOf` named is still valid. */
    isSignedIn: (hash: string): boolean =>
      signIns.list().some(entry => entry.hash === hash && lookup.isBound(entry)),
    enabled,
    /** Which kind of password is in force. */
    mode,
    /** Whether the cookie belongs to a valid sign-in. */
    check: (cookie: string | undefined): boolean => find(cookie) !== undefined,

    ...createCallers({ ...parts, find, proxy, people, mode }),

    /** The account of who is signed in with the cookie; null when no one is. */
    account(cookie: string | undefined): string | null {
      const entry = find(cookie)
      return enabled() && !entry ? null : accountOf(parts.key, entry?.person)
    },

    /** Pending until stored sign-ins can be verified, shortly after a start; undefined afterwards. */
    settling: (): Promise<unknown> | undefined =>
      needsHash(options, parts) ? modes.pendingHash() : undefined,

    status: (cookie: string | undefined) => {
      const auth_enabled = enabled()
      return { auth_enabled, logged_in: auth_enabled && find(cookie) !== undefined }
    },

    /** Returns the value of a new cookie. Throws a 401 for a wrong password and a 429 for too many attempts. */
    async login(
      password: string,
      client: SignInClient,
      { code, name = '' }: { code?: string | undefined; name?: string | undefined } = {},
    ): Promise<string> {
      const slot = throttle.take(client)
      const current = modes.current()
      if (current.kind === 'setup') {
        // A setup token is no password: the page must not say so.
        if (!setup.use(password)) throw unauthorized('Invalid password')
        slot.clear()
        return lookup.issue(modes.setupFingerprint, client, { how: 'setup' })
      }
      try {
        const person = await personal.verifyNamed(name, password)
        if (person) {
          slot.clear()
          onPassword?.(password.trim())
          return lookup.issue(stampOf(person), client, { how: 'password', person: person.id })
        }
        const hash = await verify(password, current)
        if (hash === undefined) throw wrongPassword(current)
        slot.clear()
        onPassword?.(password.trim())
        if (options.codes?.isOn()) await options.codes.require(code)
        // The password proved to be correct, so a damaged record can be rewritten from it.
        if (current.kind === 'damaged') record.set(hash)
        return lookup.issue(fingerprintOf(hash), client, { how: 'password' })
      } catch (error) {
        // Only a wrong password counts as an attempt, not a full hash queue or a damaged record.
        if (!(error instanceof UserError) || error.kind !== 'unauthorized') slot.release()
        throw error
      }
    },

    logout(cookie: string | undefined): void {
      const entry = find(cookie)
      if (entry) lookup.end(other => other.hash === entry.hash)
    },

    /** A new cookie without a password, for the browser that has just set one; null while no password is set. */
    issue(client: SignInClient): string | null {
      const fingerprint = modes.fingerprint()
      return fingerprint === undefined
        ? null
        : lookup.issue(fingerprint, client, { how: 'new-password' })
    },

    checkChange,

    /** Stores a new password and ends every sign-in except that of the cookie `keep`. */
    async setPassword(password: string, keep?: string): Promise<void> {
      checkChange(password)
      const [before, own] = [mode(), find(keep)]
      const hash = await hasher.hash(normalizePassword(password))
      // While hashing, a password may have been set, or the sign-in of `keep` may have ended.
      if ((before === 'open' && enabled()) || (own && !find(keep)))
        throw unauthorized('Authentication required', { code: 'sign_in_required' })
      record.set(hash)
      onPassword?.(password.trim())
      // Other people have passwords of their own.
      lookup.end(({ hash: each, person }) => each !== own?.hash && person === undefined)
      if (own) signIns.rebind(own, fingerprintOf(hash))
    },

    clearPassword(): void {
      checkChange(null)
      if (mode() === 'open') return
      record.set(null)
      lookup.end(() => true)
    },

    close(): void {
      lookup.clearCache()
      signIns.close()
    },
  }
}
