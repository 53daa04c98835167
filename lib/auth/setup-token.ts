/** The set-up token: who reads the service's log may sign in once while no password is set. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** No letters or digits that look alike. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789'
const GROUPS = 4
const GROUP = 5

const createToken = (): string => {
  const letters: string[] = []
  while (letters.length < GROUPS * GROUP)
    // 31 letters: bytes beyond the last whole multiple would make some of them likelier.
    for (const byte of randomBytes(32))
      if (byte < 248 && letters.length < GROUPS * GROUP)
        letters.push(ALPHABET[byte % ALPHABET.length] as string)
  return Array.from({ length: GROUPS }, (_, i) =>
    letters.slice(i * GROUP, (i + 1) * GROUP).join(''),
  ).join('-')
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

export const createSetupToken = (warn: (text: string) => void) => {
  let token: string | undefined

  const announce = (): string => {
    token = createToken()
    warn(
      `The service can be reached from other machines and no password is set. Sign in with the set-up token ${token} and set a password in Settings, or set AGENT_WEBUI_PASSWORD`,
    )
    return token
  }

  return {
    /** Prints the first token. */
    announce(): void {
      if (token === undefined) announce()
    },
    /** Whether this is the token. It is replaced when it was used. */
    use(text: string): boolean {
      const right = token ?? announce()
      if (!timingSafeEqual(digest(text.trim().toLowerCase()), digest(right))) return false
      announce()
      return true
    },
  }
}
