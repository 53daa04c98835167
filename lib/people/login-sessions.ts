/** Sign-ins: hashes of tokens in a private file, so that they survive a restart. */
import { sha256 } from '../base/sha256.ts'
import { z } from 'zod'
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import { messageOf } from '../errors.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { readWholeText } from '../store/read-text.ts'

/** Fixed, not extended by use. */
export const SIGN_IN_LIFETIME_MS = 86_400_000
/** A paired device has no password to type, so it stays signed in for 30 days. */
export const PAIRED_LIFETIME_MS = 30 * 86_400_000
const MAX_SIGN_INS = 1_000
/** How old the stored time of the last use may become: not every request writes the file. */
const SEEN_STEP_MS = 60_000

/** How a device signed in; `setup` is the setup token, `new-password` the browser that set the first password. */
export const SIGN_IN_METHODS = [
  'password',
  'new-password',
  'setup',
  'pairing',
  'passkey',
  'oidc',
  'proxy',
] as const
export type SignInMethod = (typeof SIGN_IN_METHODS)[number]

const SignIn = z.object({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** Seconds since 1970. */
  created_at: z.number(),
  expires_at: z.number(),
  address: z.string(),
  agent: z.string(),
  /** Fingerprint of the password that it was made with. */
  under: z.string(),
  /** Given by a person. */
  name: z.string().optional(),
  /** Absent in files of earlier versions, which knew only passwords. */
  how: z.enum(SIGN_IN_METHODS).optional().catch(undefined),
  /** Of the provider or proxy that vouched for the person, as a hash. */
  identity: z.string().optional(),
  /** Of a sign-in by a proxy: its token is derived from this and the key of the server. */
  salt: z.string().optional(),
  /** Id of the person. Absent: the first owner. */
  person: z.string().optional(),
  /** The last request: seconds since 1970, to the minute, and its address. Absent before the second one. */
  seen_at: z.number().optional(),
  seen_address: z.string().optional(),
})
export type SignIn = z.infer<typeof SignIn>
export const SignInsFile = z.object({ version: z.literal(1), sessions: z.array(SignIn) })

export type NewSignIn = {
  address: string
  agent: string
  under: string
  how: SignInMethod
  name?: string | undefined
  identity?: string | undefined
  salt?: string | undefined
  person?: string | undefined
}

/** An unreadable file counts as empty: everyone has to sign in again. */
export class SignIns {
  readonly #path: string
  readonly #clock: Clock
  readonly #warn: (text: string) => void
  readonly #all
  #cancelPending: (() => void) | undefined
  /** Losing the times of last use is harmless, so a disk that accepts no writes only costs a warning. */
  readonly #saveSeen = () => {
    this.#cancelPending?.()
    this.#cancelPending = undefined
    try {
      this.#write()
    } catch (error) {
      this.#warn(`${this.#path} cannot be written: ${messageOf(error)}`)
    }
  }

  constructor(path: string, clock: Clock, warn: (text: string) => void) {
    this.#path = path
    this.#clock = clock
    this.#warn = warn
    this.#all = new Map(this.#read().map(entry => [entry.hash, entry]))
  }

  add(token: string, { agent, how, ...from }: NewSignIn): void {
    const created_at = this.#seconds()
    const lifetime = how === 'pairing' ? PAIRED_LIFETIME_MS : SIGN_IN_LIFETIME_MS
    const hash = sha256(token)
    const expires_at = created_at + toSeconds(lifetime)
    this.#all.set(hash, { hash, created_at, expires_at, agent: agent.slice(0, 200), how, ...from })
    this.#write()
  }

  /** Records a use. `address` is only determined when the last record is more than a minute old. */
  noteSeen(entry: SignIn, address: () => string): void {
    const at = this.#seconds()
    if (fromSeconds(at - (entry.seen_at ?? entry.created_at)) < SEEN_STEP_MS) return
    entry.seen_at = at
    entry.seen_address = address()
    this.#cancelPending ??= this.#clock.timer(SEEN_STEP_MS, this.#saveSeen)
  }

  rename(entry: SignIn, name: string): void {
    const before = entry.name
    entry.name = name
    try {
      this.#write()
    } catch (error) {
      entry.name = before
      throw error
    }
  }

  /** Writes what is pending. */
  close(): void {
    if (this.#cancelPending) this.#saveSeen()
  }

  /** Undefined when unknown or expired. */
  find(token: string): SignIn | undefined {
    const entry = this.#all.get(sha256(token))
    return entry && !this.#isOver(entry) ? entry : undefined
  }

  list(): SignIn[] {
    return [...this.#all.values()].filter(entry => !this.#isOver(entry))
  }

  /** Ends the matching sign-ins; returns their number. */
  end(matches: (entry: SignIn) => boolean): number {
    let count = 0
    for (const [hash, entry] of this.#all) {
      if (!matches(entry)) continue
      this.#all.delete(hash)
      count += 1
    }
    if (count > 0) this.#write()
    return count
  }

  /** Binds a sign-in to a new password. */
  rebind(entry: SignIn, under: string): void {
    entry.under = under
    this.#write()
  }

  size() {
    return this.#all.size
  }

  #read(): SignIn[] {
    let text: string
    try {
      text = readWholeText(this.#path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#warn(`${this.#path} cannot be read; everyone has to sign in again`)
      return []
    }
    try {
      return SignInsFile.parse(JSON.parse(text)).sessions
    } catch {
      // Truncated or edited; the next sign-in replaces it.
      this.#warn(`${this.#path} is damaged; everyone has to sign in again`)
      return []
    }
  }

  #seconds() {
    return Math.floor(toSeconds(this.#clock.now()))
  }

  #isOver({ expires_at }: SignIn): boolean {
    return fromSeconds(expires_at) <= this.#clock.now()
  }

  #write() {
    for (const [hash, entry] of this.#all) if (this.#isOver(entry)) this.#all.delete(hash)
    for (const hash of this.#all.keys()) {
      if (this.#all.size <= MAX_SIGN_INS) break
      this.#all.delete(hash)
    }
    writeAtomic(
      this.#path,
      `${JSON.stringify({ version: 1, sessions: [...this.#all.values()] }, null, 1)}\n`,
    )
  }
}
