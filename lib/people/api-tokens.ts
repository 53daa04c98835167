/** Tokens of programs that use the client API, and whether it is on: a private file with hashes, so that both survive a restart. */
import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isSameSecret, sha256 } from '../base/sha256.ts'
import { z } from 'zod'
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import { mayToken } from './may.ts'
import { type ClientAddress, Throttle } from './throttle.ts'
import { conflict, forbidden, missing, unauthorized, unavailable } from '../errors.ts'
import { ApiToken, TokenPath, TokenScope } from '../schema/api-token.ts'
import type { Access, Caller } from '../schema/person.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { readWholeText } from '../store/read-text.ts'

const MAX_TOKENS = 100
/** How old the stored time of the last use may become: not every request writes the file. */
const LAST_USE_STEP_MS = 60_000

/** Recognizable, so that `lib/base/redact/shapes.ts` masks tokens although only their hashes are known. */
const PREFIX = 'awt_'

/** The defaults are for files of earlier versions. */
const StoredToken = ApiToken.extend({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  expires_at: z.number().nullable().default(null),
  scope: TokenScope.default('work'),
  paths: z.array(TokenPath).min(1).default(['v1']),
})
type StoredToken = z.infer<typeof StoredToken>
/** Of the whole file. */
export const ApiTokensFile = z.object({
  version: z.literal(1),
  enabled: z.boolean(),
  tokens: z.array(StoredToken),
})

/** `Authorization: Bearer …`, as OpenAI's clients send it, or `x-api-key`, as Anthropic's do. */
const tokenIn = ({ authorization, 'x-api-key': key }: IncomingHttpHeaders): string => {
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
  return bearer ?? (typeof key === 'string' ? key.trim() : '')
}

const withoutHash = ({ hash: _, ...token }: StoredToken): ApiToken => token

export type NewToken = Omit<ApiToken, 'id' | 'created_at' | 'last_used_at'>

/** What a request needs its token for. */
type TokenUse = { path: TokenPath; scope: TokenScope }

/** An unreadable file keeps the API off and is not replaced. */
export class ApiTokens {
  readonly #path: string
  readonly #clock: Clock
  readonly #throttle: Throttle
  readonly #fileState
  #state
  /** Aborted when the token is revoked or the API is turned off: requests that still run end then. */
  readonly #running = new Map<string, AbortController>()

  constructor(path: string, clock: Clock) {
    this.#path = path
    this.#clock = clock
    this.#throttle = new Throttle({ clock })
    this.#fileState = this.#read()
    this.#state =
      this.#fileState === 'damaged'
        ? { version: 1 as const, enabled: false, tokens: [] }
        : this.#fileState
  }

