/** Appends to session journals, and updates the catalog in the same tick. Journals stay open while a turn writes to them. */
import { closeSync, fsyncSync } from 'node:fs'
import { fromSeconds, toSeconds } from '../base/clock.ts'
import { conflict, invalid } from '../errors.ts'
import type { Message } from '../schema/message.ts'
import type { SessionRow } from '../schema/session.ts'
import { syncDir } from '../store/atomic-write.ts'
import { Journal } from '../store/journal.ts'
import { openFile } from '../store/read-text.ts'
import type { Catalog, CatalogEntry } from './catalog.ts'
import type { CatalogSync } from './catalog-sync.ts'
import { convertLegacyFile } from './conversion.ts'
import { type JournalEntry, formatEntry, type NewEntry } from './entries.ts'
import { foldFile, type SessionFiles, sessionMissing } from './files.ts'
import { applyEntry, emptySummary, type Summary } from './fold.ts'
import type { SessionsOptions } from './sessions.ts'
import { usageOf } from './usage.ts'
import type { Watch } from './watch.ts'

export type SessionParts = {
  options: SessionsOptions
  files: SessionFiles
  catalog: Catalog
  sync: CatalogSync
  watch: Watch
}

/** `refs`: users that keep it open. `stamp`: the file's state after our last write. */
type OpenJournal = { journal: Journal; refs: number; stamp: string }

/** `close` when done; a journal that others keep open stays open. */
type Lease = { entry: CatalogEntry; journal: Journal; close: () => void }

