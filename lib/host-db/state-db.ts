/** The agent's own `state.db`: opened for one moment, read by the columns it has, and never changed in its shape. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Database, isBusy, openDatabase } from '../store/sqlite.ts'

export type { Database } from '../store/sqlite.ts'

/** A home, as far as this room needs one. */
export type HostHome = { readonly name: string; readonly dir: string }

export const stateDbPath = (home: HostHome): string => join(home.dir, 'state.db')

/** Readers of a write-ahead log wait for nobody; this is for databases that have none. */
const READ_WAIT_MS = 200
/** A writer that holds the lock holds it shortly. The event loop must not wait with us, so we come back instead. */
const WRITE_WAIT_MS = 20
const WRITE_TRIES = 15
const [JITTER_FROM_MS, JITTER_TO_MS] = [20, 150]

const open = <T>(
  file: string,
  addon: string | undefined,
  { pragmas, timeoutMs }: { pragmas: readonly string[]; timeoutMs: number },
  work: (db: Database) => T,
): T => {
  const db = openDatabase(file, { mustExist: true, addon, pragmas, timeoutMs })
  try {
    return work(db)
  } finally {
    db.close()
  }
}

/**
 * What `work` reads in one consistent moment; undefined when there is no such file. `query_only` instead of a read-only
 * connection: the latter would leave empty files beside the database when nobody else has it open.
 */
export const readState = <T>(
  file: string,
  addon: string | undefined,
  work: (db: Database) => T,
): T | undefined => {
  if (!existsSync(file)) return undefined
  const options = { pragmas: ['query_only = ON'], timeoutMs: READ_WAIT_MS }
  return open(file, addon, options, db => db.transaction(() => work(db))())
}

const writeOnce = <T>(file: string, addon: string | undefined, work: (db: Database) => T): T => {
  // What is deleted is overwritten too: a person who deletes a conversation means it.
  const pragmas = ['foreign_keys = ON', 'secure_delete = ON']
  return open(file, addon, { pragmas, timeoutMs: WRITE_WAIT_MS }, db =>
    db.transaction(() => work(db)).immediate(),
  )
}

/**
 * Runs `work` in one writing transaction; undefined when there is no such file. The first try is made before this
 * returns, so that a database nobody is writing to is up to date at once.
 */
export const writeState = async <T>(
  file: string,
  addon: string | undefined,
  work: (db: Database) => T,
): Promise<T | undefined> => {
  for (let tries = 1; existsSync(file); tries += 1) {
    try {
      return writeOnce(file, addon, work)
    } catch (error) {
      if (!isBusy(error) || tries === WRITE_TRIES) throw error
    }
    await setTimeout(JITTER_FROM_MS + Math.random() * (JITTER_TO_MS - JITTER_FROM_MS))
  }
  return undefined
}

/** Empty for a table that is not there. */
export const columnsOf = (db: Database, table: string): ReadonlySet<string> =>
  new Set(
    db
      .prepare<[string], { name: string }>('select name from pragma_table_info(?)')
      .all(table)
      .map(({ name }) => name),
  )

/** File times advance in ticks: a file this young may change again and keep its time and size. */
const TICK_MS = 50

/**
 * Tells one state of the database from another by its file and its write-ahead log, without opening it; undefined while
 * it is too young to be trusted, empty when it is not there.
 */
export const dbStamp = (file: string): string | undefined => {
  const parts: string[] = []
  for (const path of [file, `${file}-wal`]) {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (!found) continue
    if (Math.abs(Date.now() - Number(found.mtimeMs)) <= TICK_MS) return undefined
    parts.push(`${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`)
  }
  return parts.join('|')
}
