/** The session store. Journals are the source of truth; the catalog and the search index are derived from them. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { join } from 'node:path'
import { missing } from '../errors.ts'
import { SESSION_ID } from '../schema/ids.ts'
import type { SessionRow } from '../schema/session.ts'
import { type Catalog, createCatalog } from './catalog.ts'
import { createDuplicator } from './duplicate.ts'
import { createFiles } from './files.ts'
import { createSessionSearch } from './session-search.ts'
import { createCatalogSync } from './catalog-sync.ts'
import { createListing } from './listing.ts'
import { createReader } from './reader.ts'
import { createResolvedIds } from './resolved-ids.ts'
import { createTrash } from './trash.ts'
import type { LiveState } from './list-row.ts'
import { createSearchClient } from './search-client.ts'
import type { NewMeta, Recovered, Sessions, SessionsOptions } from './types.ts'
import { createWatch } from './watch.ts'
import { createWriter } from './writer.ts'

export type * from './types.ts'

export const createSessions = (options: SessionsOptions): Sessions => {
  const { dir, cacheDir, redact, onRow, log, clock, addon } = options
  for (const each of [dir, cacheDir]) mkdirSync(each, { recursive: true, mode: 0o700 })
  const files = createFiles(dir)
  const opened: { catalog?: Catalog } = {}
  const catalogSync = createCatalogSync({ ...options, files, catalog: () => opened.catalog! })
  const catalog = createCatalog({
    file: join(cacheDir, 'catalog.db'),
    addon,
    redact,
    log,
    rebuild: () => catalogSync.sweepQuietly(),
    pragmas: options.catalogPragmas,
    bootId: options.bootId,
  })
  opened.catalog = catalog
  const compare = (id: string): string | undefined => {
    if (!SESSION_ID.test(id)) return undefined
    // A file takes precedence over an alias.
    if (catalogSync.refresh(id)) return id
    const now = catalog.alias(id)
    return now !== undefined && catalogSync.refresh(now) ? now : undefined
  }
  const resolved = createResolvedIds({
    compare,
    version: () => catalog.version,
    isWatched: () => !watch.isPolling,
    clock,
  })
  const { resolve } = resolved
  const watch = createWatch({
    dir,
    clock,
    log,
    changed: resolved.forget,
    sweep: async () => {
      catalog.verify()
      await catalogSync.sweep()
    },
    sweepMs: options.sweepMs,
  })
  catalogSync.sweepQuietly()

  const found = (id: string | undefined): string => {
    if (id === undefined) throw missing('Session not found', { code: 'session_not_found' })
    return id
  }
  const row = (id: string): SessionRow | undefined => {
    const real = resolve(id)
    const text = real === undefined ? undefined : catalog.rowText(real)
    return text === undefined ? undefined : (JSON.parse(text) as SessionRow)
  }
  const require = (id: string): SessionRow => {
    const shown = row(id)
    if (!shown) throw missing('Session not found', { code: 'session_not_found' })
    return shown
  }
  const newId = (): string => {
    while (true) {
      const id = randomBytes(6).toString('hex')
      if (!files.find(id) && catalog.alias(id) === undefined) return id
    }
  }

  const listing = createListing(catalog, clock)
  const search = createSearchClient({
    clock,
    file: join(cacheDir, 'search.db'),
    catalog: catalog.file,
    dir,
    addon,
    log,
    startWorker: options.startWorker,
  })
  const shared = { ...options, files, catalog, catalogSync, listing, search, watch }
  // Before a write, the file is always compared: another program may have replaced it.
  const writer = createWriter({ ...shared, realId: id => found(compare(id)) })
  const removal = createTrash({ ...shared, writer, resolve, require })
  const realId = (id: string): string => found(resolve(id))
  const reading = createReader({ clock, files, catalog, catalogSync, realId })
  const { providerStates } = reading
  const copies = createDuplicator({ ...shared, writer, newId, require, providerStates })
  const find = createSessionSearch({ clock, files, catalog, search, row, log })

  const catchUp = async (): Promise<void> => {
    // Lets pending file system events arrive. Twice: when called from an I/O callback, the first setImmediate runs before
    // the event loop polls again.
    await nextIteration()
    await nextIteration()
    catalogSync.catchUp(watch)
  }

  return {
    row,
    require,
    resolve,
    get version() {
      return catalog.version
    },
    stamp(id) {
      const real = resolve(id)
      return real === undefined ? undefined : catalog.stamp(real)
    },
    catchUp,
    create(meta: NewMeta) {
      const id = newId()
      const created = writer.create(id, { t: 'session', v: 1, id, meta })
      onRow(created)
      return created
    },
    load: reading.load,
    names: catalog.names,
    providerStates,
    lineToShow: reading.lineToShow,
    head: reading.head,
    tail: reading.tail,
    wholeJson: reading.wholeJson,
    append: writer.append,
    nextMessageId: writer.nextMessageId,
    sync: writer.sync,
    acquire: writer.acquire,
    release: writer.release,
    rotate: writer.rotate,
    setLive(id: string, patch: Partial<LiveState>) {
      const real = resolve(id)
      const live = real === undefined ? undefined : catalog.liveOf(real)
      if (real === undefined || !live) return
      const { active_stream_id, waiting } = { ...live, ...patch }
      if (active_stream_id === live.active_stream_id && waiting === live.waiting) return
      const changed = catalog.setLive(real, { active_stream_id, waiting })
      if (changed) onRow(changed)
    },
    list: listing.list,
    usage: (since, profiles = null) => catalog.usage(since, profiles),
    turnUsage: (id, after, before) => catalog.turnUsage(resolve(id) ?? id, after, before),
    idsByProject: catalog.idsByProject,
    async search(asked) {
      await catchUp()
      return find(asked)
    },
    trash: removal.trash,
    restore: removal.restore,
    inTrash: removal.inTrash,
    trashedProfile: removal.trashedProfile,
    projectsOf: catalog.projectsOf,
    purge: removal.purge,
    erase: removal.erase,
    sweepTrash: removal.sweepTrash,
    cleanup: removal.cleanup,
    ...copies,
    recover: (): Recovered[] =>
      catalog
        .openTurns()
        .flatMap(({ id, turn, questions }) =>
          turn?.how === null ? [{ ...turn, session_id: id, questions }] : [],
        ),
    troubled: (since, limit) =>
      catalog.troubled(since, limit).map(row => JSON.parse(row) as SessionRow),
    openQuestions: () => catalog.openTurns().flatMap(({ questions }) => questions),
    async close() {
      watch.close()
      listing.close()
      writer.close()
      await search.close()
      catalog.close()
    },
  }
}
