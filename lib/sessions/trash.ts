/** Trash, permanent deletion and purging of sessions: the only code that deletes session content. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fromSeconds, toSeconds } from '../base/clock.ts'
import { isObject } from '../base/json.ts'
import { conflict, messageOf, missing } from '../errors.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { SESSION_ID } from '../schema/ids.ts'
import type { SessionRow } from '../schema/session.ts'
import { readLines, fileStamp } from '../store/journal.ts'
import type { Catalog } from './catalog.ts'
import { type Entry, parseEntry, questionId } from './entries.ts'
import { type Files, foldFile, withFile } from './files.ts'
import type { Folded } from './fold.ts'
import type { CatalogSync } from './catalog-sync.ts'
import { toEntries, writeJournal } from './legacy.ts'
import type { Listing } from './listing.ts'
import type { SearchClient } from './search-client.ts'
import type { SessionsOptions } from './types.ts'
import type { Watch } from './watch.ts'
import type { Writer } from './writer.ts'
import { readWhole, readWholeText } from '../store/read-text.ts'
import { reportWrite } from '../store/write-reports.ts'

type TrashOptions = Pick<SessionsOptions, 'trashDir' | 'onDeleted' | 'clock' | 'log'> & {
  files: Files
  catalog: Catalog
  catalogSync: CatalogSync
  listing: Listing
  search: SearchClient
  watch: Watch
  writer: Writer
  resolve: (id: string) => string | undefined
  require: (id: string) => SessionRow
}

const TRASH_MS = 24 * 3_600_000

/** The lines to keep in a purge: without what was cut, overwritten or resolved, and without other versions. Numbers and ids stay, and none becomes free. */
const survivingEntries = (folded: Folded, entries: readonly Entry[], now: number): Entry[] => {
  const shown = new Set(folded.messages.map(({ id }) => id))
  const summaries = new Set(folded.summaries.map(({ n }) => n))
  const open = new Set(folded.questions.map(question => JSON.stringify(question)))
  const decided = new Set(
    folded.messages.flatMap(({ _decisions: all = [] }) => all.map(({ id }) => id)),
  )
  const { created_at, updated_at } = folded
  const header: Entry = {
    n: 1,
    t: 'session',
    at: created_at,
    v: 1,
    id: folded.id,
    gen: folded.gen + 1,
    meta: { ...folded.meta, created_at, updated_at },
  }
  const kept = entries.filter(entry => {
    if (entry.t === 'message') return shown.has(entry.message.id)
    if (entry.t === 'sent' || entry.t === 'provider_state') return shown.has(entry.id)
    if (entry.t === 'summary') return summaries.has(entry.n)
    if (entry.t === 'asked')
      return (
        open.has(JSON.stringify(entry.question)) || decided.has(questionId(entry.question) ?? '')
      )
    if (entry.t === 'answered') return decided.has(entry.id)
    return entry.t === 'turn_started' || entry.t === 'turn_ended' || entry.t === 'renamed'
  })
  for (const entry of kept) if (entry.t === 'turn_started') delete entry.replaces
  return [header, ...kept, { n: folded.nextN, t: 'meta', at: toSeconds(now), patch: {} }]
}

const requireIdle = (row: SessionRow): void => {
  if (row.active_stream_id === null) return
  throw conflict('This chat is still running. Stop it or wait until it finishes.', {
    code: 'session_busy',
    active_stream_id: row.active_stream_id,
  })
}

/** What was noted when the session was moved to this trash directory; empty when the process was killed before that. */
const readAbout = (dir: string): { at?: unknown; profile?: unknown } => {
  try {
    const about: unknown = JSON.parse(readWholeText(join(dir, 'about.json')))
    return isObject(about) ? about : {}
  } catch {
    return {}
  }
}

/** When the session was moved to this trash directory, in milliseconds since 1970. */
const trashedAt = (dir: string): number => {
  const { at } = readAbout(dir)
  return at === undefined ? statSync(dir).mtimeMs : fromSeconds(Number(at))
}

const readEntries = (files: Files, id: string): Entry[] => {
  const file = files.find(id)
  if (!file) throw missing('Session not found', { code: 'session_not_found' })
  if (file.format === 'json') return toEntries(id, readWhole(file.path)) ?? []
  return withFile(file.path, fd =>
    [...readLines(fd)]
      .map(({ bytes }) => parseEntry(bytes.toString()))
      .filter((entry): entry is Entry => entry !== null && entry !== 'unknown'),
  )
}

