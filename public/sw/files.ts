/** Scripts, styles, fonts and icons in the service worker's cache: those of this build, and of the one before for pages that are still open. */
import type { FromNetwork } from './network.ts'

export type Build = {
  id: string
  /** Paths below the scope. */
  files: readonly string[]
}

/** The name has a hash of the content, so the file never changes. */
const HASHED = /-[A-Z0-9]{8}\.\w+$/
const KEPT_BUILDS = 2

export type FilesOptions = {
  caches: CacheStorage
  /** Of the service worker. */
  scope: string
  build: Build
  fromNetwork: FromNetwork
}

export class StoredFiles {
  readonly #options: FilesOptions
  readonly #prefix: string
  readonly #own: string

  constructor(options: FilesOptions) {
    const { scope, build } = options
    this.#options = options
    this.#prefix = `agent-webui ${new URL(scope).pathname} files `
    this.#own = `${this.#prefix}${build.id}`
  }

  /** Stores what the page needs without a network; fails as a whole, and is then repeated by the browser. */
  async store(): Promise<void> {
    const { caches, build, scope } = this.#options
    const cache = await caches.open(this.#own)
    await cache.addAll(build.files.map(path => new URL(path, scope).href))
  }

  /** A hashed file from the cache, others from the network first. `later`: runs work that the reply does not wait for. */
  async get(request: Request, later: (work: Promise<unknown>) => void): Promise<Response> {
    const isHashed = HASHED.test(new URL(request.url).pathname)
    const cached = isHashed ? await this.#find(request) : undefined
    if (cached) return cached
    const reply = await this.#options.fromNetwork(request, () => this.#find(request))
    // Also those that are loaded on demand, such as diagrams and the page's language: read once, they can be read again.
    // Where the storage is full, they are read from the network only.
    if (reply.status === 200) later(this.#keep(request, reply.clone()).catch(() => undefined))
    return reply
  }

  /** Stores a file that the page needs, and that the build cannot know. */
  async add(path: string): Promise<void> {
    const { scope, caches } = this.#options
    const request = new Request(new URL(path, scope).href)
    if (!(await this.#find(request))) await (await caches.open(this.#own)).add(request)
  }

  async dropOld(): Promise<void> {
    const { caches } = this.#options
    // In the order of their creation.
    const names = (await caches.keys()).filter(
      name => name.startsWith(this.#prefix) && name !== this.#own,
    )
    const old = names.slice(0, Math.max(0, names.length + 1 - KEPT_BUILDS))
    await Promise.all(old.map(name => caches.delete(name)))
  }

  /** In the caches of all builds, the newest first: a page of the build before asks for its own names. */
  async #find(request: Request): Promise<Response | undefined> {
    const { caches } = this.#options
    const others = (await caches.keys()).filter(
      name => name.startsWith(this.#prefix) && name !== this.#own,
    )
    for (const name of [this.#own, ...others.toReversed()]) {
      const response = await (await caches.open(name)).match(request)
      if (response) return response
    }
    return undefined
  }

  async #keep(request: Request, reply: Response): Promise<void> {
    await (await this.#options.caches.open(this.#own)).put(request, reply)
  }
}
