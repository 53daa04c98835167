/** What decides about sign-ins at the moment: no password, AGENT_WEBUI_PASSWORD, the stored password, or the setup token. */
import { randomBytes } from 'node:crypto'
import { sha256 } from '../base/sha256.ts'
import { unavailable } from '../errors.ts'
import { normalizePassword } from './normalize-password.ts'
import type { Hasher } from './password.ts'
import type { PasswordRecord } from './password-record.ts'

export type AuthMode =
  | { kind: 'open' }
  | { kind: 'environment' }
  | { kind: 'stored'; hash: string }
  | { kind: 'damaged'; why: string; hash: string | null; isOfOtherKey?: true }
  | { kind: 'setup' }

export type AuthModeOptions = {
  config: { password: string | null; isExposed: boolean }
  record: PasswordRecord
  hasher: Hasher
  /** People who have to sign in exist beside the first owner: without a password the server stays closed. */
  hasOthers: () => boolean
  /** Prints the setup token, once. */
  announceSetup: () => void
  /** The hash of AGENT_WEBUI_PASSWORD is known: sign-ins with another fingerprint are invalid. */
  onEnvironmentHash: (fingerprint: string) => void
}

/** Binds a sign-in to the password it was made with. The hash itself is not stored in the sign-in file. */
export const fingerprintOf = (hash: string): string => sha256(hash).slice(0, 16)

export type AuthModes = ReturnType<typeof createAuthModes>

export const createAuthModes = (options: AuthModeOptions) => {
  const { config, record, hasher } = options
  /** A sign-in with the setup token ends with the process that printed the token. */
  const setupFingerprint = `setup-${randomBytes(8).toString('hex')}`
  let environment: Promise<string> | undefined
  let environmentHash: string | undefined

  const current = (): AuthMode => {
    if (config.password !== null) return { kind: 'environment' }
    const stored = record.state()
    if (stored.kind === 'hash') return { kind: 'stored', hash: stored.hash }
    if (stored.kind === 'damaged') return stored
    if (!config.isExposed && !options.hasOthers()) return { kind: 'open' }
    options.announceSetup()
    return { kind: 'setup' }
  }

  /** Hashes AGENT_WEBUI_PASSWORD once, when first needed. */
  const hashEnvironment = async (password: string): Promise<string> => {
    environment ??= hasher.hash(normalizePassword(password)).then(hash => {
      environmentHash = hash
      options.onEnvironmentHash(fingerprintOf(hash))
      return hash
    })
    try {
      return await environment
    } catch (error) {
      // The hash queue was full: the next call retries.
      environment = undefined
      throw error
    }
  }

  return {
    current,
    setupFingerprint,
    hashEnvironment,

    /** The fingerprint that valid sign-ins have in this mode; undefined when there are none. */
    fingerprint(mode: AuthMode = current()): string | undefined {
      if (mode.kind === 'setup') return setupFingerprint
      const hash =
        mode.kind === 'environment' ? environmentHash : mode.kind === 'open' ? null : mode.hash
      return hash ? fingerprintOf(hash) : undefined
    },

    /** The hash that a password is compared with. Throws a 503 when the record is damaged and no hash is known. */
    expectedHash(mode: AuthMode): Promise<string> | string {
      if (config.password !== null) return hashEnvironment(config.password)
      if (mode.kind === 'stored') return mode.hash
      if (mode.kind === 'damaged' && mode.hash !== null) return mode.hash
      throw unavailable(
        'The stored password cannot be read, so sign-in is closed. Run "agent-webui password" in a terminal on the server’s machine.',
        { code: 'password_unreadable' },
      )
    },

    /** Pending while the hash of AGENT_WEBUI_PASSWORD is computed; undefined when it is known or not needed. */
    pendingHash: (): Promise<unknown> | undefined =>
      config.password !== null && environmentHash === undefined
        ? environment?.catch(() => undefined)
        : undefined,
  }
}