const syncFile = (path: string): void => {
  const fd = openFile(path)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

const idNumber = (id: string | undefined): number =>
  Number(/^m([1-9]\d{0,14})$/.exec(id ?? '')?.[1] ?? 0)

/** Ids are current ones, of sessions whose rows are up to date. */
export class SessionWriter {
  readonly #parts: SessionParts
  readonly #journals = new Map<string, OpenJournal>()
  /** Numbers promised to messages that are still being streamed, by session. */
  readonly #promised = new Map<string, Set<number>>()
  #lastMs = 0

  constructor(parts: SessionParts) {
    this.#parts = parts
  }

  #open(id: string): Journal {
    const { files, options } = this.#parts
    return new Journal(files.jsonl(id), { write: options.write })
  }

  /**
   * Opens the journal, which repairs its tail, and rereads the session when its file is not in the state the catalog
   * knows. A file of the former format is converted first. Throws `missing` when the session was deleted.
   */
  #lease(id: string): Lease {
    const { files, catalog, sync, watch } = this.#parts
    if (catalog.get(id)?.summary.format === 'json') {
      if (!watch.ignoreOwn(() => convertLegacyFile(id, files))) throw sessionMissing()
      sync.refresh(id)
    }
    const handle = this.#journals.get(id)
    if (!handle) sync.requireReadable(id)
    let journal = handle?.journal ?? this.#open(id)
    let entry = catalog.get(id)
    if (handle && (handle.stamp !== journal.stat() || handle.stamp !== entry?.stamp)) {
      // Another program wrote to the file or replaced it.
      journal.close()
      journal = this.#open(id)
      handle.journal = journal
    }
    if (entry?.stamp !== journal.stat()) {
      sync.refresh(id)
      entry = catalog.get(id)
    }
    if (handle) handle.stamp = journal.stat()
    const close = () => {
      if (!this.#journals.has(id)) journal.close()
    }
    if (entry) return { entry, journal, close }
    close()
    throw sessionMissing()
  }

  /** The time of a message, in seconds: later than `previous` and than every earlier one, even when the clock goes back. */
  nextTime(previous: number): number {
    this.#lastMs = Math.max(Math.round(this.#parts.options.clock.now()), this.#lastMs + 1)
    return toSeconds(Math.max(this.#lastMs, Math.round(fromSeconds(previous)) + 1))
  }

  /** Assigns numbers and times. `quiet` messages get the time of the last one, so that the session does not move in the list. */
  #assign(
    id: string,
    entries: readonly NewEntry[],
    summary: Summary,
    quiet = false,
  ): JournalEntry[] {
    const promised = this.#promised.get(id)
    let { nextN: n, updated_at: time } = summary
    const at = toSeconds(Math.round(this.#parts.options.clock.now()))
    // A file that lost its first line has no header: write one before anything else.
    const all: NewEntry[] =
      n === 1 && entries[0]?.t !== 'session'
        ? [{ t: 'session', v: 1, id, meta: {} }, ...entries]
        : [...entries]
    return all.map((entry): JournalEntry => {
      if (entry.t === 'session') time = this.nextTime(time)
      if (entry.t !== 'message')
        return { ...entry, n: n++, at: entry.t === 'session' ? time : at } as JournalEntry
      const number = idNumber(entry.message.id)
      // Skipped numbers stay unused, so that no id is assigned twice.
      if (number > 0) n = Math.max(n, number)
      else while (promised?.has(n)) n += 1
      if (!quiet) time = this.nextTime(time)
      const message = { ...entry.message, id: number > 0 ? entry.message.id : `m${n}` } as Message
      return { n: n++, t: 'message', at: time, message }
    })
  }

  /** The summary after `entries` were appended. */
  #advance(id: string, summary: Summary, entries: readonly JournalEntry[]): Summary {
    // Only a complete fold knows what is visible then.
    if (entries.some(({ t }) => t === 'cut' || t === 'uncut' || t === 'show'))
      return (
        foldFile({ id, path: this.#parts.files.jsonl(id), format: 'jsonl' })?.summary ?? summary
      )
    for (const entry of entries) applyEntry(summary, entry)
    return summary
  }

  append(id: string, entries: readonly NewEntry[], quiet = false): JournalEntry[] {
    if (entries.length === 0) return []
    const { catalog, options } = this.#parts
    const { entry, journal, close } = this.#lease(id)
    try {
      const numbered = this.#assign(id, entries, entry.summary, quiet)
      journal.append(numbered.map(formatEntry))
      const stamp = journal.stat()
      const handle = this.#journals.get(id)
      if (handle) handle.stamp = stamp
      const usage = usageOf(entry.summary.turn, numbered)
      const summary = this.#advance(id, entry.summary, numbered)
      options.onRow(catalog.put(summary, stamp, false, usage))
      return numbered
    } finally {
      close()
    }
  }

  /** Creates the file with its header. The id must be free. */
  create(id: string, entry: NewEntry): SessionRow {
    const { files, catalog, watch, options } = this.#parts
    const [header] = this.#assign(id, [entry], emptySummary(id)) as [JournalEntry]
    return watch.ignoreOwn(() => {
      const journal = new Journal(files.jsonl(id), { create: true, write: options.write })
      try {
        journal.append([formatEntry(header)])
        const summary = emptySummary(id)
        applyEntry(summary, header)
        return catalog.put(summary, journal.stat(), false)
      } finally {
        journal.close()
      }
    })
  }

  /** Reserves the next free message id of a session. */
  nextMessageId(id: string): string {
    const promised = this.#promised.get(id) ?? new Set<number>()
    this.#promised.set(id, promised)
    let n = this.#parts.catalog.get(id)?.summary.nextN ?? 1
    while (promised.has(n)) n += 1
    promised.add(n)
    return `m${n}`
  }

  isOpen(id: string): boolean {
    return this.#journals.has(id)
  }

  /** Keeps the journal open until `release` was called as often. */
  acquire(id: string): void {
    const handle = this.#journals.get(id)
    if (handle) handle.refs += 1
    else {
      const { journal } = this.#lease(id)
      this.#journals.set(id, { journal, refs: 1, stamp: journal.stat() })
    }
  }

  release(id: string): void {
    const handle = this.#journals.get(id)
    if (!handle) return
    handle.refs -= 1
    if (handle.refs === 0) this.closeJournal(id)
  }

  /** Closes the journal regardless of its users: its file is about to be moved or replaced. */
  closeJournal(id: string): void {
    this.#journals.get(id)?.journal.close()
    this.#journals.delete(id)
    this.#promised.delete(id)
  }

  /** Resolves when all appended lines are on the disk. */
  async sync(id: string): Promise<void> {
    const handle = this.#journals.get(id)
    if (handle) return handle.journal.sync()
    if (this.#parts.catalog.get(id)?.summary.format === 'json') return
    const journal = this.#open(id)
    try {
      await journal.sync()
    } finally {
      journal.close()
    }
  }

  rotate(id: string, to: string): SessionRow {
    const { files, catalog, sync, watch, options } = this.#parts
    if (to === id) throw invalid('The session already has this id', { code: 'session_exists' })
    if (files.find(to))
      throw conflict('A session with this id already exists', { code: 'session_exists' })
    const live = catalog.liveOf(id)
    const { entry, journal, close } = this.#lease(id)
    try {
      const renamed: NewEntry = { t: 'renamed', from: id, to }
      journal.append(this.#assign(id, [renamed], entry.summary).map(formatEntry))
      syncFile(files.jsonl(id))
    } finally {
      close()
    }
    // Reads the new last line and renames the file, exactly as after a kill at this point.
    watch.ignoreOwn(() => {
      sync.refresh(id)
      syncDir(files.dir)
    })
    catalog.setLive(to, live)
    // The open descriptor follows the rename of the file.
    const handle = this.#journals.get(id)
    if (handle) this.#journals.set(to, { ...handle, stamp: handle.journal.stat() })
    const promised = this.#promised.get(id)
    if (promised) this.#promised.set(to, promised)
    this.#journals.delete(id)
    this.#promised.delete(id)
    const row = catalog.row(to)
    if (!row) throw sessionMissing()
    options.onRow(row)
    return row
  }

  close(): void {
    for (const id of [...this.#journals.keys()]) this.closeJournal(id)
  }
}