export const createTrash = (options: TrashOptions) => {
  const { files, catalog, catalogSync, listing, search, watch, writer } = options
  const { trashDir, onDeleted, clock, log, resolve, require } = options
  const trashOf = (id: string): string => join(trashDir, id)

  const removeFromCatalog = (id: string): void => {
    writer.closeJournal(id)
    const profile = catalog.profileOf(id)
    const seq = catalog.remove(id)
    listing.drop()
    onDeleted(id, profile, seq)
  }

  /** The journal first: after a kill, everything else is deleted because the journal is missing. */
  const deleteFiles = (id: string): void =>
    watch.ignoreOwn(() => {
      for (const path of files.all(id)) {
        rmSync(path, { force: true })
        reportWrite(path)
      }
    })

  /** Deletes the content of removed sessions from the catalog, the search index and their write-ahead logs. */
  const purgeDerived = async (): Promise<void> => {
    const tombstones = catalog.tombstones()
    catalog.truncateWal()
    try {
      await search.purgeDeleted()
    } catch (error) {
      // It may contain deleted content, so delete all of it. The next search rebuilds it.
      log('deleted the search index because it could not be purged', {
        error: messageOf(error),
      })
      await search.remove()
    }
    catalog.clearTombstones(tombstones)
    catalog.truncateWal()
  }

  const trashedFiles = (id: string): string[] =>
    SESSION_ID.test(id) && existsSync(trashOf(id))
      ? readdirSync(trashOf(id)).filter(name => name.startsWith(`${id}.`))
      : []

  return {
    trash(given: string): boolean {
      const id = resolve(given)
      if (id === undefined) return false
      requireIdle(require(id))
      const dir = trashOf(id)
      rmSync(dir, { recursive: true, force: true })
      mkdirSync(dir, { recursive: true, mode: 0o700 })
      const { profile } = require(id)
      writeAtomic(
        join(dir, 'about.json'),
        JSON.stringify({ session_id: id, at: toSeconds(clock.now()), profile }),
      )
      watch.ignoreOwn(() => {
        for (const path of files.all(id)) {
          if (fileStamp(path)) renameSync(path, join(dir, basename(path)))
          reportWrite(path)
        }
      })
      reportWrite(dir)
      removeFromCatalog(id)
      return true
    },

    inTrash: (id: string): boolean => trashedFiles(id).length > 0,

    trashedProfile(id: string): string | undefined {
      if (trashedFiles(id).length === 0) return undefined
      const { profile } = readAbout(trashOf(id))
      return typeof profile === 'string' ? profile : undefined
    },

    restore(id: string): SessionRow {
      const dir = trashOf(id)
      const own = trashedFiles(id)
      if (own.length === 0) throw missing('Session not found', { code: 'session_not_found' })
      if (files.find(id))
        throw conflict('A session with this id already exists', { code: 'session_exists' })
      watch.ignoreOwn(() => {
        // The journal last: without it, the other files are not taken for a session.
        const last = (name: string): number => Number(name === `${id}.jsonl`)
        for (const name of own.sort((a, b) => last(a) - last(b))) {
          renameSync(join(dir, name), join(files.dir, name))
          reportWrite(join(files.dir, name))
        }
      })
      rmSync(dir, { recursive: true, force: true })
      reportWrite(dir)
      catalogSync.refresh(id)
      return require(id)
    },

    async purge(given: string): Promise<SessionRow> {
      const row = require(given)
      requireIdle(row)
      const id = row.session_id
      const file = files.find(id)
      const folded = file && foldFile(file)?.folded
      if (!folded) throw missing('Session not found', { code: 'session_not_found' })
      writer.closeJournal(id)
      watch.ignoreOwn(() => {
        writeJournal(files.jsonl(id), survivingEntries(folded, readEntries(files, id), clock.now()))
        for (const path of files.all(id)) {
          if (path === files.jsonl(id)) continue
          rmSync(path, { force: true })
          reportWrite(path)
        }
      })
      catalogSync.refresh(id)
      listing.drop()
      await purgeDerived()
      return require(id)
    },

    async erase(given: string): Promise<boolean> {
      const id = resolve(given) ?? given
      if (!SESSION_ID.test(id)) return false
      const live = resolve(id) !== undefined
      const trashed = existsSync(trashOf(id))
      if (!live && !trashed) return false
      if (live) {
        requireIdle(require(id))
        deleteFiles(id)
        removeFromCatalog(id)
      }
      rmSync(trashOf(id), { recursive: true, force: true })
      reportWrite(trashOf(id))
      await purgeDerived()
      return true
    },

    async sweepTrash(): Promise<number> {
      if (!existsSync(trashDir)) return 0
      const old = readdirSync(trashDir).filter(
        id => SESSION_ID.test(id) && clock.now() - trashedAt(trashOf(id)) > TRASH_MS,
      )
      for (const id of old) {
        rmSync(trashOf(id), { recursive: true, force: true })
        reportWrite(trashOf(id))
      }
      // Tombstones without old trash: a killed process did not finish its purge.
      if (old.length > 0 || catalog.tombstones().length > 0) await purgeDerived()
      return old.length
    },

    cleanup({ anyTitle }: { anyTitle: boolean }): number {
      catalogSync.catchUp(watch)
      const ids = catalog.emptySessions(anyTitle).filter(id => !writer.isOpen(id))
      for (const id of ids) {
        deleteFiles(id)
        removeFromCatalog(id)
      }
      return ids.length
    },
  }
}
