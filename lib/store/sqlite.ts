/** Opens SQLite files: pragmas, numbered migrations, and the only import of the driver. */
import { rmSync } from 'node:fs'
import BetterSqlite from 'better-sqlite3'

export type Database = BetterSqlite.Database
export type Statement<P extends unknown[] = unknown[], R = unknown> = BetterSqlite.Statement<P, R>

export type DatabaseOptions = {
  /**
   * Each is run once, in order, in a transaction of its own; their number is kept in `user_version`. Never edit one: add.
   * Absent: the file belongs to another program, and its version says nothing to us.
   */
  migrations?: readonly string[]
  /** For example `journal_mode = WAL`; run before the migrations. */
  pragmas?: readonly string[]
  readonly?: boolean
  /** Refuses, instead of making, a file that is not there. */
  mustExist?: boolean
  /** Path of the native addon. Absent, it is found inside node_modules; the one-file build passes its own. */
  addon?: string | undefined
  /** How long to wait for another connection's lock. */
  timeoutMs?: number
}

/** Works in worker threads as well. Throws when the file was written by a newer version of the program. */
export const openDatabase = (
  file: string,
  {
    migrations,
    pragmas = [],
    readonly = false,
    mustExist = false,
    addon,
    timeoutMs = 5_000,
  }: DatabaseOptions = {},
): Database => {
  const db = new BetterSqlite(file, {
    readonly,
    fileMustExist: mustExist,
    timeout: timeoutMs,
    ...(addon === undefined ? {} : { nativeBinding: addon }),
  })
  try {
    for (const pragma of pragmas) db.pragma(pragma)
    if (!readonly && migrations) migrate(db, migrations)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

const migrate = (db: Database, migrations: readonly string[]): void => {
  const done = Number(db.pragma('user_version', { simple: true }))
  if (done > migrations.length) {
    throw new Error(`${db.name} has version ${done}, this program knows ${migrations.length}`)
  }
  for (const [index, sql] of migrations.entries()) {
    if (index < done) continue
    db.transaction(() => {
      db.exec(sql)
      db.pragma(`user_version = ${index + 1}`)
    }).exclusive()
  }
}

/** The file is no database any more, or not the one we opened: whoever can rebuild it should. */
const CORRUPT = /^SQLITE_(CORRUPT|NOTADB|READONLY_DBMOVED|CANTOPEN|IOERR)/

export const isCorrupt = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && CORRUPT.test(String(error.code))

/** The disk takes no more, or takes nothing: a file of this kind cannot be built anew there either. */
const UNWRITABLE = /^SQLITE_(FULL|READONLY|CANTOPEN|IOERR)|^(ENOSPC|EDQUOT|EROFS|EACCES|EPERM)$/

export const isUnwritable = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && UNWRITABLE.test(String(error.code))) ||
    /directory does not exist/.test(error.message))

/** Another connection holds the lock; trying again later may succeed. */
export const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^SQLITE_(BUSY|LOCKED)/.test(String(error.code))

/** Removes a database that can be rebuilt, with the files SQLite keeps beside it. */
export const removeDatabase = (file: string): void => {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(file + suffix, { force: true })
}
