/** What another app shares with this one: kept until the page has put it into the composer. Nothing is sent by itself. */

/** The page reads it with this name and key. */
export const SHARED_CACHE = 'agent-webui shared'
export const sharedKey = (scope: string): string => new URL('share-target', scope).href

export const keepShared = async (
  caches: CacheStorage,
  scope: string,
  request: Request,
): Promise<Response> => {
  const form = await request.formData()
  const cache = await caches.open(SHARED_CACHE)
  await cache.put(sharedKey(scope), new Response(form))
  return Response.redirect(new URL('?shared', scope).href, 303)
}

export const dropShared = async (caches: CacheStorage, scope: string): Promise<void> => {
  await (await caches.open(SHARED_CACHE)).delete(sharedKey(scope))
}
