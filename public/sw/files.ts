/** Scripts, styles, fonts and icons in the service worker's cache: those of this build, and of the one before for pages that are still open. */

export type Build = {
  id: string
  /** Paths below the scope. */
  files: readonly string[]
}

/** The name has a hash of the content, so the file never changes. */
const HASHED = /-[A-Z0-9]{8}\.\w+$/
const KEPT_BUILDS = 2

export const createFiles = (caches: CacheStorage, root: string, build: Build) => {
  const prefix = `agent-webui ${root} files `
  const own = `${prefix}${build.id}`

  /** In the caches of all builds: a page of the build before asks for its own names. */
  const find = async (request: Request): Promise<Response | undefined> => {
    for (const name of await caches.keys()) {
      if (!name.startsWith(prefix)) continue
      const found = await (await caches.open(name)).match(request)
      if (found) return found
    }
    return undefined
  }

  return {
    /** Stores what the page needs without a network; fails as a whole, and is then repeated by the browser. */
    async store(): Promise<void> {
      const cache = await caches.open(own)
      await cache.addAll(build.files.map(path => new URL(path, self.location.origin + root).href))
    },

    /** A hashed file from the cache, others from the network first. */
    async get(request: Request): Promise<Response> {
      const isHashed = HASHED.test(new URL(request.url).pathname)
      const stored = isHashed ? await find(request) : undefined
      if (stored) return stored
      try {
        const reply = await fetch(request)
        if (reply.status === 200) {
          const cache = await caches.open(own)
          // Also those that are loaded on demand, such as diagrams and the page's language: read once, they can be read again.
          await cache.put(request, reply.clone())
        }
        return reply
      } catch (error) {
        const other = await find(request)
        if (other) return other
        throw error
      }
    },

    async dropOld(): Promise<void> {
      // In the order of their creation.
      const names = (await caches.keys()).filter(name => name.startsWith(prefix) && name !== own)
      const old = names.slice(0, Math.max(0, names.length + 1 - KEPT_BUILDS))
      await Promise.all(old.map(name => caches.delete(name)))
    },
  }
}
