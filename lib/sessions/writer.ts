/** Appends to session journals and updates the catalog in the same tick. */
import { closeSync, fsyncSync } from 'node:fs'
import { conflict, invalid, missing } from '../errors.ts'
import type { SessionRow } from '../schema/session.ts'
import { syncDir } from '../store/atomic-write.ts'
import { Journal } from '../store/journal.ts'
import { openFile } from '../store/read-text.ts'
import { type Entry, formatEntry, type NewEntry } from './entries.ts'
import { createEntryNumbers } from './entry-numbers.ts'
import { foldFile, recount } from './files.ts'
import { applyEntry, emptySummary, type Summary } from './fold.ts'
import { createOpenJournals, type OpenJournalsOptions } from './open-journals.ts'
import type { SessionsOptions } from './types.ts'
import { usageOf } from './usage.ts'

type WriterOptions = OpenJournalsOptions &
  Pick<SessionsOptions, 'onRow' | 'clock'> & {
    /** The current id of a session whose row is up to date. Throws `missing`. */
    realId: (id: string) => string
  }

const syncFile = (path: string): void => {
  const fd = openFile(path)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

export type Writer = ReturnType<typeof createWriter>

export const createWriter = (options: WriterOptions) => {
  const { files, catalog, catalogSync, watch, realId, onRow, clock, write } = options
  const journals = createOpenJournals(options)
  const numbers = createEntryNumbers(clock)

  /** The summary after `entries` were appended. */
  const advance = (id: string, summary: Summary, entries: readonly Entry[]): Summary => {
    const shows = entries.some(({ t }) => t === 'uncut' || t === 'show')
    if (shows || entries.some(({ t }) => t === 'cut')) {
      catalog.dropMarks(id)
      if (shows || !summary.clean)
        return foldFile({ id, path: files.jsonl(id), format: 'jsonl' })?.summary ?? summary
    }
    for (const entry of entries) {
      const { count, cuts: before } = summary
      applyEntry(summary, entry)
      if (entry.t === 'cut') {
        Object.assign(summary, recount(files.jsonl(id), { count, cuts: before }, entry))
      }
    }
    return summary
  }

  const closeJournal = (id: string): void => {
    journals.close(id)
    numbers.release(id)
  }

  return {
    nextTime: numbers.nextTime,
    /** Closes the journal regardless of its users: its file is about to be moved or replaced. */
    closeJournal,
    isOpen: journals.isOpen,

    append(
      given: string,
      entries: readonly NewEntry[],
      { quiet = false }: { quiet?: boolean } = {},
    ): Entry[] {
      if (entries.length === 0) return []
      const id = realId(given)
      const { entry, journal, close } = journals.lease(id)
      try {
        const numbered = numbers.assign(id, entries, entry.summary, quiet)
        journal.append(numbered.map(formatEntry))
        const stamp = journal.stat()
        journals.setStamp(id, stamp)
        const usage = usageOf(entry.summary.turn, numbered)
        onRow(catalog.put(advance(id, entry.summary, numbered), stamp, false, usage))
        return numbered
      } finally {
        close()
      }
    },

    /** Creates the file with its header. The id must be free. */
    create(id: string, entry: NewEntry): SessionRow {
      const path = files.jsonl(id)
      const [header] = numbers.assign(id, [entry], emptySummary(id)) as [Entry]
      return watch.ignoreOwn(() => {
        const journal = new Journal(path, { create: true, write })
        try {
          journal.append([formatEntry(header)])
          const summary = emptySummary(id)
          applyEntry(summary, header)
          return catalog.put(summary, journal.stat(), false)
        } finally {
          journal.close()
        }
      })
    },

    nextMessageId(given: string): string {
      const id = realId(given)
      return numbers.reserveId(id, catalog.get(id)?.summary.nextN ?? 1)
    },

    acquire: (given: string): void => journals.acquire(realId(given)),

    release(given: string): void {
      const id = journals.isOpen(given) ? given : (catalog.alias(given) ?? given)
      if (journals.release(id)) closeJournal(id)
    },

    sync: async (given: string): Promise<void> => journals.sync(realId(given)),

    rotate(given: string, to: string): SessionRow {
      const id = realId(given)
      if (to === id) throw invalid('The session already has this id', { code: 'session_exists' })
      if (files.find(to))
        throw conflict('A session with this id already exists', { code: 'session_exists' })
      const live = catalog.liveOf(id)
      const { entry, journal, close } = journals.lease(id)
      try {
        journal.append(
          numbers.assign(id, [{ t: 'renamed', from: id, to }], entry.summary).map(formatEntry),
        )
        syncFile(files.jsonl(id))
      } finally {
        close()
      }
      // Reads the new last line and renames the file, exactly as after a kill at this point.
      watch.ignoreOwn(() => {
        catalogSync.refresh(id)
        syncDir(files.dir)
      })
      if (live) catalog.setLive(to, live)
      journals.rename(id, to)
      numbers.rename(id, to)
      const row = JSON.parse(catalog.rowText(to) ?? 'null') as SessionRow | null
      if (!row) throw missing('Session not found', { code: 'session_not_found' })
      onRow(row)
      return row
    },

    close: journals.closeAll,
  }
}
