/** Appends to session journals: numbers and ids are given here, and the catalogue follows in the same tick. */
import { closeSync, fsyncSync } from 'node:fs'
import { conflict, invalid, missing } from '../errors.ts'
import { syncDir } from '../store/atomic-write.ts'
import { type Journal, openJournal } from '../store/journal.ts'
import type { Message } from '../schema/message.ts'
import type { SessionRow } from '../schema/session.ts'
import type { Catalog, CatalogEntry } from './catalog.ts'
import { type Entry, formatEntry, type NewEntry, toSeconds } from './entries.ts'
import { type Files, foldFile, recount } from './files.ts'
import { applyEntry, emptySummary, type Summary } from './fold.ts'
import type { CatalogSync } from './catalog-sync.ts'
import { convertLegacyFile } from './legacy.ts'
import type { SessionsOptions } from './types.ts'
import { usageOf } from './usage.ts'
import type { Watch } from './watch.ts'
import { openFile } from '../store/read-text.ts'

type WriterOptions = Pick<SessionsOptions, 'onRow' | 'now' | 'write'> & {
  files: Files
  catalog: Catalog
  catalogSync: CatalogSync
  watch: Watch
  /** Throws `missing`; the answer is a session whose row is up to its file. */
  realId: (id: string) => string
}

type OpenJournal = { journal: Journal; refs: number; stamp: string }

const idNumber = (id: string | undefined): number => {
  const match = id === undefined ? null : /^m([1-9]\d{0,14})$/.exec(id)
  return match ? Number(match[1]) : 0
}

