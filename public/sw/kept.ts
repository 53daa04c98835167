/**
 * Replies of the API that can be read without a network: a list of what is stored, never of what is left out, so that a
 * secret or a new endpoint is not stored unless it is named here.
 *
 * They belong to one person, whom the request names (`ACCOUNT_HEADER`): a page gets those of its own person only. `clear`
 * removes everything, and a reply that was requested before is not stored after it.
 */
import type { Clock } from '../../lib/base/clock.ts'
import { ACCOUNT_HEADER, STORED_HEADER } from '../../lib/base/page-headers.ts'

/** Changes when stored replies are removed. */
export type Epoch = symbol

/** Replies without secrets that the page needs to show the chats. */
const SHARED = new Set([
  'api/commands',
  'api/config/problems',
  'api/inbox',
  'api/models',
  'api/onboarding/status',
  'api/personalities',
  'api/profile/active',
  'api/profiles',
  'api/projects',
  'api/reasoning',
  'api/settings',
  'api/skills',
  'api/workspaces',
])

export const MAX_SESSIONS = 20
export const MAX_BYTES = 50_000_000

const SIZE = 'x-size'
const SESSION = 'api/session?session_id='

/** `scope`: of the service worker. */
export class KeptStore {
  readonly #caches: CacheStorage
  readonly #scope: string
  readonly #clock: Clock
  readonly #root: string
  readonly #prefix: string
  #epoch: Epoch = Symbol('epoch')

  constructor(caches: CacheStorage, scope: string, clock: Clock) {
    this.#caches = caches
    this.#scope = scope
    this.#clock = clock
    this.#root = new URL(scope).pathname
    this.#prefix = `agent-webui ${this.#root} read`
  }

  /** The page itself, for every address, as the last person to open it got it. */
  readonly shell = async (): Promise<Response | undefined> => {
    for (const name of await this.#names(() => true)) {
      const response = await (await this.#caches.open(name)).match(this.#urlOf(''))
      if (response) return response
    }
    return undefined
  }

  /** Take it before a request whose reply is stored. */
  epoch(): Epoch {
    return this.#epoch
  }

  accepts(request: Request): boolean {
    return this.#accountOf(request) !== null && this.#keyOf(request.url) !== null
  }

  isStored(reply: Response): boolean {
    return reply.headers.has(STORED_HEADER)
  }

  async find(request: Request): Promise<Response | undefined> {
    const [account, key] = [this.#accountOf(request), this.#keyOf(request.url)]
    if (account === null || key === null || !(await this.#caches.has(this.#nameOf(account))))
      return undefined
    return (await this.#caches.open(this.#nameOf(account))).match(this.#urlOf(key))
  }

  async put(request: Request, reply: Response, epoch: Epoch): Promise<void> {
    const [account, key] = [this.#accountOf(request), this.#keyOf(request.url)]
    if (account !== null && key !== null) await this.#store(account, key, reply, epoch)
  }

  /** The server sent a page of this person: nothing of others is shown any more. `copy`: the page, to be stored; null: it is not stored. */
  async keepShell(account: string, copy: Response | null, epoch: Epoch): Promise<void> {
    if (epoch !== this.#epoch) return
    const others = await this.#names(name => name !== this.#nameOf(account))
    let now = epoch
    if (others.length > 0) {
      const dropped = this.#drop(others)
      now = this.#epoch
      await dropped
    }
    if (copy) await this.#store(account, '', copy, now)
  }

  async clear(): Promise<void> {
    // At once, also while the names are read.
    this.#epoch = Symbol('epoch')
    await this.#drop(await this.#names(() => true))
  }

  #accountOf({ headers }: Request): string | null {
    return headers.get(ACCOUNT_HEADER)
  }

  #nameOf(account: string): string {
    return `${this.#prefix} ${account}`
  }

  /** The path under which a reply is stored; null for what is not stored. */
  #keyOf(href: string): string | null {
    const { pathname, searchParams: query } = new URL(href)
    const path = pathname.slice(this.#root.length)
    if (path === 'api/sessions') return query.has('cursor') ? null : path
    // The end of a chat. Earlier messages and single ones are requested with more parameters.
    if (path === 'api/session') {
      const isEnd = [...query.keys()].every(key => key === 'session_id' || key === 'limit')
      return isEnd && query.get('session_id') ? SESSION + query.get('session_id') : null
    }
    return SHARED.has(path) && query.size === 0 ? path : null
  }

  #urlOf(key: string): string {
    return new URL(key, this.#scope).href
  }

  /** Removes the chats that were stored longest ago. A cache lists its entries in the order in which they were put. */
  async #trim(cache: Cache, max = MAX_SESSIONS): Promise<void> {
    const chats = (await cache.keys()).filter(({ url }) => url.startsWith(this.#urlOf(SESSION)))
    let bytes = 0
    for (const [index, request] of chats.toReversed().entries()) {
      const reply = await cache.match(request)
      bytes += Number(reply?.headers.get(SIZE) ?? 0)
      if (index >= max || bytes > MAX_BYTES) await cache.delete(request)
    }
  }

  async #store(account: string, key: string, reply: Response, epoch: Epoch): Promise<void> {
    const body = await reply.blob()
    const headers = new Headers({ [SIZE]: `${body.size}`, [STORED_HEADER]: `${this.#clock.now()}` })
    for (const header of ['content-type', 'content-security-policy']) {
      const value = reply.headers.get(header)
      if (value) headers.set(header, value)
    }
    const name = this.#nameOf(account)
    const cache = await this.#caches.open(name)
    // In one step with the check: `clear` runs before it or after it.
    if (epoch !== this.#epoch) return
    try {
      await cache.put(this.#urlOf(key), new Response(body, { headers }))
    } catch {
      // The storage is full. The older half of the chats is removed for what is read next.
      await this.#trim(cache, MAX_SESSIONS / 2)
    }
    if (epoch !== this.#epoch) await this.#caches.delete(name)
    else if (key.startsWith(SESSION)) await this.#trim(cache)
  }

  /** The names of what is stored, for one person or for all others. */
  async #names(matches: (name: string) => boolean): Promise<string[]> {
    return (await this.#caches.keys()).filter(
      name => name.startsWith(this.#prefix) && matches(name),
    )
  }

  async #drop(dropped: readonly string[]): Promise<void> {
    this.#epoch = Symbol('epoch')
    await Promise.all(dropped.map(name => this.#caches.delete(name)))
  }
}