  list() {
    return { enabled: this.#state.enabled, tokens: this.#state.tokens.map(withoutHash) }
  }

  setEnabled(enabled: boolean): void {
    this.#write({ ...this.#state, enabled })
  }

  /** `secret` is the token itself. It is not stored, so this is the only time it can be shown. */
  create(input: NewToken): { token: ApiToken; secret: string } {
    if (this.#state.tokens.length >= MAX_TOKENS)
      throw conflict(`There are ${MAX_TOKENS} tokens already. Revoke one first.`, {
        code: 'too_many_tokens',
        values: { max: MAX_TOKENS },
      })
    const secret = `${PREFIX}${randomBytes(32).toString('base64url')}`
    const token: StoredToken = {
      ...input,
      id: randomBytes(8).toString('hex'),
      created_at: Math.floor(toSeconds(this.#clock.now())),
      last_used_at: null,
      hash: sha256(secret),
    }
    this.#write({ ...this.#state, tokens: [...this.#state.tokens, token] })
    return { token: withoutHash(token), secret }
  }

  revoke(id: string): boolean {
    const tokens = this.#state.tokens.filter(token => token.id !== id)
    if (tokens.length === this.#state.tokens.length) return false
    this.#write({ ...this.#state, tokens })
    return true
  }

  /** The token of a request that was admitted. */
  require(headers: IncomingHttpHeaders, from: ClientAddress): ApiToken {
    return this.#admitted(headers, from, { path: 'v1', scope: 'read' })
  }

  /**
   * Whether the request brings a token for the page’s interface, also one that is revoked or was never valid: a program must
   * not get the rights of a cookie beside it. Those for `/v1`, and those of others such as a proxy, are ignored there.
   */
  isGiven(headers: IncomingHttpHeaders): boolean {
    return this.#find(headers)?.paths.includes('api') ?? tokenIn(headers).startsWith(PREFIX)
  }

  /**
   * Whom the token acts for: a viewer or member of its profile. Throws a 404 while the API is off, a 401 without a valid
   * token, a 403 for what the token may not do, a 429 after too many wrong ones.
   */
  admit(
    headers: IncomingHttpHeaders,
    from: ClientAddress,
    { path, access }: { path: string; access: Access },
  ): Caller {
    const isApi = path.startsWith('/api')
    const scope = access === 'read' ? 'read' : 'work'
    const token = this.#admitted(headers, from, { path: isApi ? 'api' : 'v1', scope })
    if (!mayToken(path)) throw forbidden('Tokens cannot do this. Sign in to the page.')
    return {
      id: `token ${token.id}`,
      role: token.scope === 'read' ? 'viewer' : 'member',
      profiles: [token.profile],
    }
  }

  isValid(headers: IncomingHttpHeaders): boolean {
    const token = this.#find(headers)
    return token !== undefined && !this.#isExpired(token)
  }

  /** Null for a token that is not accepted any more. */
  find(id: string): ApiToken | null {
    const token = this.#state.enabled && this.#state.tokens.find(each => each.id === id)
    return token && !this.#isExpired(token) ? withoutHash(token) : null
  }

  /** Aborted when this token ends. */
  signal(id: string): AbortSignal {
    const existing = this.#running.get(id)
    if (existing) return existing.signal
    const controller = new AbortController()
    this.#running.set(id, controller)
    const token = this.#state.tokens.find(each => each.id === id)
    if (token) this.#armExpiry(token, controller)
    return controller.signal
  }

  #read(): z.infer<typeof ApiTokensFile> | 'damaged' {
    try {
      return ApiTokensFile.parse(JSON.parse(readWholeText(this.#path)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT')
        return { version: 1, enabled: false, tokens: [] }
      return 'damaged'
    }
  }

  /** On disk first: a change that was not stored must not apply until the next start only. */
  #write(next: z.infer<typeof ApiTokensFile>): void {
    if (this.#fileState === 'damaged')
      throw unavailable(`${this.#path} is damaged. Repair or remove it, then restart the server.`, {
        code: 'file_damaged',
        values: { path: this.#path },
      })
    writeAtomic(this.#path, `${JSON.stringify(next, null, 1)}\n`)
    this.#state = next
    for (const [id, controller] of this.#running) {
      if (next.enabled && next.tokens.some(token => token.id === id)) continue
      this.#running.delete(id)
      controller.abort(new Error('The token was revoked'))
    }
  }

  #find(headers: IncomingHttpHeaders): StoredToken | undefined {
    const secret = tokenIn(headers)
    if (!this.#state.enabled || secret === '') return undefined
    const hash = sha256(secret)
    return this.#state.tokens.find(token => isSameSecret(token.hash, hash))
  }

  #isExpired({ expires_at }: StoredToken): boolean {
    return expires_at !== null && fromSeconds(expires_at) <= this.#clock.now()
  }

  /** Ends what the token runs when it expires. */
  #armExpiry(token: StoredToken, controller: AbortController): void {
    if (token.expires_at === null) return
    const leftMs = Math.max(0, fromSeconds(token.expires_at) - this.#clock.now())
    const cancel = this.#clock.timer(leftMs, () => {
      // The clock may have been set back since.
      if (this.#isExpired(token)) controller.abort(new Error('The token has expired'))
      else this.#armExpiry(token, controller)
    })
    controller.signal.addEventListener('abort', cancel, { once: true })
  }

  #noteUse(token: StoredToken): void {
    const at = Math.floor(toSeconds(this.#clock.now()))
    const { last_used_at: before } = token
    if (before !== null && fromSeconds(at - before) < LAST_USE_STEP_MS) return
    const tokens = this.#state.tokens.map(each =>
      each.id === token.id ? { ...each, last_used_at: at } : each,
    )
    try {
      this.#write({ ...this.#state, tokens })
    } catch {
      // A full disk: the request itself does not depend on it.
    }
  }

  #admitted(headers: IncomingHttpHeaders, from: ClientAddress, use: TokenUse): ApiToken {
    if (!this.#state.enabled) throw missing('The API is off. Turn it on in Settings → Access.')
    const token = this.#find(headers)
    if (token && this.#isExpired(token))
      throw unauthorized(`The token "${token.name}" has expired. Make a new one.`)
    if (token) {
      if (!token.paths.includes(use.path))
        throw forbidden(`This token is not for /${use.path}. Make one that is.`)
      if (use.scope === 'work' && token.scope === 'read')
        throw forbidden('This token can only read. Make one that can work.')
      this.#noteUse(token)
      return withoutHash(token)
    }
    if (tokenIn(headers) !== '') this.#throttle.take(from)
    throw unauthorized(
      'A valid API token is required: make one in Settings → Access and send it as "Authorization: Bearer" or "x-api-key".',
    )
  }
}