const syncFile = (path: string): void => {
  const fd = openFile(path)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

export const createWriter = (needs: WriterOptions) => {
  const { files, catalog, catalogSync, watch, realId, onRow, now, write } = needs
  const openJournals = new Map<string, OpenJournal>()
  /** Ids promised to messages that are still being spoken. */
  const reserved = new Map<string, Set<number>>()
  let lastTick = 0

  /** Time of something said: never before what was said earlier, whatever the clock does. */
  const nextTime = (previous: number): number => {
    lastTick = toSeconds(Math.max(now(), lastTick + 0.001))
    return toSeconds(Math.max(lastTick, previous + 0.001))
  }

  const open = (id: string): Journal => openJournal(files.jsonl(id), write ? { write } : {})

  /** Opens the journal (mending its tail) and reads the row again when it was not as the catalogue knew it. */
  const ready = (id: string): { stored: CatalogEntry; journal: Journal } => {
    if (catalog.get(id)?.summary.format === 'json') {
      const done = watch.ignoreOwn(() => convertLegacyFile(id, files.json(id), files.jsonl(id)))
      if (!done) throw missing('Session not found', { code: 'session_not_found' })
      catalogSync.refresh(id)
    }
    const holding = openJournals.get(id)
    let journal = holding?.journal ?? open(id)
    let stored = catalog.get(id)
    if (holding && (holding.stamp !== journal.stat() || holding.stamp !== stored?.stamp)) {
      // Another program wrote to it or put another file in its place.
      journal.close()
      journal = open(id)
      holding.journal = journal
    }
    if (stored?.stamp !== journal.stat()) {
      catalogSync.refresh(id)
      stored = catalog.get(id)
    }
    if (holding) holding.stamp = journal.stat()
    if (!stored) {
      if (!holding) journal.close()
      throw missing('Session not found', { code: 'session_not_found' })
    }
    return { stored, journal }
  }

  const assignNumbers = (
    id: string,
    entries: readonly NewEntry[],
    summary: Summary,
    quiet = false,
  ): Entry[] => {
    const promised = reserved.get(id)
    let n = summary.nextN
    let said = summary.updated_at
    const at = toSeconds(now())
    // A file that lost its first line has no header: it gets one before anything else.
    const all: NewEntry[] =
      n === 1 && entries[0]?.t !== 'session'
        ? [{ t: 'session', v: 1, id, meta: {} }, ...entries]
        : [...entries]
    return all.map((entry): Entry => {
      if (entry.t === 'session') said = nextTime(said)
      if (entry.t !== 'message') {
        return { ...entry, n: n++, at: entry.t === 'session' ? said : at } as Entry
      }
      const given = idNumber(entry.message.id)
      // Whatever is skipped here is a gap in the numbers, so that no id is ever given twice.
      if (given > 0) n = Math.max(n, given)
      else while (promised?.has(n)) n += 1
      if (!quiet) said = nextTime(said)
      const message = { ...entry.message, id: given > 0 ? entry.message.id : `m${n}` } as Message
      return { n: n++, t: 'message', at: said, message }
    })
  }

  /** The summary after `entries` were written. */
  const advance = (id: string, summary: Summary, entries: readonly Entry[]): Summary => {
    const cuts = entries.some(({ t }) => t === 'cut')
    if (cuts || entries.some(({ t }) => t === 'uncut')) {
      catalog.dropMarks(id)
      if (!cuts || !summary.clean || entries.some(({ t }) => t === 'uncut')) {
        return foldFile({ id, path: files.jsonl(id), format: 'jsonl' })?.summary ?? summary
      }
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

  const append = (
    given: string,
    entries: readonly NewEntry[],
    { quiet = false }: { quiet?: boolean } = {},
  ): Entry[] => {
    if (entries.length === 0) return []
    const id = realId(given)
    const { stored, journal } = ready(id)
    try {
      const numbered = assignNumbers(id, entries, stored.summary, quiet)
      journal.append(numbered.map(formatEntry))
      const stamp = journal.stat()
      const holding = openJournals.get(id)
      if (holding) holding.stamp = stamp
      const usage = usageOf(stored.summary.turn, numbered)
      onRow(catalog.put(advance(id, stored.summary, numbered), stamp, false, usage))
      return numbered
    } finally {
      if (!openJournals.has(id)) journal.close()
    }
  }

  const closeJournal = (id: string): void => {
    openJournals.get(id)?.journal.close()
    openJournals.delete(id)
    reserved.delete(id)
  }

  return {
    append,
    nextTime: nextTime,
    closeJournal: closeJournal,
    /** A new file with its header; the id must be free. */
    create(id: string, entry: NewEntry): SessionRow {
      const path = files.jsonl(id)
      const [header] = assignNumbers(id, [entry], emptySummary(id)) as [Entry]
      return watch.ignoreOwn(() => {
        const journal = openJournal(path, { create: true, ...(write ? { write } : {}) })
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
      const promised = reserved.get(id) ?? new Set<number>()
      reserved.set(id, promised)
      let n = catalog.get(id)?.summary.nextN ?? 1
      while (promised.has(n)) n += 1
      promised.add(n)
      return `m${n}`
    },
    hold(given: string): void {
      const id = realId(given)
      const holding = openJournals.get(id)
      if (holding) {
        holding.refs += 1
        return
      }
      const { journal } = ready(id)
      openJournals.set(id, { journal, refs: 1, stamp: journal.stat() })
    },
    release(given: string): void {
      const id = openJournals.has(given) ? given : (catalog.alias(given) ?? given)
      const holding = openJournals.get(id)
      if (!holding) return
      holding.refs -= 1
      if (holding.refs === 0) closeJournal(id)
    },
    isOpen: (id: string): boolean => openJournals.has(id),
    async sync(given: string): Promise<void> {
      const id = realId(given)
      const holding = openJournals.get(id)
      if (holding) return holding.journal.sync()
      if (catalog.get(id)?.summary.format === 'json') return
      const journal = open(id)
      try {
        await journal.sync()
      } finally {
        journal.close()
      }
    },
    rotate(given: string, to: string): SessionRow {
      const id = realId(given)
      if (to === id) throw invalid('The session already has this id')
      if (files.find(to)) throw conflict('There is already a session with this id')
      const live = catalog.liveOf(id)
      const holding = openJournals.get(id)
      const { stored, journal } = ready(id)
      try {
        journal.append(
          assignNumbers(id, [{ t: 'renamed', from: id, to }], stored.summary).map(formatEntry),
        )
        syncFile(files.jsonl(id))
      } finally {
        if (!holding) journal.close()
      }
      // Reads the new last line and does as it says, just as after being killed here.
      watch.ignoreOwn(() => {
        catalogSync.refresh(id)
        syncDir(files.dir)
      })
      if (live) catalog.setLive(to, live)
      if (holding) {
        // The open file follows the rename.
        openJournals.delete(id)
        openJournals.set(to, { ...holding, stamp: holding.journal.stat() })
      }
      const promised = reserved.get(id)
      if (promised) reserved.set(to, promised)
      reserved.delete(id)
      const row = JSON.parse(catalog.rowText(to) ?? 'null') as SessionRow | null
      if (!row) throw missing('Session not found', { code: 'session_not_found' })
      onRow(row)
      return row
    },
    close(): void {
      for (const id of [...openJournals.keys()]) closeJournal(id)
    },
  }
}
export type Writer = ReturnType<typeof createWriter>
