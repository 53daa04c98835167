/** The worker thread that owns `search.db`: catches up with the catalog, searches, and deletes the content of deleted sessions. */
import { statSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { collectWhenIdle } from '../base/collect-when-idle.ts'
import { messageOf } from '../errors.ts'
import { type Database, openDatabase, removeDatabase } from '../store/sqlite.ts'
import { createSearchIndex, type SearchIndex, type Pending } from './search-index.ts'
import type { SearchResponse, SearchRequest } from './search-client.ts'

const SLICE = 100

type Sources = { file: string; catalog: string; dir: string; addon?: string | undefined }

const createWorker = (sources: Sources) => {
  const { file, catalog, dir, addon } = sources
  let index: SearchIndex = createSearchIndex({ file, dir, addon })
  let rows: { db: Database; ino: bigint } | null = null

  /** Reopens the catalog when it was rebuilt: its file then has another inode. */
  const openRows = (): Database => {
    const { ino } = statSync(catalog, { bigint: true })
    if (rows && rows.ino === ino) return rows.db
    rows?.db.close()
    rows = { db: openDatabase(catalog, { readonly: true, addon }), ino }
    return rows.db
  }

  /** A new catalog has new sequence numbers and epochs: compare every session once, by the stamp of its file. Returns deleted ids. */
  const reconcile = (db: Database): string[] => {
    const all = new Map<string, { stamp: string; epoch: number }>()
    for (const { id, ...rest } of db
      .prepare<[], { id: string; stamp: string; epoch: number }>(
        'select id, stamp, epoch from session',
      )
      .all()) {
      all.set(id, rest)
    }
    const known = index.knownIds()
    const kept = known.filter(id => index.known(id)?.stamp === all.get(id)?.stamp)
    // Most of the index is outdated: rebuilding is faster than deleting.
    if (kept.length < known.length / 2) renew()
    else {
      for (const id of known) {
        const now = all.get(id)
        if (!now) continue
        if (index.known(id)?.stamp === now.stamp) index.adopt(id, now.stamp, now.epoch)
        // An epoch that no catalog assigns, so that the file is indexed from its beginning.
        else index.adopt(id, '', -1)
      }
    }
    index.setAbout('seq', '0')
    return index.knownIds().filter(id => !all.has(id))
  }

  const renew = (): void => {
    index.close()
    removeDatabase(file)
    index = createSearchIndex({ file, dir, addon })
  }

  /** Indexes changed sessions, oldest first, so that row ids grow with time. False when the deadline passed first. */
  const catchUp = async (deadline: number): Promise<boolean> => {
    const db = openRows()
    const dead = db
      .prepare<[], { id: string }>('select id from dead')
      .all()
      .map(({ id }) => id)
    const instance = db
      .prepare<[], { value: string }>("select value from about where key = 'instance'")
      .get()?.value
    if (index.about('catalog') !== instance) dead.push(...reconcile(db))
    for (let at = 0; at < dead.length; at += SLICE) {
      if (at > 0 && performance.now() > deadline) return false
      index.forget(dead.slice(at, at + SLICE))
      // Lets the next request arrive.
      await setImmediate()
    }
    if (instance !== undefined) index.setAbout('catalog', instance)
    const pending = db.prepare<[number, number], Pending>(
      'select id, seq, stamp, epoch, summary from session join fold using (id) where seq > ? order by seq limit ?',
    )
    while (true) {
      const slice = pending.all(Number(index.about('seq') ?? 0), SLICE)
      if (slice.length === 0) return true
      index.update(slice)
      index.setAbout('seq', String(slice.at(-1)!.seq))
      if (performance.now() > deadline) return false
      await setImmediate()
    }
  }

  const answer = async (ask: SearchRequest): Promise<Omit<SearchResponse, 'ask'>> => {
    const done = await catchUp(performance.now() + ask.maxWaitMs)
    if (ask.what === 'search') return { hits: index.search(ask.terms, ask.limit), done }
    index.purgeDeleted()
    return { hits: [], done }
  }

  return {
    async run(ask: SearchRequest): Promise<Omit<SearchResponse, 'ask'>> {
      try {
        return await answer(ask)
      } catch (error) {
        if (!index.isCorrupt(error)) throw error
        // It is only an index: rebuild it from the files.
        renew()
        return await answer(ask)
      }
    },
    close() {
      rows?.db.close()
      index.close()
    },
  }
}

const port = parentPort
if (port) {
  // What is read while sessions are indexed is tens of megabytes.
  collectWhenIdle()
  let worker: ReturnType<typeof createWorker> | null = null
  let queue = Promise.resolve()

  const handle = async (message: SearchRequest | Sources | 'close'): Promise<void> => {
    if (message === 'close') {
      worker?.close()
      port.close()
      return
    }
    if (!('what' in message)) {
      worker = createWorker(message)
      return
    }
    const reply = worker ? await worker.run(message) : { hits: [], done: false }
    port.postMessage({ ask: message.ask, ...reply } satisfies SearchResponse)
  }

  port.on('message', (message: SearchRequest | Sources | 'close') => {
    queue = queue
      .then(() => handle(message))
      .catch((error: unknown) => {
        // Reported to the requester; the worker continues with the next request.
        const ask = typeof message === 'object' && 'ask' in message ? message.ask : 0
        port.postMessage({
          ask,
          hits: [],
          done: false,
          error: messageOf(error),
        } satisfies SearchResponse)
      })
  })
}
