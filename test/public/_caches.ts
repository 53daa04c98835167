/** CacheStorage of a browser, in memory: entries in the order in which they were put. */

const hrefOf = (request: RequestInfo | URL): string =>
  request instanceof Request ? request.url : String(request)

export type FakeCaches = { storage: CacheStorage; isFull: boolean }

/** `isFull`: every put is rejected, as with a full disk. */
export const fakeCaches = (fetch?: (url: string) => Promise<Response>): FakeCaches => {
  const all = new Map<string, Map<string, Response>>()
  const state = { isFull: false } as FakeCaches
  const open = (name: string) => {
    const entries = all.get(name) ?? new Map<string, Response>()
    all.set(name, entries)
    const put = async (request: RequestInfo | URL, reply: Response) => {
      const body = await reply.blob()
      if (state.isFull) throw new DOMException('full', 'QuotaExceededError')
      entries.delete(hrefOf(request))
      entries.set(hrefOf(request), new Response(body, reply))
    }
    return {
      put,
      match: async (request: RequestInfo | URL) => entries.get(hrefOf(request))?.clone(),
      delete: async (request: RequestInfo | URL) => entries.delete(hrefOf(request)),
      keys: async () => [...entries.keys()].map(url => new Request(url)),
      add: async (request: RequestInfo | URL) => put(request, await fetch!(hrefOf(request))),
      addAll: async (urls: string[]) => {
        for (const url of urls) await put(url, await fetch!(url))
      },
    }
  }
  state.storage = {
    open: async (name: string) => open(name),
    has: async (name: string) => all.has(name),
    delete: async (name: string) => all.delete(name),
    keys: async () => [...all.keys()],
  } as unknown as CacheStorage
  return state
}
