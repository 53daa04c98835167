/**
 * Replies of the API that can be read without a network: a list of what is stored, never of what is left out, so that a
 * secret or a new endpoint is not stored unless it is named here.
 *
 * Belongs to who is signed in: `clear` removes everything, and a reply that was requested before is not stored after it.
 */

/** Changes when the stored replies are removed. */
export type Account = symbol

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

/** When the reply was stored, in milliseconds since 1970: marks it as a copy. */
export const STORED = 'x-stored'
const SIZE = 'x-size'
const SESSION = 'api/session?session_id='

export const createKept = (caches: CacheStorage, root: string, nowMs = Date.now) => {
  const name = `agent-webui ${root} read`
  const base = self.location.origin + root
  let account: Account = Symbol('account')

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
  const urlOf = (key: string): string => new URL(key, base).href

  /** Removes the chats that were opened longest ago. */
  const trim = async (cache: Cache): Promise<void> => {
    const chats: { request: Request; size: number; stored: number }[] = []
    for (const request of await cache.keys()) {
      if (!request.url.startsWith(urlOf(SESSION))) continue
      const reply = await cache.match(request)
      const at = (header: string) => Number(reply?.headers.get(header) ?? 0)
      chats.push({ request, size: at(SIZE), stored: at(STORED) })
    }
    chats.sort((a, b) => b.stored - a.stored)
    let bytes = 0
    for (const [index, { request, size }] of chats.entries()) {
      bytes += size
      if (index >= MAX_SESSIONS || bytes > MAX_BYTES) await cache.delete(request)
    }
  }

  const store = async (key: string, reply: Response, given: Account): Promise<void> => {
    const body = await reply.blob()
    const headers = new Headers({ [SIZE]: `${body.size}`, [STORED]: `${nowMs()}` })
    for (const kept of ['content-type', 'content-security-policy']) {
      const value = reply.headers.get(kept)
      if (value) headers.set(kept, value)
    }
    const cache = await caches.open(name)
    // In one step with the check: `clear` runs before it or after it.
    if (given !== account) return
    await cache.put(urlOf(key), new Response(body, { headers }))
    if (given !== account) await caches.delete(name)
    else if (key.startsWith(SESSION)) await trim(cache)
  }

  const match = async (key: string): Promise<Response | undefined> =>
    (await caches.has(name)) ? (await caches.open(name)).match(urlOf(key)) : undefined

  return {
    /** Take it before a request whose reply is stored. */
    account: (): Account => account,
    accepts: (href: string): boolean => keyOf(href) !== null,
    isStored: (reply: Response): boolean => reply.headers.has(STORED),
    async find(request: Request): Promise<Response | undefined> {
      const key = keyOf(request.url)
      return key === null ? undefined : match(key)
    },
    async put(request: Request, reply: Response, given: Account): Promise<void> {
      const key = keyOf(request.url)
      if (key !== null) await store(key, reply, given)
    },
    /** The page itself, for every address. */
    shell: () => match(''),
    putShell: (reply: Response, given: Account) => store('', reply, given),
    async clear(): Promise<void> {
      account = Symbol('account')
      await caches.delete(name)
    },
  }
}
