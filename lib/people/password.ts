/** Passwords: which can be used, and their hash: PBKDF2-SHA256 on the thread pool, one at a time. */
import { pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'
import { invalid, tooMany } from '../errors.ts'

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
