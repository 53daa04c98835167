/** Pairing codes: each signs one further device in, once, within five minutes. In memory, as hashes: a restart ends them. */
import { randomBytes } from 'node:crypto'
import { isSameSecret, sha256 } from '../base/sha256.ts'
import { type Clock, toSeconds } from '../base/clock.ts'
import { conflict } from '../errors.ts'

const LIFETIME_MS = 300_000
/** 160 bits: too many to guess, and the QR code stays small. */
const CODE_BYTES = 20
const MAX_CODES = 5

/** `gone`: expired, revoked with the sign-in that made it, or never known. */
export type PairingStatus = { state: 'waiting' | 'gone' } | { state: 'paired'; name: string }

type Code = {
  hash: string
  expiresAt: number
  /** Hash of the sign-in that made it. */
  by: string
  /** The device that used it. */
  name?: string
}

/** `isSignedIn` says whether the sign-in that made a code is still valid. */
export class Pairing {
  readonly #clock: Clock
  readonly #isSignedIn: (by: string) => boolean
  readonly #codes = new Map<string, Code>()
  readonly #isOpen = ({ name }: Code): boolean => name === undefined

  constructor(clock: Clock, isSignedIn: (by: string) => boolean) {
    this.#clock = clock
    this.#isSignedIn = isSignedIn
  }

  /** `expires_in`: seconds, because the clock of the browser may be wrong. */
  create(by: string): { id: string; code: string; expires_in: number } {
    this.#dropOld()
    if ([...this.#codes.values()].filter(this.#isOpen).length >= MAX_CODES)
      throw conflict('Too many pairing codes are open. Wait until one expires.', {
        code: 'too_many_pairings',
      })
    const code = randomBytes(CODE_BYTES).toString('base64url')
    const id = randomBytes(8).toString('hex')
    this.#codes.set(id, { hash: sha256(code), expiresAt: this.#clock.now() + LIFETIME_MS, by })
    return { id, code, expires_in: toSeconds(LIFETIME_MS) }
  }

  /** Uses a code up, for the device of this name. Returns the sign-in that made it; undefined when it is not valid. */
  use(code: string, name: string): string | undefined {
    this.#dropOld()
    const hash = sha256(code)
    const pairing = [...this.#codes.values()].find(each => isSameSecret(each.hash, hash))
    // One tick from the lookup to the mark, so that two devices cannot both use it.
    if (!pairing || !this.#isOpen(pairing)) return undefined
    pairing.name = name
    return pairing.by
  }

  /** Of a code that this sign-in made. */
  status(id: string, by: string): PairingStatus {
    this.#dropOld()
    const code = this.#codes.get(id)
    if (!code || code.by !== by) return { state: 'gone' }
    return code.name === undefined ? { state: 'waiting' } : { state: 'paired', name: code.name }
  }

  /** Ends a code that was not used. */
  cancel(id: string, by: string): void {
    const code = this.#codes.get(id)
    if (code?.by === by && this.#isOpen(code)) this.#codes.delete(id)
  }

  #dropOld(): void {
    for (const [id, { expiresAt, by }] of this.#codes)
      if (expiresAt <= this.#clock.now() || !this.#isSignedIn(by)) this.#codes.delete(id)
  }
}
