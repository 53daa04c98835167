/**
 * WebAuthn challenges without stored state: random bytes and a time, signed with a key of this process. So a flood of
 * requests for challenges costs no memory. Each is accepted once, for five minutes, for what it was made for.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../base/clock.ts'

const LIFETIME_MS = 300_000
const RANDOM_BYTES = 16
const TIME_BYTES = 6
const HEAD_BYTES = RANDOM_BYTES + TIME_BYTES

export class Challenges {
  readonly #clock: Clock
  readonly #key = randomBytes(32)
  /** Accepted challenges → when they expire. */
  readonly #spent = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  create(purpose: string): Uint8Array<ArrayBuffer> {
    const head = Buffer.concat([randomBytes(RANDOM_BYTES), Buffer.alloc(TIME_BYTES)])
    head.writeUIntBE(Math.floor(this.#clock.now()) + LIFETIME_MS, RANDOM_BYTES, TIME_BYTES)
    return Uint8Array.from(Buffer.concat([head, this.#sign(head, purpose)]))
  }

  /** Whether this is a challenge (base64url) for that purpose. It is used up, in one tick. */
  spend(text: string, purpose: string): boolean {
    const bytes = Buffer.from(text, 'base64url')
    const head = bytes.subarray(0, HEAD_BYTES)
    const signature = bytes.subarray(HEAD_BYTES)
    const expected = this.#sign(head, purpose)
    if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return false
    const expires = head.readUIntBE(RANDOM_BYTES, TIME_BYTES)
    if (expires <= this.#clock.now()) return false
    for (const [old, at] of this.#spent) if (at <= this.#clock.now()) this.#spent.delete(old)
    // Not the text as it was sent: base64url has several spellings of the same bytes.
    const name = bytes.toString('hex')
    if (this.#spent.has(name)) return false
    this.#spent.set(name, expires)
    return true
  }

  #sign(head: Buffer, purpose: string): Buffer {
    return createHmac('sha256', this.#key).update(head).update(purpose).digest()
  }
}
