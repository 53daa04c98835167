/** What decides about sign-ins at the moment: no password, AGENT_WEBUI_PASSWORD, the stored password, or the setup token. */
import { randomBytes } from 'node:crypto'
import { sha256 } from '../base/sha256.ts'
import { unavailable } from '../errors.ts'
import { normalizePassword, type PasswordHasher } from './password.ts'
import type { PasswordFile } from './password-record.ts'

export type AuthMode =
  | { kind: 'open' }
  | { kind: 'environment' }
  | { kind: 'stored'; hash: string }
  | { kind: 'damaged'; why: string; hash: string | null; isOfOtherKey?: true }
  | { kind: 'setup' }

/** Binds a sign-in to the password it was made with. The hash itself is not stored in the sign-in file. */
export const fingerprintOf = (hash: string): string => sha256(hash).slice(0, 16)

export class AuthModes {
  readonly #config: { password: string | null; isExposed: boolean }
  readonly #record: PasswordFile
  readonly #hasher: PasswordHasher
  readonly #hasOthers: () => boolean
  readonly #announceSetup: () => void
  readonly #onEnvironmentHash: (fingerprint: string) => void
  /** A sign-in with the setup token ends with the process that printed the token. */
  readonly setupFingerprint = `setup-${randomBytes(8).toString('hex')}`
  #environment: Promise<string> | undefined
  #environmentHash: string | undefined

  constructor(options: {
    config: { password: string | null; isExposed: boolean }
    record: PasswordFile
    hasher: PasswordHasher
    /** People who have to sign in exist beside the first owner: without a password the server stays closed. */
    hasOthers: () => boolean
    /** Prints the setup token, once. */
    announceSetup: () => void
    /** The hash of AGENT_WEBUI_PASSWORD is known: sign-ins with another fingerprint are invalid. */
    onEnvironmentHash: (fingerprint: string) => void
  }) {
    this.#config = options.config
    this.#record = options.record
    this.#hasher = options.hasher
    this.#hasOthers = options.hasOthers
    this.#announceSetup = options.announceSetup
    this.#onEnvironmentHash = options.onEnvironmentHash
  }

  current(): AuthMode {
    if (this.#config.password !== null) return { kind: 'environment' }
    const stored = this.#record.state()
    if (stored.kind === 'hash') return { kind: 'stored', hash: stored.hash }
    if (stored.kind === 'damaged') return stored
    if (!this.#config.isExposed && !this.#hasOthers()) return { kind: 'open' }
    this.#announceSetup()
    return { kind: 'setup' }
  }

  /** Hashes AGENT_WEBUI_PASSWORD once, when first needed. */
  async hashEnvironment(password: string): Promise<string> {
    this.#environment ??= this.#hasher.hash(normalizePassword(password)).then(hash => {
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

  /** The fingerprint that valid sign-ins have in this mode; undefined when there are none. */
  fingerprint(mode: AuthMode = this.current()): string | undefined {
    if (mode.kind === 'setup') return this.setupFingerprint
    const hash =
      mode.kind === 'environment' ? this.#environmentHash : mode.kind === 'open' ? null : mode.hash
    return hash ? fingerprintOf(hash) : undefined
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

  /** Pending while the hash of AGENT_WEBUI_PASSWORD is computed; undefined when it is known or not needed. */
  pendingHash(): Promise<unknown> | undefined {
    return this.#config.password !== null && this.#environmentHash === undefined
      ? this.#environment?.catch(() => undefined)
      : undefined
  }
}
