/**
 * One-time codes (TOTP, RFC 6238) as a second factor to the password, and recovery codes for a lost phone. A code works
 * once; wrong codes are counted for all clients together, because they are only reached with the right password.
 */
import { randomInt } from 'node:crypto'
import { sha256 } from '../base/sha256.ts'
import type { TOTP } from 'otpauth'
import { type Clock, toSeconds } from '../base/clock.ts'
import { conflict, forbidden, tooMany, unauthorized } from '../errors.ts'
import type { People, Totp } from './people.ts'
import { Throttle } from './throttle.ts'

const STEP_MS = 30_000
/** Steps before and after the current one, for a phone whose clock is wrong. */
const WINDOW = 1
const RECOVERY_CODES = 10
const RECOVERY_CHARS = 10
/** Without look-alike letters and digits: 49 bits for each code. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789'
/** How long a secret that was shown waits for its first code. */
const PENDING_MS = 600_000
const MAX_WRONG = 5
const WINDOW_MS = 15 * 60_000

/** People type recovery codes with and without the hyphen, and apps show codes in groups. */
const normalize = (code: string): string => code.replace(/[\s-]/g, '').toLowerCase()

const newRecoveryCode = (): string =>
  Array.from({ length: RECOVERY_CHARS }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')

const grouped = (code: string): string => `${code.slice(0, 5)}-${code.slice(5)}`

const load = async (secret?: string): Promise<TOTP> => {
  const { Secret, TOTP: Generator } = await import('otpauth')
  return new Generator({
    secret: secret === undefined ? new Secret({ size: 20 }) : Secret.fromBase32(secret),
    period: toSeconds(STEP_MS),
    digits: 6,
    algorithm: 'SHA1',
  })
}

export class Codes {
  readonly #people: People
  readonly #clock: Clock
  readonly #onSecret: (secret: string) => void
  readonly #throttle
  /** Secrets that were shown but not confirmed, by the sign-in they were shown to. */
  readonly #pending = new Map<string, { secret: string; expiresAt: number }>()

  /** `throttlePath`: keeps wrong codes counted across a restart. `onSecret` gets each secret, so that it can be redacted elsewhere. */
  constructor(
    people: People,
    throttlePath: string,
    clock: Clock,
    warn: (text: string) => void,
    onSecret: (secret: string) => void,
  ) {
    this.#people = people
    this.#clock = clock
    this.#onSecret = onSecret
    this.#throttle = new Throttle({
      path: throttlePath,
      clock,
      maxAttempts: MAX_WRONG,
      windowMs: WINDOW_MS,
      refusal: () =>
        tooMany('Too many wrong codes. Try again in 15 minutes.', { code: 'too_many_codes' }),
      warn,
    })
  }

  /** Throws a 503 while it cannot be read whether codes are required. */
  isOn(): boolean {
    const { totp } = this.#people.owner()
    if (totp) this.#onSecret(totp.secret)
    return totp !== null
  }

  view() {
    const { totp } = this.#people.owner()
    return { enabled: totp !== null, recovery_left: totp?.recovery.length ?? 0 }
  }

  /** Throws a 401 unless the code is right, and uses it up. */
  async require(code: string | undefined): Promise<void> {
    const input = normalize(code ?? '')
    if (input === '')
      throw unauthorized('Enter the code from your authenticator app.', { code: 'code_required' })
    const slot = this.#throttle.take({ address: 'codes' })
    const generator = await load(this.#required().secret)
    // Read again, and stored in the same tick: of two requests with one code, the second is refused.
    const rest = this.#use(this.#required(), generator, input)
    if (!rest) throw unauthorized('Incorrect code.', { code: 'wrong_code' })
    this.#people.update({ totp: rest })
    slot.clear()
  }

  /** A new secret, and the address that authenticator apps read from a QR code. It counts once `enable` gets its first code. */
  async start(by: string, { title }: { title: string }): Promise<{ secret: string; uri: string }> {
    if (this.#people.owner().totp) throw conflict('Codes are on already.', { code: 'codes_on' })
    const generator = await load()
    generator.issuer = title
    generator.label = this.#people.owner().name
    const secret = generator.secret.base32
    this.#onSecret(secret)
    for (const [other, { expiresAt }] of this.#pending)
      if (expiresAt <= this.#clock.now()) this.#pending.delete(other)
    this.#pending.set(by, { secret, expiresAt: this.#clock.now() + PENDING_MS })
    return { secret, uri: generator.toString() }
  }

  /** Turns codes on; returns the recovery codes, which are shown once. */
  async enable(by: string, code: string): Promise<string[]> {
    const pending = this.#pending.get(by)
    if (!pending || pending.expiresAt <= this.#clock.now())
      throw conflict('This took too long. Start again.', { code: 'setup_expired' })
    const slot = this.#throttle.take({ address: 'codes' })
    const generator = await load(pending.secret)
    const step = this.#stepOf(generator, normalize(code))
    if (step === undefined) throw forbidden('Incorrect code.', { code: 'wrong_code' })
    slot.clear()
    if (this.#people.owner().totp) throw conflict('Codes are on already.', { code: 'codes_on' })
    this.#pending.delete(by)
    const { shown: codes, recovery } = this.#createRecovery()
    const { secret } = pending
    const enabled_at = Math.floor(toSeconds(this.#clock.now()))
    this.#people.update({ totp: { secret, enabled_at, last_step: step, recovery } })
    return codes
  }

  disable(): void {
    this.#people.update({ totp: null })
  }

  /** Replaces the recovery codes. */
  renewRecovery(): string[] {
    const { shown: codes, recovery } = this.#createRecovery()
    this.#people.update({ totp: { ...this.#required(), recovery } })
    return codes
  }

  /** The step that a code is of; undefined when it is of none near the current one. */
  #stepOf(generator: TOTP, code: string): number | undefined {
    const delta = generator.validate({ token: code, timestamp: this.#clock.now(), window: WINDOW })
    return delta === null ? undefined : Math.floor(this.#clock.now() / STEP_MS) + delta
  }

  /** What is left of the factor when the code is right. */
  #use(totp: Totp, generator: TOTP, code: string): Totp | undefined {
    if (/^\d{6}$/.test(code)) {
      const step = this.#stepOf(generator, code)
      return step === undefined || step <= totp.last_step ? undefined : { ...totp, last_step: step }
    }
    const hash = sha256(code)
    if (!totp.recovery.includes(hash)) return undefined
    return { ...totp, recovery: totp.recovery.filter(each => each !== hash) }
  }

  #createRecovery() {
    const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode)
    return { shown: codes.map(grouped), recovery: codes.map(sha256) }
  }

  #required(): Totp {
    const { totp } = this.#people.owner()
    if (!totp) throw conflict('Codes are off.', { code: 'codes_off' })
    return totp
  }
}
