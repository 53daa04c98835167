/**
 * Sign-ins that need no password, such as those of paired devices, and the confirmation that the person is present before
 * a change that would outlive a stolen cookie.
 */
import { type Clock, fromSeconds } from '../base/clock.ts'
import { conflict, forbidden, unauthorized } from '../errors.ts'
import { type AuthMode, type AuthModes, fingerprintOf } from './auth-mode.ts'
import type { MadeBy, SignInClient } from './auth.ts'
import type { SignIn } from './login-sessions.ts'
import type { Throttle } from './throttle.ts'

/** A sign-in younger than this is a confirmation by itself. */
const FRESH_MS = 600_000
const CONFIRMING: ReadonlySet<SignIn['how']> = new Set([
  'password',
  'new-password',
  'passkey',
  'oidc',
])

type Given = { password?: string | undefined; client: SignInClient }

type Parts = {
  modes: Pick<AuthModes, 'current' | 'expectedHash'>
  find(cookie: string | undefined): SignIn | undefined
  issue(under: string, client: SignInClient, made: MadeBy): string
  verify(password: string, mode: AuthMode): Promise<string | undefined>
  /** Of a person who is not the first owner; undefined: removed. */
  stampOfPerson(id: string): string | undefined
  verifyPerson(id: string, password: string): Promise<boolean>
  throttle: Throttle
  clock: Clock
}

const signInRequired = () => unauthorized('Authentication required', { code: 'sign_in_required' })

export const createConfirmed = (parts: Parts) => {
  const { modes, find, issue, verify, throttle, clock } = parts
  /** The mode, when a password is set that sign-ins can be bound to. */
  const passwordMode = (): AuthMode => {
    const mode = modes.current()
    if (mode.kind === 'open' || mode.kind === 'setup')
      throw conflict('Set a password in Settings → Security first.', { code: 'password_missing' })
    return mode
  }

  /**
   * Passes when the person signed in on this device within the last ten minutes or gives the password; `always` accepts
   * only the password. Throws a 403: a 401 would make the page ask for a sign-in that is still valid.
   */
  const confirm = async (
    cookie: string | undefined,
    { password, client, always = false }: Given & { always?: boolean },
  ): Promise<void> => {
    const mode = passwordMode()
    const entry = find(cookie)
    if (!entry) throw signInRequired()
    const age = clock.now() - fromSeconds(entry.created_at)
    // Negative: the clock was set back since then.
    const isFresh = age >= 0 && age < FRESH_MS && CONFIRMING.has(entry.how)
    if (isFresh && !always) return
    if (!password) throw forbidden('Enter the password to confirm.', { code: 'confirm_password' })
    const slot = throttle.take(client)
    let isRight: boolean
    try {
      isRight =
        entry.person === undefined
          ? (await verify(password, mode)) !== undefined
          : await parts.verifyPerson(entry.person, password)
    } catch (error) {
      slot.release()
      throw error
    }
    if (!isRight) throw forbidden('Incorrect password.', { code: 'wrong_password' })
    slot.clear()
    // It may have ended while hashing.
    if (!find(cookie)) throw signInRequired()
  }

  return {
    confirm,

    /** As `confirm`, for what also exists without a password: then there is nothing to confirm. */
    async confirmChange(cookie: string | undefined, given: Given): Promise<void> {
      const { kind } = modes.current()
      if (kind !== 'open' && kind !== 'setup') await confirm(cookie, given)
    },

    /** Names the valid sign-in of a cookie. Throws a 409 without a password, a 401 without a sign-in. */
    signInOf(cookie: string | undefined): string {
      passwordMode()
      const entry = find(cookie)
      if (!entry) throw signInRequired()
      return entry.hash
    },

    /** A new sign-in that was proven otherwise; returns its cookie. `isStillValid` is checked again after the wait. */
    async admit(
      client: SignInClient,
      made: MadeBy,
      isStillValid: () => boolean = () => true,
    ): Promise<string> {
      const mode = passwordMode()
      const under =
        made.person === undefined
          ? fingerprintOf(await modes.expectedHash(mode))
          : parts.stampOfPerson(made.person)
      if (under === undefined || !isStillValid()) throw signInRequired()
      return issue(under, client, made)
    },
  }
}
