/**
 * Passwords: which can be used, their hash (PBKDF2-SHA256 on the thread pool, one at a time), and which one is in force: none,
 * AGENT_WEBUI_PASSWORD, the stored password, or a setup token, which is printed to the log and signs in once.
 */
import { pbkdf2, randomBytes, randomInt } from 'node:crypto'
import { promisify } from 'node:util'
import { isSameSecret, sha256 } from '../base/sha256.ts'
import { invalid, tooMany, unavailable } from '../errors.ts'
import { PasswordFile, type SettingsPassword } from './password-record.ts'
import type { People } from './people.ts'

const derive = promisify(pbkdf2)

/** Changing it makes existing passwords invalid. */
const ITERATIONS = 600_000
/** Hashes share four threads with all file I/O; twenty at once would block it for most of a second. */
const MAX_WAITING = 8

/** Characters after trimming, in the composed form (NFC). */
const MAX_PASSWORD_CHARS = 1_024

/** A decomposed letter can have up to four characters. */
const MAX_TYPED_CHARS = MAX_PASSWORD_CHARS * 4

/** Why a password could not be entered in a sign-in form, as a sentence; null when it can. */
export const passwordProblem = (text: string): string | null => {
  const password = text.trim().normalize('NFC')
  if (password.length > MAX_PASSWORD_CHARS)
    return `A password can have at most ${MAX_PASSWORD_CHARS.toLocaleString('en-US')} characters.`
  // Password fields drop line breaks, and a lone surrogate cannot be encoded as UTF-8.
  if (/[\r\n\0]/.test(password) || !password.isWellFormed())
    return 'A password cannot contain line breaks or characters that are not text.'
  return null
}

/** The form that is hashed: trimmed, and in NFC, which most keyboards send. Throws a 400 for unusable passwords. */
export const normalizePassword = (text: string): string => {
  const problem = passwordProblem(text)
  if (problem !== null)
    throw invalid(problem, { code: 'invalid_password', values: { max: MAX_PASSWORD_CHARS } })
  return text.trim().normalize('NFC')
}

/** Every form to compare, because earlier versions hashed the text as typed. Empty when it cannot match. */
export const passwordCandidates = (text: string): string[] => {
  const typed = text.trim()
  if (typed === '' || typed.length > MAX_TYPED_CHARS) return []
  const composed = typed.normalize('NFC')
  if (composed.length > MAX_PASSWORD_CHARS) return []
  return [...new Set([composed, typed, typed.normalize('NFD')])]
}

export class PasswordHasher {
  readonly #key: Buffer
  readonly #iterations: number
  #waiting = 0
  #last: Promise<unknown> = Promise.resolve()

  /** `iterations` is for tests. */
  constructor(key: Buffer, iterations = ITERATIONS) {
    this.#key = key
    this.#iterations = iterations
  }

  /** 64 hex characters. Throws a 429 when too many are waiting. */
  async hash(password: string): Promise<string> {
    if (this.#waiting > MAX_WAITING)
      throw tooMany('Too many sign-ins at once. Try again in a moment.', {
        code: 'sign_ins_busy',
      })
    this.#waiting += 1
    const hash = this.#last.then(() => derive(password, this.#key, this.#iterations, 32, 'sha256'))
    // A failure must not block the next one.
    this.#last = hash.catch(() => undefined)
    try {
      return (await hash).toString('hex')
    } finally {
      this.#waiting -= 1
    }
  }
}

export type AuthMode =
  | { kind: 'open' }
  | { kind: 'environment' }
  | { kind: 'stored'; hash: string }
  | { kind: 'damaged'; why: string; hash: string | null; isOfOtherKey?: true }
  | { kind: 'setup' }

/** Binds a sign-in to the password it was made with. The hash itself is not stored in the sign-in file. */
export const fingerprintOf = (hash: string): string => sha256(hash).slice(0, 16)

/** Without look-alike letters and digits. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789'

/** Four groups of five. */
const newSetupToken = (): string =>
  Array.from({ length: 20 }, () => ALPHABET[randomInt(ALPHABET.length)])
    .join('')
    .replace(/.{5}(?=.)/g, '$&-')

export class Passwords {
  readonly #config: { password: string | null; isExposed: boolean }
  readonly #people: People
  readonly #warn: (text: string) => void
  readonly #onEnvironmentHash: (fingerprint: string) => void
  readonly #hasher: PasswordHasher
  readonly #record: PasswordFile
  /** A sign-in with the setup token ends with the process that printed the token. */
  readonly setupFingerprint = `setup-${randomBytes(8).toString('hex')}`
  #setupToken: string | undefined
  #environment: Promise<string> | undefined
  #environmentHash: string | undefined

