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

export const createChallenges = (clock: Clock) => {
  const key = randomBytes(32)
  /** Accepted challenges → when they expire. */
  const spent = new Map<string, number>()

  const sign = (head: Buffer, purpose: string): Buffer =>
    createHmac('sha256', key).update(head).update(purpose).digest()

  return {
    create(purpose: string): Uint8Array<ArrayBuffer> {
      const head = Buffer.concat([randomBytes(RANDOM_BYTES), Buffer.alloc(TIME_BYTES)])
      head.writeUIntBE(Math.floor(clock.now()) + LIFETIME_MS, RANDOM_BYTES, TIME_BYTES)
      return Uint8Array.from(Buffer.concat([head, sign(head, purpose)]))
    },

    /** Whether this is a challenge (base64url) for that purpose. It is used up, in one tick. */
    spend(text: string, purpose: string): boolean {
      const bytes = Buffer.from(text, 'base64url')
      const head = bytes.subarray(0, HEAD_BYTES)
      const signature = bytes.subarray(HEAD_BYTES)
      const expected = sign(head, purpose)
      if (signature.length !== expected.length || !timingSafeEqual(signature, expected))
        return false
      const expires = head.readUIntBE(RANDOM_BYTES, TIME_BYTES)
      if (expires <= clock.now()) return false
      for (const [old, at] of spent) if (at <= clock.now()) spent.delete(old)
      // Not the text as it was sent: base64url has several spellings of the same bytes.
      const name = bytes.toString('hex')
      if (spent.has(name)) return false
      spent.set(name, expires)
      return true
    },
  }
}
