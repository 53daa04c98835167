/**
 * Sign-ins: the session cookie, a random token with an HMAC that proves that this server issued it, and the hashes of these
 * tokens in a private file, so that sign-ins survive a restart.
 */
import { createHmac, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isSameSecret, sha256 } from '../base/sha256.ts'
import { z } from 'zod'
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import { messageOf } from '../errors.ts'
import { formatCookie } from '../http/cookies.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { readWholeText } from '../store/read-text.ts'
import type { ClientAddress } from './throttle.ts'

export const SESSION_COOKIE = 'agent_session'

/** Fixed, not extended by use. */
const SIGN_IN_LIFETIME_MS = 86_400_000
/** A paired device has no password to type, so it stays signed in for 30 days. */
const PAIRED_LIFETIME_MS = 30 * 86_400_000
const MAX_SIGN_INS = 1_000
/** Cache of verified cookies: one HMAC per request would cost a third of the throughput. */
const MAX_VERIFIED = 1_000
export const MAX_AGENT_CHARS = 200
const SIGNATURE_CHARACTERS = 32
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

/** The `Set-Cookie` header of a sign-in. */
export const sessionCookie = (value: string, secure: boolean, isPaired = false): string =>
  formatCookie(SESSION_COOKIE, value, {
    maxAge: toSeconds(isPaired ? PAIRED_LIFETIME_MS : SIGN_IN_LIFETIME_MS),
    secure,
  })

/** Who signs in: the address for the throttle, the user agent for the list of devices. */
export type SignInClient = ClientAddress & { agent?: string | undefined }

/** The client of a request as sign-ins record it. */
export const signInClient = ({
  client,
  req,
}: {
  client: ClientAddress
  req: IncomingMessage
}): SignInClient => ({
  address: client.address,
  via: client.via,
  agent: req.headers['user-agent'],
})

const ACCOUNT_CHARACTERS = 16
/** Who signs in with the password, and who uses a server without one. */
const OWNER_ACCOUNT = 'owner'

/**
 * A name for the person who is signed in, by which their browser tags what it stores. The same for all sign-ins of a person;
 * another one on another installation, which may have the same address. Not secret.
 */
export const accountOf = (key: Buffer, person: string = OWNER_ACCOUNT): string =>
  createHmac('sha256', key).update(`account\n${person}`).digest('hex').slice(0, ACCOUNT_CHARACTERS)

/** How a device signs in, and its name if the person gave one. */
export type MadeBy = {
  how: SignInMethod
  name?: string | undefined
  /** `identityKey` of who vouched for the person. */
  identity?: string | undefined
  /** Id of the person; absent: the first owner. */
  person?: string | undefined
}

/** An unreadable file counts as empty: everyone has to sign in again. */
export class SignIns {
  readonly #path: string
  readonly #key: Buffer
  readonly #clock: Clock
  readonly #warn: (text: string) => void
  readonly #all
  /** Cookie → hash of its token. */
  readonly #verified = new Map<string, string>()
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

  constructor(path: string, key: Buffer, clock: Clock, warn: (text: string) => void) {
    this.#path = path
    this.#key = key
    this.#clock = clock
    this.#warn = warn
    this.#all = new Map(this.#read().map(entry => [entry.hash, entry]))
  }

  /**
   * A new sign-in, valid while `under` is the fingerprint of its password; returns the value of its cookie. `salt`: makes
   * the same cookie again for another browser with the same user agent, see `cookieOf`.
   */
  add({ address, agent = '' }: SignInClient, under: string, method: MadeBy, salt?: string): string {
    const created_at = this.#seconds()
    const lifetime = method.how === 'pairing' ? PAIRED_LIFETIME_MS : SIGN_IN_LIFETIME_MS
    const token = salt === undefined ? randomBytes(32).toString('hex') : this.#hmac(`proxy ${salt}`)
    const hash = sha256(token)
    this.#all.set(hash, {
      hash,
      created_at,
      expires_at: created_at + toSeconds(lifetime),
      address,
      agent: agent.slice(0, MAX_AGENT_CHARS),
      under,
      ...method,
      ...(salt !== undefined && { salt }),
    })
    this.#write()
    return this.#sign(token)
  }

  /** The cookie of a sign-in that was added with this salt. Not stored. */
  cookieOf(salt: string): string {
    return this.#sign(this.#hmac(`proxy ${salt}`))
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

  /** The sign-in of a cookie; undefined when the cookie is forged, unknown, or expired. */
  find(cookie: string): SignIn | undefined {
    const hash = this.#verified.get(cookie) ?? this.#verify(cookie)
    const entry = hash === undefined ? undefined : this.#all.get(hash)
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

  #hmac(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('hex')
  }

  #sign(token: string): string {
    return `${token}.${this.#hmac(token).slice(0, SIGNATURE_CHARACTERS)}`
  }

  #verify(cookie: string): string | undefined {
    if (!/^[0-9a-f]{64}\.[0-9a-f]{32}$/.test(cookie)) return undefined
    const [token = ''] = cookie.split('.')
    if (!isSameSecret(cookie, this.#sign(token))) return undefined
    if (this.#verified.size >= MAX_VERIFIED) this.#verified.clear()
    const hash = sha256(token)
    this.#verified.set(cookie, hash)
    return hash
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
