/** Makes one backup: writes it beside its final name, reads it back, and only then gives it that name. */
import { isAlive } from '../../base/is-alive.ts'
import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { conflict, diskFull, invalid, messageOf, missing } from '../../errors.ts'
import { syncDir } from '../../store/atomic-write.ts'
import { errorCode } from '../../store/file-error.ts'
import { isDiskFull } from '../../store/journal.ts'
import { isInside, realPath } from '../../store/path-within.ts'
import { isCorrupt, openDatabase } from '../../store/sqlite.ts'
import { FORMAT } from './format.ts'
import type { BackupPlace } from './treatment.ts'
import { readArchive } from './read-archive.ts'
import { walk } from './walk.ts'
import { type Problem, type ArchiveSummary, writeArchive } from './write-archive.ts'

/** What is saved. */
export type BackupScope = {
  places: readonly BackupPlace[]
  /** Real paths that are not saved, for example a checkout in the home. */
  excluded: readonly string[]
  /** The text of a file without its keys; null: it cannot be saved without them. */
  withoutKeys: (path: string, text: string) => string | null
}

export type BackupOptions = BackupScope & {
  /** Absolute path of the new file. */
  target: string
  passphrase: string | null
  /** Version of the program. */
  version: string
  /** Path of SQLite's addon, in the single-file build. */
  addon?: string | undefined
  /** Binary logarithm of the cost of the passphrase; tests choose less. */
  workFactor?: number | undefined
  /** Stops it: nothing is left then. */
  signal?: AbortSignal | undefined
  /** Milliseconds since 1970. */
  now: number
}

export type Backup = ArchiveSummary & {
  path: string
  /** Bytes of the file. */
  size: number
}

const PARTIAL = /^\.agent-webui-backup-(\d+)-[0-9a-f]{12}\.partial(?:-journal|-wal|-shm)?$/
/** A process id may be used again, so what is older is a leftover in any case. */
const STALE_MS = 24 * 60 * 60_000

const partialIn = (dir: string): string =>
  join(dir, `.agent-webui-backup-${process.pid}-${randomBytes(6).toString('hex')}.partial`)

/** Deletes what killed backups left in `dir`. */
const removeLeftovers = (dir: string, now: number): void => {
  for (const name of readdirSync(dir)) {
    const pid = Number(PARTIAL.exec(name)?.[1])
    if (!pid) continue
    const path = join(dir, name)
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats && (!isAlive(pid) || now - stats.mtimeMs > STALE_MS)) rmSync(path, { force: true })
  }
}

const checkTarget = ({ target, places }: BackupOptions): string => {
  const dir = realPath(dirname(target))
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory())
    throw missing(`There is no directory ${dirname(target)}. Create it first.`)
  const place = places.find(each => isInside(each.dir, dir))
  if (place)
    throw invalid(
      `${target} is inside ${place.dir}, which is what gets saved. Choose a directory outside of it, best on another disk.`,
    )
  if (existsSync(target)) throw conflict(`${target} already exists. Choose another name.`)
  return dir
}

/** Pages per step: a step blocks the thread for a few milliseconds. */
const PAGES = 200

/** Copies with SQLite's backup API, which sees one state of the database however many programs write to it. */
const copyDatabase = async (
  file: string,
  dir: string,
  addon: string | undefined,
  problems: Problem[],
) => {
  const copy = partialIn(dir)
  const remove = () => {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(copy + end, { force: true })
  }
  try {
    const db = openDatabase(file, { mustExist: true, addon, pragmas: ['query_only = ON'] })
    try {
      await db.backup(copy, { progress: () => PAGES })
    } finally {
      db.close()
    }
    return { file: copy, remove }
  } catch (error) {
    remove()
    if (isDiskFull(error) || errorCode(error) === 'SQLITE_FULL') throw error
    // Its bytes are saved as they are: better than nothing, and another program may be able to repair them.
    if (!isCorrupt(error))
      problems.push({ path: file, reason: `SQLite could not copy it: ${messageOf(error)}` })
    return null
  }
}

/** Like a rename that replaces nothing. */
const giveName = (partial: string, target: string): void => {
  try {
    linkSync(partial, target)
  } catch (error) {
    if (errorCode(error) === 'EEXIST')
      throw conflict(`${target} already exists. Choose another name.`)
    // A file system without hard links, such as FAT.
    if (existsSync(target)) throw conflict(`${target} already exists. Choose another name.`)
    renameSync(partial, target)
    return
  }
  rmSync(partial, { force: true })
}

const write = async (
  partial: string,
  options: BackupOptions,
  dir: string,
): Promise<ArchiveSummary> => {
  const { places, excluded, passphrase, version, withoutKeys, workFactor, addon } = options
  const problems: Problem[] = []
  const outside = [...excluded, ...places.map(place => place.dir)]
  const files = walk(places, outside, (path, reason) => void problems.push({ path, reason }))
  const handle = await open(partial, 'wx', 0o600)
  try {
    const summary = await writeArchive(handle, {
      head: {
        program: 'agent-webui',
        format: FORMAT,
        version,
        created_at: new Date(options.now).toISOString(),
        keys: passphrase === null ? 'none' : 'encrypted',
        profiles: places.flatMap(({ root }) =>
          root === 'home' ? ['default'] : root === 'state' ? [] : [basename(root)],
        ),
      },
      files,
      now: options.now,
      problems,
      passphrase,
      withoutKeys,
      copyDatabase: file => copyDatabase(file, dir, addon, problems),
      workFactor,
      signal: options.signal,
    })
    await handle.sync()
    return summary
  } finally {
    await handle.close()
  }
}

/**
 * Throws a UserError when the target cannot be used or the disk is full. Nothing is left then, and no file has the final name
 * before it was read back and compared.
 */
export const makeBackup = async (options: BackupOptions): Promise<Backup> => {
  const { target, now } = options
  const dir = checkTarget(options)
  removeLeftovers(dir, now)
  const partial = partialIn(dir)
  try {
    const summary = await write(partial, options, dir)
    await readArchive(partial)
    const { size } = statSync(partial)
    giveName(partial, target)
    syncDir(dir)
    return { ...summary, path: target, size }
  } catch (error) {
    if (!isDiskFull(error) && errorCode(error) !== 'SQLITE_FULL') throw error
    throw diskFull(
      `The disk that holds ${dir} is full. Nothing was saved; earlier backups are unchanged.`,
    )
  } finally {
    rmSync(partial, { force: true })
  }
}
