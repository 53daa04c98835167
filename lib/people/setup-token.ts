/** The setup token: printed to the server's log, it allows one sign-in while no password is set. */
import { randomBytes } from 'node:crypto'
import { isSameSecret } from '../base/sha256.ts'

/** Without look-alike letters and digits. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789'
const GROUPS = 4
const GROUP = 5

const createToken = (): string => {
  const letters: string[] = []
  while (letters.length < GROUPS * GROUP)
    // Rejects bytes above the last multiple of 31, which would bias the choice.
    for (const byte of randomBytes(32))
      if (byte < 248 && letters.length < GROUPS * GROUP)
        letters.push(ALPHABET[byte % ALPHABET.length] as string)
  return Array.from({ length: GROUPS }, (_, i) =>
    letters.slice(i * GROUP, (i + 1) * GROUP).join(''),
  ).join('-')
}

export class SetupToken {
  readonly #warn: (text: string) => void
  #token: string | undefined

  constructor(warn: (text: string) => void) {
    this.#warn = warn
  }

  /** Prints the token, once. */
  announce(): void {
    if (this.#token === undefined) this.#announce()
  }

  /** Whether this is the token. A used token is replaced. */
  use(text: string): boolean {
    const right = this.#token ?? this.#announce()
    if (!isSameSecret(text.trim().toLowerCase(), right)) return false
    this.#announce()
    return true
  }

  #announce(): string {
    this.#token = createToken()
    this.#warn(
      `Others can reach the sign-in page, and no password is set. Sign in with the setup token ${this.#token} and set a password in Settings, or set AGENT_WEBUI_PASSWORD`,
    )
    return this.#token
  }
}
