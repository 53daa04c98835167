/** Access to the host agent's `state.db`: opened per call, read by the columns that exist, schema never changed. */
import { lstatSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { messageOf, unavailable, UserError } from '../../errors.ts'
import { errorCode } from '../../store/file-error.ts'
import { type Database, isBusy, openDatabase } from '../../store/sqlite.ts'

export type { Database } from '../../store/sqlite.ts'

/** The home directory of a profile. */
export type HostHome = { readonly name: string; readonly dir: string }

export const stateDbPath = (home: HostHome): string => join(home.dir, 'state.db')

/** Also a link to a disk that is not mounted: a database that cannot be read is not an absent one. */
const isThere = (file: string): boolean => {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    // The home is no directory, so nothing is in it.
    if (errorCode(error) === 'ENOTDIR') return false
    throw error
  }
}

/** Readers never wait in WAL mode; this is for databases in another journal mode. */
const READ_WAIT_MS = 200
/** A short synchronous wait, then retries with a timer: waiting for the lock would block the event loop. */
const WRITE_WAIT_MS = 20
/** About five seconds: longer than a program holds the lock for one write. */
const MAX_ATTEMPTS = 45
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
 * Runs `work` in one read transaction; undefined when the file does not exist. `query_only` instead of a read-only
 * connection, which leaves empty `-wal` and `-shm` files behind when no other connection is open.
 */
export const readState = <T>(
  file: string,
  addon: string | undefined,
  work: (db: Database) => T,
): T | undefined => {
  if (!isThere(file)) return undefined
  const options = { pragmas: ['query_only = ON'], timeoutMs: READ_WAIT_MS }
  return open(file, addon, options, db => db.transaction(() => work(db))())
}

const writeOnce = <T>(file: string, addon: string | undefined, work: (db: Database) => T): T => {
  // Deleted content is overwritten, so that the text of a deleted session is not left in free pages.
  const pragmas = ['foreign_keys = ON', 'secure_delete = ON']
  return open(file, addon, { pragmas, timeoutMs: WRITE_WAIT_MS }, db =>
    db.transaction(() => work(db)).immediate(),
  )
}

/**
 * Runs `work` in one write transaction; undefined when the file does not exist. The first attempt is synchronous: without
 * contention, the write has happened when the promise is returned. A busy database is retried, then the error is thrown.
 */
export const writeState = async <T>(
  file: string,
  addon: string | undefined,
  work: (db: Database) => T,
): Promise<T | undefined> => {
  for (let attempt = 1; isThere(file); attempt += 1) {
    try {
      return writeOnce(file, addon, work)
    } catch (error) {
      if (!isBusy(error) || attempt === MAX_ATTEMPTS) throw error
    }
    await setTimeout(JITTER_FROM_MS + Math.random() * (JITTER_TO_MS - JITTER_FROM_MS))
  }
  return undefined
}

/**
 * What a request is told when the file is there and could not be read or written: another answer than that of a file that is
 * not there.
 */
export const stateError = (error: unknown): unknown => {
  if (error instanceof UserError) return error
  if (isBusy(error))
    return unavailable(
      'The agent’s database (state.db) is in use by another program. Try again in a moment.',
      { code: 'agent_database_busy' },
    )
  const reason = messageOf(error)
  return unavailable(`The agent’s database (state.db) cannot be used: ${reason}`, {
    code: 'agent_database_unreadable',
    values: { reason },
  })
}

/** The column names of a table; empty when it does not exist. */
export const columnsOf = (db: Database, table: string): ReadonlySet<string> =>
  new Set(
    db
      .prepare<[string], { name: string }>('select name from pragma_table_info(?)')
      .all(table)
      .map(({ name }) => name),
  )

export type Columns = Readonly<Record<string, string | number | null>>

/** The values whose columns exist in this version of the schema; others are dropped without an error. */
const existing = <T>(
  db: Database,
  table: string,
  row: Readonly<Record<string, T>>,
): [string, T][] => {
  const columns = columnsOf(db, table)
  return Object.entries(row).filter(([name]) => columns.has(name))
}

export const insertRow = (db: Database, table: string, row: Columns, verb = 'insert'): void => {
  const pairs = existing(db, table, row)
  const names = pairs.map(([name]) => name).join(', ')
  db.prepare(`${verb} into ${table} (${names}) values (${pairs.map(() => '?').join(', ')})`).run(
    ...pairs.map(([, value]) => value),
  )
}

/** `sql`: the SQL of the new value of a column, with one parameter. */
const change = (db: Database, id: string, row: Columns, sql: (name: string) => string): void => {
  for (const [name, newValue] of existing(db, 'sessions', row))
    db.prepare(`update sessions set ${name} = ${sql(name)} where id = ?`).run(newValue, id)
}

export const setColumns = (db: Database, id: string, row: Columns): void =>
  change(db, id, row, () => '?')

/** Adds to counters, because another program may update the same row. */
export const addToColumns = (db: Database, id: string, row: Columns): void =>
  change(db, id, row, name => `coalesce(${name}, 0) + ?`)

export const raiseColumns = (db: Database, id: string, row: Columns): void =>
  change(db, id, row, name => `max(coalesce(${name}, 0), ?)`)

/** File times have a limited resolution: a file changed this recently may change again with the same time and size. */
const TICK_MS = 50

/**
 * Identifies a state of the database by its file and its write-ahead log, without opening it. Undefined while either
 * changed too recently to be compared, empty when the file does not exist.
 */
export const dbStamp = (file: string): string | undefined => {
  const parts: string[] = []
  for (const path of [file, `${file}-wal`]) {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (!stat) continue
    if (Math.abs(Date.now() - Number(stat.mtimeMs)) <= TICK_MS) return undefined
    parts.push(`${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`)
  }
  return parts.join('|')
}
