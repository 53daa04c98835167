/** The worker thread that owns `search.db`: catches up with the catalog, searches, and deletes the content of deleted sessions. */
import { statSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { collectWhenIdle } from '../base/collect-when-idle.ts'
import { messageOf } from '../errors.ts'
import {
  type Database,
  isCorrupt,
  openDatabase,
  removeDatabase,
  SMALL_CACHE,
} from '../store/sqlite.ts'
import { type Pending, SearchIndex } from './search-index.ts'
import type { SearchRequest, SearchResponse, SearchSources } from './search-client.ts'

const SLICE = 100

class SearchWorker {
  readonly #sources: SearchSources
  #index: SearchIndex
  #rows: { db: Database; ino: bigint } | null = null

  constructor(sources: SearchSources) {
    this.#sources = sources
    this.#index = new SearchIndex(sources)
  }

  /** Reopens the catalog when it was rebuilt: its file then has another inode. */
  #openRows(): Database {
    const { catalog, addon } = this.#sources
    const { ino } = statSync(catalog, { bigint: true })
    if (this.#rows?.ino === ino) return this.#rows.db
    this.#rows?.db.close()
    this.#rows = {
      db: openDatabase(catalog, { readonly: true, pragmas: [SMALL_CACHE], addon }),
      ino,
    }
    return this.#rows.db
  }

  #renew(): void {
    this.#index.close()
    removeDatabase(this.#sources.file)
    this.#index = new SearchIndex(this.#sources)
  }

  /** Indexes changed sessions, oldest first, so that row ids grow with time. False when the deadline passed first. */
  async #catchUp(deadline: number): Promise<boolean> {
    const db = this.#openRows()
    const instance = String(
      db.prepare("select value from about where key = 'instance'").pluck().get(),
    )
    // A new catalog has new sequence numbers and epochs.
    if (this.#index.about('catalog') !== instance) {
      if (this.#index.about('catalog') !== undefined) this.#renew()
      this.#index.setAbout('catalog', instance)
    }
    const dead = db.prepare('select id from dead').pluck().all() as string[]
    for (let at = 0; at < dead.length; at += SLICE) {
      if (at > 0 && performance.now() > deadline) return false
      this.#index.forget(dead.slice(at, at + SLICE))
      // Lets the next request arrive.
      await setImmediate()
    }
    const pending = db.prepare<[number, number], Pending>(
      'select id, seq, stamp, epoch, summary from session join fold using (id) where seq > ? order by seq limit ?',
    )
    while (true) {
      const slice = pending.all(Number(this.#index.about('seq') ?? 0), SLICE)
      if (slice.length === 0) return true
      this.#index.update(slice)
      this.#index.setAbout('seq', String(slice.at(-1)!.seq))
      if (performance.now() > deadline) return false
      await setImmediate()
    }
  }

  async #answer({ maxWaitMs, terms, limit }: SearchRequest): Promise<Omit<SearchResponse, 'ask'>> {
    const done = await this.#catchUp(performance.now() + maxWaitMs)
    if (terms) return { hits: this.#index.search(terms, limit), done }
    this.#index.purgeDeleted()
    return { hits: [], done }
  }

  async run(request: SearchRequest): Promise<Omit<SearchResponse, 'ask'>> {
    try {
      return await this.#answer(request)
    } catch (error) {
      if (!isCorrupt(error)) throw error
      // It is only an index: rebuild it from the files.
      this.#renew()
      return await this.#answer(request)
    }
  }

  close(): void {
    this.#rows?.db.close()
    this.#index.close()
  }
}

const port = parentPort
if (port) {
  // What is read while sessions are indexed is tens of megabytes.
  collectWhenIdle()
  let worker: SearchWorker | null = null
  let queue = Promise.resolve()

  const handle = async (message: SearchRequest | SearchSources | 'close'): Promise<void> => {
    if (message === 'close') {
      worker?.close()
      port.close()
    } else if (!('ask' in message)) worker = new SearchWorker(message)
    else {
      const { ask } = message
      const failed = (error: unknown) => ({ hits: [], done: false, error: messageOf(error) })
      // Reported to the requester; the worker continues with the next request.
      const reply = (await worker?.run(message).catch(failed)) ?? { hits: [], done: false }
      port.postMessage({ ask, ...reply } satisfies SearchResponse)
    }
  }

  port.on('message', message => {
    queue = queue.then(() => handle(message))
  })
}
