/** Trash, deletion for good and purging: the only code that makes words of a session disappear. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { conflict, messageOf, missing } from '../errors.ts'
import { writeAtomic } from '../store/atomic.ts'
import { SESSION_ID } from '../schema/ids.ts'
import type { SessionRow } from '../schema/session.ts'
import { readLines, stampOf } from '../store/journal.ts'
import type { Catalog } from './catalog.ts'
import { type Entry, parseEntry } from './entries.ts'
import { type Files, foldFile, withFile } from './files.ts'
import type { Folded } from './fold.ts'
import type { Freshness } from './catalog-sync.ts'
import { toEntries, writeJournal } from './legacy.ts'
import type { Listing } from './listing.ts'
import type { Search } from './search.ts'
import type { SessionsOptions } from './types.ts'
import type { Watch } from './watch.ts'
import type { Writer } from './writer.ts'
import { readWhole, readWholeText } from '../store/read-text.ts'

type Needs = Pick<SessionsOptions, 'trashDir' | 'onGone' | 'now' | 'log'> & {
  files: Files
  catalog: Catalog
  freshness: Freshness
  listing: Listing
  search: Search
  watch: Watch
  writer: Writer
  resolve: (id: string) => string | undefined
  require: (id: string) => SessionRow
}

const TRASH_SECONDS = 24 * 3600

/** What is left when all that was cut, overwritten or settled is gone: same numbers, same ids, none of them free again. */
export const surviving = (folded: Folded, entries: readonly Entry[], at: number): Entry[] => {
  const shown = new Set(folded.messages.map(({ id }) => id))
  const summaries = new Set(folded.summaries.map(({ n }) => n))
  const open = new Set(folded.questions.map(question => JSON.stringify(question)))
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
    if (entry.t === 'sent') return shown.has(entry.id)
    if (entry.t === 'summary') return summaries.has(entry.n)
    if (entry.t === 'asked') return open.has(JSON.stringify(entry.question))
    return entry.t === 'turn_started' || entry.t === 'turn_ended' || entry.t === 'renamed'
  })
  return [header, ...kept, { n: folded.nextN, t: 'meta', at, patch: {} }]
}

export const createRemoval = (needs: Needs) => {
  const { files, catalog, freshness, listing, search, watch, writer } = needs
  const { trashDir, onGone, now, log, resolve, require } = needs
  const trashOf = (id: string): string => join(trashDir, id)

  const refuseWhileRunning = (row: SessionRow): void => {
    if (row.active_stream_id === null) return
    throw conflict('The session is still streaming; stop the turn or wait for its end', {
      active_stream_id: row.active_stream_id,
    })
  }

  const leave = (id: string): void => {
    writer.letGo(id)
    catalog.remove(id)
    listing.drop()
    onGone(id)
  }

  /** The journal first: it is the truth, the rest can be done again. */
  const unlink = (id: string): void =>
    watch.own(() => {
      for (const path of files.all(id)) rmSync(path, { force: true })
    })

  /** Leaves no byte of what was removed in anything that was derived from it. */
  const scour = async (): Promise<void> => {
    const dead = catalog.dead()
    catalog.scour()
    try {
      await search.settle()
    } catch (error) {
      // It may hold what must be gone, so it goes as a whole; the next search builds it anew.
      log('the search index was deleted because it could not be cleaned', {
        error: messageOf(error),
      })
      await search.remove()
    }
    catalog.buried(dead)
    catalog.scour()
  }

  const trashedFiles = (id: string): string[] =>
    SESSION_ID.test(id) && existsSync(trashOf(id))
      ? readdirSync(trashOf(id)).filter(name => name.startsWith(`${id}.`))
      : []

  const trashedAt = (id: string): number => {
    try {
      const about: unknown = JSON.parse(readWholeText(join(trashOf(id), 'about.json')))
      if (typeof about === 'object' && about !== null && 'at' in about) return Number(about.at)
    } catch {
      // Killed before it was written: the directory's own time serves.
    }
    return statSync(trashOf(id)).mtimeMs / 1000
  }

  const readEntries = (id: string): Entry[] => {
    const file = files.find(id)
    if (!file) throw missing('Session not found')
    if (file.format === 'json') return toEntries(id, readWhole(file.path)) ?? []
    return withFile(file.path, fd =>
      [...readLines(fd)]
        .map(({ bytes }) => parseEntry(bytes.toString()))
        .filter((entry): entry is Entry => entry !== null && entry !== 'unknown'),
    )
  }

  return {
    trash(given: string): boolean {
      const id = resolve(given)
      if (id === undefined) return false
      refuseWhileRunning(require(id))
      const place = trashOf(id)
      rmSync(place, { recursive: true, force: true })
      mkdirSync(place, { recursive: true, mode: 0o700 })
      writeAtomic(join(place, 'about.json'), JSON.stringify({ session_id: id, at: now() }))
      watch.own(() => {
        for (const path of files.all(id)) {
          if (stampOf(path)) renameSync(path, join(place, basename(path)))
        }
      })
      leave(id)
      return true
    },

    inTrash: (id: string): boolean => trashedFiles(id).length > 0,

    restore(id: string): SessionRow {
      const place = trashOf(id)
      const own = trashedFiles(id)
      if (own.length === 0) throw missing('Session not found')
      if (files.find(id)) throw conflict('There is a session with this id again')
      watch.own(() => {
        // The journal last: before it is back, nobody takes the rest for a session.
        const last = (name: string): number => Number(name === `${id}.jsonl`)
        for (const name of own.sort((a, b) => last(a) - last(b))) {
          renameSync(join(place, name), join(files.dir, name))
        }
      })
      rmSync(place, { recursive: true, force: true })
      freshness.refresh(id)
      return require(id)
    },

    async purge(given: string): Promise<SessionRow> {
      const row = require(given)
      refuseWhileRunning(row)
      const id = row.session_id
      const file = files.find(id)
      const folded = file && foldFile(file)?.folded
      if (!folded) throw missing('Session not found')
      writer.letGo(id)
      watch.own(() => {
        writeJournal(files.jsonl(id), surviving(folded, readEntries(id), now()))
        for (const path of files.all(id)) {
          if (path !== files.jsonl(id)) rmSync(path, { force: true })
        }
      })
      freshness.refresh(id)
      listing.drop()
      await scour()
      return require(id)
    },

    async erase(given: string): Promise<boolean> {
      const id = resolve(given) ?? given
      if (!SESSION_ID.test(id)) return false
      const live = resolve(id) !== undefined
      const trashed = existsSync(trashOf(id))
      if (!live && !trashed) return false
      if (live) {
        refuseWhileRunning(require(id))
        unlink(id)
        leave(id)
      }
      rmSync(trashOf(id), { recursive: true, force: true })
      await scour()
      return true
    },

    async sweepTrash(): Promise<number> {
      if (!existsSync(trashDir)) return 0
      const old = readdirSync(trashDir).filter(
        id => SESSION_ID.test(id) && now() - trashedAt(id) > TRASH_SECONDS,
      )
      for (const id of old) rmSync(trashOf(id), { recursive: true, force: true })
      // Also ends what a killed process had begun.
      if (old.length > 0 || catalog.dead().length > 0) await scour()
      return old.length
    },

    cleanup({ anyTitle }: { anyTitle: boolean }): number {
      freshness.catchUp(watch)
      const ids = catalog.empties(anyTitle).filter(id => !writer.isHeld(id))
      for (const id of ids) {
        unlink(id)
        leave(id)
      }
      return ids.length
    },
  }
}