  constructor(
    dir: string,
    key: Buffer,
    people: People,
    options: {
      config: { password: string | null; isExposed: boolean }
      settings: SettingsPassword
      warn: (text: string) => void
      iterations?: number | undefined
      /** The hash of AGENT_WEBUI_PASSWORD is known: sign-ins with another fingerprint are invalid. */
      onEnvironmentHash: (fingerprint: string) => void
    },
  ) {
    const { config, settings, warn } = options
    const problem = config.password === null ? null : passwordProblem(config.password)
    if (problem !== null) throw new Error(`AGENT_WEBUI_PASSWORD cannot be used. ${problem}`)
    this.#config = config
    this.#people = people
    this.#warn = warn
    this.#onEnvironmentHash = options.onEnvironmentHash
    this.#hasher = new PasswordHasher(key, options.iterations)
    this.#record = new PasswordFile(dir, key, settings, warn)
    // Otherwise it could surprise once the variable is gone.
    if (config.password !== null && this.#record.state().kind !== 'none')
      warn(
        'A stored password exists beside AGENT_WEBUI_PASSWORD. It is not used while the variable is set; "agent-webui password --off" removes it',
      )
  }

  mode(): AuthMode {
    if (this.#config.password !== null) return { kind: 'environment' }
    const state = this.#record.state()
    if (state.kind === 'hash') return { kind: 'stored', hash: state.hash }
    if (state.kind === 'damaged') return state
    // People who have to sign in exist beside the first owner: without a password the server stays closed.
    if (!this.#config.isExposed && !this.#people.hasOthers()) return { kind: 'open' }
    this.#setupToken ??= this.#announceSetup()
    return { kind: 'setup' }
  }

  /** The fingerprint that valid sign-ins have in this mode; undefined when there are none. */
  fingerprint(mode: AuthMode = this.mode()): string | undefined {
    if (mode.kind === 'setup') return this.setupFingerprint
    const hash =
      mode.kind === 'environment' ? this.#environmentHash : mode.kind === 'open' ? null : mode.hash
    return hash ? fingerprintOf(hash) : undefined
  }

  /** Whether this is the setup token. A used token is replaced. */
  useSetupToken(text: string): boolean {
    this.#setupToken ??= this.#announceSetup()
    if (!isSameSecret(text.trim().toLowerCase(), this.#setupToken)) return false
    this.#setupToken = this.#announceSetup()
    return true
  }

  /** Stores a hash as the password of the server; null turns it off. */
  store(hash: string | null): void {
    this.#record.set(hash)
  }

  hash(password: string): Promise<string> {
    return this.#hasher.hash(password)
  }

  /** The matching hash when the password is that of the server, in one of the forms it may have been stored in. */
  async verify(password: string, mode: AuthMode): Promise<string | undefined> {
    const candidates = passwordCandidates(password)
    if (candidates.length === 0) return undefined
    const expected = await this.expectedHash(mode)
    for (const candidate of candidates)
      if (isSameSecret(expected, await this.hash(candidate))) return expected
    return undefined
  }

  /** The hash that a password is compared with. Throws a 503 when the record is damaged and no hash is known. */
  expectedHash(mode: AuthMode): Promise<string> | string {
    if (this.#config.password !== null) return this.hashEnvironment(this.#config.password)
    if (mode.kind === 'stored') return mode.hash
    if (mode.kind === 'damaged' && mode.hash !== null) return mode.hash
    throw unavailable(
      'The stored password cannot be read, so sign-in is closed. Run "agent-webui password" in a terminal on the server’s machine.',
      { code: 'password_unreadable' },
    )
  }

  /** Hashes AGENT_WEBUI_PASSWORD once, when first needed. */
  async hashEnvironment(password: string): Promise<string> {
    this.#environment ??= this.hash(normalizePassword(password)).then(hash => {
      this.#environmentHash = hash
      this.#onEnvironmentHash(fingerprintOf(hash))
      return hash
    })
    try {
      return await this.#environment
    } catch (error) {
      // The hash queue was full: the next call retries.
      this.#environment = undefined
      throw error
    }
  }

  /** Pending while the hash of AGENT_WEBUI_PASSWORD is computed; undefined when it is known or not needed. */
  pendingHash(): Promise<unknown> | undefined {
    return this.#config.password !== null && this.#environmentHash === undefined
      ? this.#environment?.catch(() => undefined)
      : undefined
  }

  #announceSetup(): string {
    const token = newSetupToken()
    this.#warn(
      `Others can reach the sign-in page, and no password is set. Sign in with the setup token ${token} and set a password in Settings, or set AGENT_WEBUI_PASSWORD`,
    )
    return token
  }
}
