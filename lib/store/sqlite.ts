/** Opens SQLite databases: pragmas, numbered migrations, error classes. The only import of the driver. */
import { rmSync } from 'node:fs'
import BetterSqlite from 'better-sqlite3'
import { messageOf } from '../errors.ts'
import { errorCode } from './file-error.ts'

export type Database = BetterSqlite.Database
export type Statement<P extends unknown[] = unknown[], R = unknown> = BetterSqlite.Statement<P, R>

/** Pages that a connection keeps, in kB: 2 MB instead of the driver's 16, for one that stays open. The system has the file in memory anyway. */
export const SMALL_CACHE = 'cache_size = -2000'

/** Also works in worker threads. Throws when a newer version of the program wrote the file. */
export const openDatabase = (
  file: string,
  {
    migrations,
    pragmas = [],
    readonly = false,
    mustExist = false,
    addon,
    timeoutMs = 5_000,
  }: {
    /**
     * Each runs once, in order, in its own transaction; `user_version` counts them. Never edit one, add a new one.
     * Absent: the file belongs to another program, and its version is ignored.
     */
    migrations?: readonly string[]
    /** For example `journal_mode = WAL`; run before the migrations. */
    pragmas?: readonly string[]
    readonly?: boolean
    /** Throws for a missing file instead of creating it. */
    mustExist?: boolean
    /** Path of the native addon, in the single-file build. Absent: the one in node_modules. */
    addon?: string | undefined
    /** How long to wait for another connection's lock. */
    timeoutMs?: number
  } = {},
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
  const version = Number(db.pragma('user_version', { simple: true }))
  if (version > migrations.length) {
    throw new Error(`${db.name} has version ${version}, this program knows ${migrations.length}`)
  }
  for (const [index, sql] of migrations.entries()) {
    if (index < version) continue
    db.transaction(() => {
      db.exec(sql)
      db.pragma(`user_version = ${index + 1}`)
    }).exclusive()
  }
}

/** The file is damaged, or no longer the one we opened. A cache can be rebuilt. */
const CORRUPT = /^SQLITE_(CORRUPT|NOTADB|READONLY_DBMOVED|CANTOPEN|IOERR)/

export const isCorrupt = (error: unknown): boolean => CORRUPT.test(errorCode(error))

/** The disk is full or accepts no writes, so rebuilding the file there would fail as well. */
const UNWRITABLE = /^SQLITE_(FULL|READONLY|CANTOPEN|IOERR)|^(ENOSPC|EDQUOT|EROFS|EACCES|EPERM)$/

export const isUnwritable = (error: unknown): boolean =>
  UNWRITABLE.test(errorCode(error)) || /directory does not exist/.test(messageOf(error))

/** Another connection holds the lock; a retry may succeed. */
export const isBusy = (error: unknown): boolean => /^SQLITE_(BUSY|LOCKED)/.test(errorCode(error))

/** Deletes a database with its `-wal`, `-shm` and `-journal` files. */
export const removeDatabase = (file: string): void => {
  for (const suffix of ['', '-wal', '-shm', '-journal'])
    rmSync(file + suffix, { force: true, recursive: true })
}
