/** Remembers which push subscription the server knows: a browser may replace or lose it without saying which one it was. */

const CACHE = 'agent-webui push'
const keyOf = (base: string): string => new URL('push-endpoint', base).href

/** `base`: the address of the page, which is the scope of the service worker. */
export const knownEndpoint = async (
  caches: CacheStorage,
  base: string,
): Promise<string | undefined> => (await caches.match(keyOf(base), { cacheName: CACHE }))?.text()

export const rememberEndpoint = async (
  caches: CacheStorage,
  base: string,
  endpoint: string,
): Promise<void> => (await caches.open(CACHE)).put(keyOf(base), new Response(endpoint))

export const forgetEndpoint = async (caches: CacheStorage, base: string): Promise<void> =>
  void (await (await caches.open(CACHE)).delete(keyOf(base)))
