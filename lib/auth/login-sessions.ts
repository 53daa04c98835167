/** Sign-ins: hashes of tokens in a private file, so that they survive a restart. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { writeAtomic } from '../store/atomic-write.ts'
import { readWholeText } from '../store/read-text.ts'

/** Fixed, not extended by use. */
export const SIGN_IN_LIFETIME_S = 86_400
const MAX_SIGN_INS = 1_000

const SignIn = z.object({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** Seconds since 1970. */
  created_at: z.number(),
  expires_at: z.number(),
  address: z.string(),
  agent: z.string(),
  /** Fingerprint of the password that it was made with. */
  under: z.string(),
})
export type SignIn = z.infer<typeof SignIn>
const File = z.object({ version: z.literal(1), sessions: z.array(SignIn) })

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex')

export type SignIns = ReturnType<typeof openSignIns>

/** `now` is in seconds. An unreadable file counts as empty: everyone has to sign in again. */
export const openSignIns = (path: string, now: () => number, warn: (text: string) => void) => {
  const read = (): SignIn[] => {
    let text: string
    try {
      text = readWholeText(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        warn(`${path} cannot be read; everyone has to sign in again`)
      return []
    }
    try {
      return File.parse(JSON.parse(text)).sessions
    } catch {
      // Truncated or edited; the next sign-in replaces it.
      warn(`${path} is damaged; everyone has to sign in again`)
      return []
    }
  }
  const all = new Map(read().map(entry => [entry.hash, entry]))

  const write = () => {
    for (const [hash, { expires_at }] of all) if (expires_at <= now()) all.delete(hash)
    for (const hash of all.keys()) {
      if (all.size <= MAX_SIGN_INS) break
      all.delete(hash)
    }
    writeAtomic(path, `${JSON.stringify({ version: 1, sessions: [...all.values()] }, null, 1)}\n`)
  }

  return {
    add(token: string, from: { address: string; agent: string; under: string }): void {
      const created_at = Math.floor(now())
      const { address, agent, under } = from
      const entry = {
        created_at,
        expires_at: created_at + SIGN_IN_LIFETIME_S,
        address,
        agent: agent.slice(0, 200),
        under,
      }
      const hash = hashOf(token)
      all.set(hash, { hash, ...entry })
      write()
    },
    /** Undefined when unknown or expired. */
    find(token: string): SignIn | undefined {
      const entry = all.get(hashOf(token))
      return entry && entry.expires_at > now() ? entry : undefined
    },
    list: (): SignIn[] => [...all.values()].filter(entry => entry.expires_at > now()),
    /** Ends the matching sign-ins; returns their number. */
    end(matches: (entry: SignIn) => boolean): number {
      let count = 0
      for (const [hash, entry] of all) {
        if (!matches(entry)) continue
        all.delete(hash)
        count += 1
      }
      if (count > 0) write()
      return count
    },
    /** Binds a sign-in to a new password. */
    rebind(entry: SignIn, under: string): void {
      entry.under = under
      write()
    },
    size: () => all.size,
  }
}
