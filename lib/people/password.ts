/** Password hashing: PBKDF2-SHA256 on the thread pool, one hash at a time. */
import { pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'
import { tooMany } from '../errors.ts'

const derive = promisify(pbkdf2)

/** Changing it makes existing passwords invalid. */
const ITERATIONS = 600_000
/** Hashes share four threads with all file I/O; twenty at once would block it for most of a second. */
const MAX_WAITING = 8

export type Hasher = {
  /** 64 hex characters. Throws a 429 when too many are waiting. */
  hash(password: string): Promise<string>
}

/** `iterations` is for tests. */
export const createPasswordHasher = (key: Buffer, iterations = ITERATIONS): Hasher => {
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()
  return {
    async hash(password) {
      if (waiting > MAX_WAITING)
        throw tooMany('Too many sign-ins at once. Try again in a moment.', {
          code: 'sign_ins_busy',
        })
      waiting += 1
      const hash = last.then(() => derive(password, key, iterations, 32, 'sha256'))
      // A failure must not block the next one.
      last = hash.catch(() => undefined)
      try {
        return (await hash).toString('hex')
      } finally {
        waiting -= 1
      }
    },
  }
}
