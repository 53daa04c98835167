/** Journals that stay open while a turn writes to them, and short-lived ones for single appends. */
import { missing } from '../errors.ts'
import { Journal } from '../store/journal.ts'
import type { Catalog } from './catalog.ts'
import type { CatalogEntry } from './catalog-rows.ts'
import type { CatalogSync } from './catalog-sync.ts'
import type { Files } from './files.ts'
import { convertLegacyFile } from './legacy.ts'
import type { SessionsOptions } from './types.ts'
import type { Watch } from './watch.ts'

export type OpenJournalsOptions = Pick<SessionsOptions, 'write'> & {
  files: Files
  catalog: Catalog
  catalogSync: CatalogSync
  watch: Watch
}

/** `refs`: users that keep it open. `stamp`: the file's state after our last write. */
type OpenJournal = { journal: Journal; refs: number; stamp: string }

/** `close` when done; a journal that others keep open stays open. */
export type JournalLease = { entry: CatalogEntry; journal: Journal; close: () => void }

export const createOpenJournals = (options: OpenJournalsOptions) => {
  const { files, catalog, catalogSync, watch, write } = options
  const journals = new Map<string, OpenJournal>()

  const open = (id: string): Journal => new Journal(files.jsonl(id), { write })

  /**
   * Opens the journal, which repairs its tail, and rereads the session when its file is not in the state the catalog
   * knows. A file of the former format is converted first. Throws `missing` when the session was deleted.
   */
  const lease = (id: string): JournalLease => {
    if (catalog.get(id)?.summary.format === 'json') {
      const done = watch.ignoreOwn(() => convertLegacyFile(id, files.json(id), files.jsonl(id)))
      if (!done) throw missing('Session not found', { code: 'session_not_found' })
      catalogSync.refresh(id)
    }
    const held = journals.get(id)
    if (!held) catalogSync.requireReadable(id)
    let journal = held?.journal ?? open(id)
    let entry = catalog.get(id)
    if (held && (held.stamp !== journal.stat() || held.stamp !== entry?.stamp)) {
      // Another program wrote to the file or replaced it.
      journal.close()
      journal = open(id)
      held.journal = journal
    }
    if (entry?.stamp !== journal.stat()) {
      catalogSync.refresh(id)
      entry = catalog.get(id)
    }
    if (held) held.stamp = journal.stat()
    if (!entry) {
      if (!held) journal.close()
      throw missing('Session not found', { code: 'session_not_found' })
    }
    const leased = journal
    return {
      entry,
      journal,
      close: () => {
        if (!journals.has(id)) leased.close()
      },
    }
  }

  const close = (id: string): void => {
    journals.get(id)?.journal.close()
    journals.delete(id)
  }

  return {
    lease,
    close,
    closeAll(): void {
      for (const id of [...journals.keys()]) close(id)
    },
    isOpen: (id: string): boolean => journals.has(id),

    /** Call after an append. */
    setStamp(id: string, stamp: string): void {
      const held = journals.get(id)
      if (held) held.stamp = stamp
    },

    /** Keeps the journal open until `release` was called as often. */
    acquire(id: string): void {
      const held = journals.get(id)
      if (held) {
        held.refs += 1
        return
      }
      const { journal } = lease(id)
      journals.set(id, { journal, refs: 1, stamp: journal.stat() })
    },

    /** True when this was the last user; the caller then closes it. */
    release(id: string): boolean {
      const held = journals.get(id)
      if (!held) return false
      held.refs -= 1
      return held.refs === 0
    },

    /** The open descriptor follows the rename of the file. */
    rename(id: string, to: string): void {
      const held = journals.get(id)
      if (!held) return
      journals.delete(id)
      journals.set(to, { ...held, stamp: held.journal.stat() })
    },

    /** Resolves when all appended lines are on the disk. */
    async sync(id: string): Promise<void> {
      const held = journals.get(id)
      if (held) return held.journal.sync()
      if (catalog.get(id)?.summary.format === 'json') return
      const journal = open(id)
      try {
        await journal.sync()
      } finally {
        journal.close()
      }
    },
  }
}
