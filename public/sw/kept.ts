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
export const createKept = (caches: CacheStorage, scope: string, clock: Clock) => {
  const root = new URL(scope).pathname
  const prefix = `agent-webui ${root} read`
  let epoch: Epoch = Symbol('epoch')

  const accountOf = ({ headers }: Request): string | null => headers.get(ACCOUNT_HEADER)
  const nameOf = (account: string): string => `${prefix} ${account}`

  /** The path under which a reply is stored; null for what is not stored. */
  const keyOf = (href: string): string | null => {
    const { pathname, searchParams: query } = new URL(href)
    const path = pathname.slice(root.length)
    if (path === 'api/sessions') return query.has('cursor') ? null : path
    // The end of a chat. Earlier messages and single ones are requested with more parameters.
    if (path === 'api/session') {
      const isEnd = [...query.keys()].every(key => key === 'session_id' || key === 'limit')
      return isEnd && query.get('session_id') ? SESSION + query.get('session_id') : null
    }
    return SHARED.has(path) && query.size === 0 ? path : null
  }
  const urlOf = (key: string): string => new URL(key, scope).href

  /** Removes the chats that were stored longest ago. A cache lists its entries in the order in which they were put. */
  const trim = async (cache: Cache, max = MAX_SESSIONS): Promise<void> => {
    const chats = (await cache.keys()).filter(({ url }) => url.startsWith(urlOf(SESSION)))
    let bytes = 0
    for (const [index, request] of chats.toReversed().entries()) {
      const reply = await cache.match(request)
      bytes += Number(reply?.headers.get(SIZE) ?? 0)
      if (index >= max || bytes > MAX_BYTES) await cache.delete(request)
    }
  }

  const store = async (account: string, key: string, reply: Response, given: Epoch) => {
    const body = await reply.blob()
    const headers = new Headers({ [SIZE]: `${body.size}`, [STORED_HEADER]: `${clock.now()}` })
    for (const kept of ['content-type', 'content-security-policy']) {
      const value = reply.headers.get(kept)
      if (value) headers.set(kept, value)
    }
    const name = nameOf(account)
    const cache = await caches.open(name)
    // In one step with the check: `clear` runs before it or after it.
    if (given !== epoch) return
    try {
      await cache.put(urlOf(key), new Response(body, { headers }))
    } catch {
      // The storage is full. The older half of the chats is removed for what is read next.
      await trim(cache, MAX_SESSIONS / 2)
    }
    if (given !== epoch) await caches.delete(name)
    else if (key.startsWith(SESSION)) await trim(cache)
  }

  /** The names of what is stored, for one person or for all others. */
  const names = async (matches: (name: string) => boolean): Promise<string[]> =>
    (await caches.keys()).filter(name => name.startsWith(prefix) && matches(name))

  const drop = async (dropped: readonly string[]): Promise<void> => {
    epoch = Symbol('epoch')
    await Promise.all(dropped.map(name => caches.delete(name)))
  }

  return {
    /** Take it before a request whose reply is stored. */
    epoch: (): Epoch => epoch,
    accepts: (request: Request): boolean =>
      accountOf(request) !== null && keyOf(request.url) !== null,
    isStored: (reply: Response): boolean => reply.headers.has(STORED_HEADER),
    async find(request: Request): Promise<Response | undefined> {
      const [account, key] = [accountOf(request), keyOf(request.url)]
      if (account === null || key === null || !(await caches.has(nameOf(account)))) return undefined
      return (await caches.open(nameOf(account))).match(urlOf(key))
    },
    async put(request: Request, reply: Response, given: Epoch): Promise<void> {
      const [account, key] = [accountOf(request), keyOf(request.url)]
      if (account !== null && key !== null) await store(account, key, reply, given)
    },
    /** The page itself, for every address, as the last person to open it got it. */
    async shell(): Promise<Response | undefined> {
      for (const name of await names(() => true)) {
        const found = await (await caches.open(name)).match(urlOf(''))
        if (found) return found
      }
      return undefined
    },
    /** The server sent a page of this person: nothing of others is shown any more. `copy`: the page, to be stored; null: it is not stored. */
    async keepShell(account: string, copy: Response | null, given: Epoch): Promise<void> {
      if (given !== epoch) return
      const others = await names(name => name !== nameOf(account))
      let now = given
      if (others.length > 0) {
        const dropped = drop(others)
        now = epoch
        await dropped
      }
      if (copy) await store(account, '', copy, now)
    },
    async clear(): Promise<void> {
      // At once, also while the names are read.
      epoch = Symbol('epoch')
      await drop(await names(() => true))
    },
  }
}
