/** The database file of the session catalog: replaced when it is corrupt, kept in memory when the disk accepts no writes. */
import { randomBytes } from 'node:crypto'
import { messageOf } from '../errors.ts'
import {
  type Database,
  isCorrupt,
  isUnwritable,
  openDatabase,
  removeDatabase,
} from '../store/sqlite.ts'
import { bootId as currentBoot } from '../store/boot-id.ts'
import { MIGRATIONS, PRAGMAS } from './catalog-schema.ts'
import { prepareStatements } from './catalog-statements.ts'
import type { LiveState } from './list-row.ts'

const IN_MEMORY = ':memory:'

type OpenOptions = { addon: string | undefined; boot: string; pragmas: readonly string[] }

const openCatalogDb = (file: string, { addon, boot, pragmas }: OpenOptions): Database => {
  const extra = file === IN_MEMORY ? [] : pragmas
  const open = () =>
    openDatabase(file, { migrations: MIGRATIONS, pragmas: [...PRAGMAS, ...extra], addon })
  let db: Database
  try {
    db = open()
  } catch {
    // Corrupt, or written by a newer version: it is only a cache.
    removeDatabase(file)
    db = open()
  }
  const about = new Map<string, string>()
  try {
    for (const row of db.prepare<[], { key: string; value: string }>('select * from about').all()) {
      about.set(row.key, row.value)
    }
  } catch (error) {
    if (!isCorrupt(error)) throw error
    about.set('boot', 'corrupt')
  }
  const known = about.get('boot')
  if (known !== undefined && known !== boot && about.get('clean') !== '1') {
    db.close()
    removeDatabase(file)
    db = open()
    about.clear()
  }
  const set = db.prepare('insert or replace into about values (?, ?)')
  set.run('boot', boot)
  set.run('clean', '0')
  if (!about.has('instance')) set.run('instance', randomBytes(8).toString('hex'))
  return db
}

export type CatalogDbOptions = {
  file: string
  addon: string | undefined
  /** Extra pragmas; tests limit the size of the file with them. */
  pragmas?: readonly string[] | undefined
  /** Tests pass their own. */
  bootId?: string | undefined
  log: (line: string, extra?: Record<string, unknown>) => void
  /** Called when an empty database has replaced the old one. */
  onReplaced: () => void
  /** Fills an empty database from the session files, then restores this live state. */
  refill: (live: readonly [id: string, live: LiveState][]) => void
}

export type CatalogDb = ReturnType<typeof createCatalogDb>

export const createCatalogDb = (options: CatalogDbOptions) => {
  const { file, addon, log, onReplaced, refill, bootId = currentBoot() } = options
  const openOptions: OpenOptions = { addon, boot: bootId, pragmas: options.pragmas ?? [] }
  let isInMemory = false
  const openAnywhere = (): Database => {
    try {
      if (!isInMemory) return openCatalogDb(file, openOptions)
    } catch (error) {
      if (!isUnwritable(error)) throw error
      isInMemory = true
      log(
        'the session catalog cannot be written to disk; it stays in memory until the next start',
        {
          file,
          error: messageOf(error),
        },
      )
    }
    return openCatalogDb(IN_MEMORY, openOptions)
  }
  let db = openAnywhere()
  let statements = prepareStatements(db)
  /** Nesting of `guard`. */
  let depth = 0

  /** State that only this process knows; empty when the file cannot even be read. */
  const readLive = (): [string, LiveState][] => {
    try {
      return statements.live.all().flatMap(({ id }): [string, LiveState][] => {
        const live = statements.liveOf.get(id)
        return live ? [[id, live]] : []
      })
    } catch {
      // Lost with the file. Running turns set it again with their next event.
      return []
    }
  }

  const replace = (): void => {
    db.close()
    if (!isInMemory) removeDatabase(file)
    db = openAnywhere()
    statements = prepareStatements(db)
    onReplaced()
  }

  const rebuild = (reason: string): void => {
    log('rebuilding the session catalog', { reason })
    const live = readLive()
    replace()
    refill(live)
  }

  /** For a disk that accepts no more writes: the catalog can be rebuilt from the files, so memory will do. */
  const moveToMemory = (error: unknown): void => {
    isInMemory = true
    rebuild(`${messageOf(error)}; it stays in memory until the next start`)
  }

  return {
    file,
    get isInMemory() {
      return isInMemory
    },
    /** Prepared for the current database. Read it on every use: a rebuild replaces it. */
    get q() {
      return statements
    },

    /** Runs `work`. When the database turns out to be corrupt, the outermost call rebuilds it and runs `work` again. */
    guard<T>(work: () => T): T {
      depth += 1
      try {
        return work()
      } catch (error) {
        if (depth > 1 || isInMemory || !(isCorrupt(error) || isUnwritable(error))) throw error
        try {
          if (!isCorrupt(error)) throw error
          rebuild(messageOf(error))
          return work()
        } catch (again) {
          if (isInMemory || !isUnwritable(again)) throw again
          moveToMemory(again)
          return work()
        }
      } finally {
        depth -= 1
      }
    },

    /** Runs `work` in a transaction; inside one, as part of it. */
    transaction: <T>(work: () => T): T => (db.inTransaction ? work() : db.transaction(work)()),

    rebuild,

    /** Replaces a database that failed on its first use with an empty one. Rethrows other errors. */
    replaceAfter(error: unknown): void {
      if (!isCorrupt(error) && !isUnwritable(error)) throw error
      if (isUnwritable(error) && !isCorrupt(error)) isInMemory = true
      replace()
    },

    /** Truncates the write-ahead log, so that deleted content is not left in it. */
    truncateWal: (): unknown => db.pragma('wal_checkpoint(TRUNCATE)'),

    close() {
      if (!db.open) return
      try {
        db.prepare("update about set value = '1' where key = 'clean'").run()
        db.pragma('wal_checkpoint(TRUNCATE)')
      } catch (error) {
        // Not marked clean: the next start decides whether to trust the file.
        log('the session catalog was not closed cleanly', { error: messageOf(error) })
      }
      db.close()
    },
  }
}
