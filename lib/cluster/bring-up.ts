/**
 * Makes the files of this machine those of the database, before anything reads them.
 *
 * Where no other process has written since this directory was last the owner, its files are at least as new: they are
 * kept, and the difference is sent. Otherwise the database decides. What this machine has beyond it was never
 * acknowledged; it is moved to `conflicts/`, not deleted.
 */
import {
  chmodSync,
  closeSync,
  fchmodSync,
  lstatSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { isDirectory } from '../base/directories.ts'
import { sha256 } from '../base/sha256.ts'
import { messageOf } from '../errors.ts'
import { errorCode } from '../store/file-error.ts'
import { makeDir } from '../store/make-dir.ts'
import { readWhole } from '../store/read-text.ts'
import type { Database, DatabaseRow } from './database.ts'
import type { DirectoryNote } from './directory-note.ts'
import { contentOf, isBelowLink, isLinkMode, type Mirror, SLICE } from './mirror.ts'
import { onlyHere } from './not-copied.ts'
import type { Sealer } from './seal.ts'
import { type CellFiles, ClusterError, FOLDER, FOLDER_MODE } from './cluster.ts'

type StoredFile = {
  key: string
  path: string
  version: number
  size: number
  mode: number
  digest: Buffer | null
  epoch: number
  baseEpoch: number
}

/** A cell in the database and on this machine. */
type Sides = { db: Database; cell: string; files: CellFiles; sealer: Sealer; mirror: Mirror }

type Options = Sides & {
  stateDir: string
  /** Null: the directory was never part of this cell. */
  note: DirectoryNote | null
  /** Milliseconds since 1970. */
  now: number
  warn: (text: string) => void
}

type Takeover = Options & {
  conflicts: Conflicts
  /** Keys of files that only this machine has. */
  onlyHere: ReadonlySet<string>
}

/** What is read in one statement, roughly: small files in groups, a larger one in pieces. */
const GROUP_BYTES = 1 << 20
const PAGE_CHUNKS = 2
/** Of files, with paths and digests: half a megabyte, roughly. */
const PAGE_ROWS = 2_000
const CONFLICTS = 'conflicts'
/** A longer path gets a short name there: Linux has 4,096 bytes for one, macOS 1,024. */
const MAX_PATH_BYTES = process.platform === 'darwin' ? 900 : 3_900
/** Beside the file that it becomes, whose own name may have no room for more. One at a time. */
const TEMPORARY = '.cluster.tmp'

const isFolder = ({ key }: StoredFile): boolean => key.endsWith(FOLDER)

const sizeOf = (path: string): number => {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat?.isFile() ? stat.size : -1
}

/** The database has other bytes than it should: this file cannot be had. */
class Damaged extends Error {}

/** What has to do with one file or folder, such as a name that is too long here. */
const OF_FILE = [
  ...['ENAMETOOLONG', 'EINVAL', 'EILSEQ', 'EISDIR', 'ENOTDIR', 'ENOTEMPTY'],
  ...['ELOOP', 'EXDEV', 'EACCES', 'EPERM', 'ENOENT', 'ENOTSUP'],
]

/** A file of another machine that this one cannot have. */
const isOfFile = (error: unknown): boolean =>
  error instanceof Damaged || OF_FILE.includes(errorCode(error))

export const placeOf = (key: string, at: number): string => `${key}\0${at}`

/** In several statements: all of a large cell at once would outlast a sign of life over a slow line. */
async function* rowsOf({ db, cell }: Sides): AsyncGenerator<DatabaseRow> {
  for (let last = Buffer.alloc(0); ; ) {
    const rows = await db.query(
      `select key, path, version, size, mode, digest, epoch, base_epoch, is_gone
       from agent_webui.file where cell = $1 and key > $2 order by key limit ${PAGE_ROWS}`,
      [cell, last],
    )
    yield* rows
    if (rows.length < PAGE_ROWS) return
    last = rows.at(-1)?.key as Buffer<ArrayBuffer>
  }
}

const readRows = async (sides: Sides) => {
  const { files } = sides
  let count = 0
  const deletedFiles: StoredFile[] = []
  const storedFiles: StoredFile[] = []
  let newest = 0
  for await (const row of rowsOf(sides)) {
    count += 1
    const key = String(row.path)
    const path = files.pathOf(key)
    newest = Math.max(newest, Number(row.epoch))
    if (path === null) continue
    ;(row.is_gone === true ? deletedFiles : storedFiles).push({
      key,
      path,
      version: Number(row.version),
      size: Number(row.size),
      mode: Number(row.mode),
      digest: row.digest instanceof Buffer ? row.digest : null,
      epoch: Number(row.epoch),
      baseEpoch: Number(row.base_epoch),
    })
  }
  return { storedFiles, deletedFiles, newest, count }
}

/** Files that are read together: none after `bytes`, and a large one alone. */
function* groups<T extends { bytes: number }>(files: readonly T[]): Generator<T[]> {
  let group: T[] = []
  let bytes = 0
  for (const each of files) {
    if (group.length > 0 && bytes + each.bytes > GROUP_BYTES) {
      yield group
      group = []
      bytes = 0
    }
    group.push(each)
    bytes += each.bytes
  }
  if (group.length > 0) yield group
}

const filesOf = (group: readonly { file: StoredFile }[]): StoredFile[] =>
  group.map(({ file }) => file)

type Piece = { at: number; bytes: Buffer }

const CHUNKS = `select f.path, c.at, c.bytes from agent_webui.chunk c
  join agent_webui.file f on f.cell = c.cell and f.key = c.key and f.version = c.version
  where c.cell = $1 and c.epoch > $3`

/** Throws `Damaged` when the bytes are not those that were sealed for this place. */
const pieceOf = (sealer: Sealer, key: string, row: DatabaseRow): Piece => {
  const at = Number(row.at)
  try {
    return { at, bytes: sealer.open(row.bytes as Buffer, placeOf(key, at)) }
  } catch (error) {
    throw new Damaged(messageOf(error))
  }
}

/** What these files have since `epoch`, in order. */
const readTogether = async (
  { db, cell, sealer }: Options,
  group: readonly StoredFile[],
  epoch: number,
): Promise<(file: StoredFile) => Piece[]> => {
  const keys = group.map(({ key }) => key)
  const rows = await db.query(
    `${CHUNKS} and f.key in (select sha256(convert_to(p, 'UTF8')) from unnest($2::text[]) p)
     order by f.path, c.at`,
    [cell, keys, epoch],
  )
  const byPath = Map.groupBy(rows, ({ path }) => String(path))
  return ({ key }) => (byPath.get(key) ?? []).map(row => pieceOf(sealer, key, row))
}

/** The same of one large file, without all of it in memory. */
async function* readInPieces(
  { db, cell, sealer }: Options,
  { key }: StoredFile,
  epoch: number,
): AsyncGenerator<Piece> {
  for (let next = -1; ; ) {
    const rows = await db.query(
      `${CHUNKS} and f.key = sha256(convert_to($2, 'UTF8')) and c.at > $4 order by c.at limit ${PAGE_CHUNKS}`,
      [cell, key, epoch, next],
    )
    for (const row of rows) {
      next = Number(row.at)
      yield pieceOf(sealer, key, row)
    }
    if (rows.length < PAGE_CHUNKS) return
  }
}

/** Moves what this machine has beyond the database out of the way. */
class Conflicts {
  readonly #dir: string
  #count = 0

  constructor(stateDir: string, now: number) {
    this.#dir = join(stateDir, CONFLICTS, new Date(now).toISOString().replaceAll(':', '-'))
  }

  keep(key: string, bytes: Buffer): void {
    writeFileSync(this.#target(key), bytes, { mode: 0o600 })
  }

  move(key: string, path: string): void {
    renameSync(path, this.#target(key))
  }

  report(warn: (text: string) => void): void {
    if (this.#count > 0)
      warn(
        `${this.#count} files had changes that were never acknowledged; they are in ${this.#dir}`,
      )
  }

  #target(key: string): string {
    const inside = join(this.#dir, key)
    // A path that is as long as the system allows has no room for the directory.
    const path = Buffer.byteLength(inside) > MAX_PATH_BYTES ? join(this.#dir, sha256(key)) : inside
    makeDir(dirname(path))
    this.#count += 1
    return path
  }
}

const isLinkAt = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true

const isFolderAt = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true

const isSame = (file: StoredFile, { files, sealer }: Pick<Sides, 'files' | 'sealer'>): boolean => {
  const { key, path, size, mode, digest } = file
  const isWork = files.isWork(key)
  if (isWork && isBelowLink(path)) return false
  if (isFolder(file)) return isWork ? isFolderAt(path) : isDirectory(path)
  const isLink = isLinkMode(mode)
  if (isLink || isWork ? isLinkAt(path) !== isLink : false) return false
  if (!isLink && sizeOf(path) !== size) return false
  try {
    return digest?.equals(sealer.digest(contentOf(path, mode, isWork))) === true
  } catch (error) {
    if (isOfFile(error)) return false
    throw error
  }
}

/** Where there is one, and a copy would keep it. */
const hasMode = ({ key, path, mode }: StoredFile, { files }: Pick<Sides, 'files'>): boolean => {
  const stat = files.isWork(key) ? lstatSync(path, { throwIfNoEntry: false }) : undefined
  return !stat || stat.isSymbolicLink() || (stat.mode & 0o777) === (mode & 0o777)
}

/** The local files win: their differences are sent. */
const keepLocal = async (sides: Sides, storedFiles: readonly StoredFile[]): Promise<void> => {
  const { files, mirror } = sides
  for (const [at, file] of storedFiles.entries()) {
    // Signs of life are sent meanwhile.
    if (at % SLICE === SLICE - 1) await setImmediate()
    const isEqual = files.isAppended(file.key)
      ? sizeOf(file.path) === file.size
      : isSame(file, sides) && hasMode(file, sides)
    mirror.load(file.key, file, isEqual)
  }
}

/** Whether it was removed. */
const removeFolder = (path: string): boolean => {
  try {
    rmdirSync(path)
    return true
  } catch {
    // It has files, which are looked at by themselves, or is none.
    return false
  }
}

/** With those above that have nothing else: what the database has of them is made again. */
const removeEmpty = (files: CellFiles, key: string): void => {
  const parts = key.split('/')
  while (parts.pop() !== undefined && parts.length > 1)
    if (!removeFolder(files.pathOf(parts.join('/')) ?? '')) return
}

/** A link of the work could lead out of the directory of the cell. */
const requireReal = ({ files }: Sides, { key, path }: { key: string; path: string }): void => {
  if (files.isWork(key) && isBelowLink(path)) throw new Damaged('a folder above it is a link')
}

/** Takes one file of the database. Not synced: the database has it, and a start after a power failure reads all of it again. */
const takeOne = async (
  takeover: Takeover,
  file: StoredFile,
  pieces: Iterable<Piece> | AsyncIterable<Piece>,
): Promise<void> => {
  const { note, files, conflicts, onlyHere } = takeover
  const { key, path, size, mode, baseEpoch } = file
  requireReal(takeover, file)
  makeDir(dirname(path))
  const temporary = join(dirname(path), TEMPORARY)
  rmSync(temporary, { force: true })
  const fd = openSync(temporary, 'wx', mode & 0o777)
  try {
    // Without the mask of this process: a script stays executable for whom it was.
    if (files.isWork(key)) fchmodSync(fd, mode & 0o777)
    let end = 0
    for await (const { at, bytes } of pieces) {
      if (at !== end) throw new Damaged(`it has nothing between ${end} and ${at}`)
      while (end < at + bytes.length) end += writeSync(fd, bytes, end - at)
    }
    if (end !== size) throw new Damaged(`it ends at ${end}, not at ${size}`)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
  const since = note?.epoch ?? 0
  // What this directory had as the owner is only older, unless the database has nothing newer, or never had that.
  const isOlder = since > 0 && baseEpoch > since && !onlyHere.has(key)
  const isLink = isLinkAt(path)
  const local = isLink ? 0 : sizeOf(path)
  const isEqual = !isLink && local === size && readWhole(path).equals(readWhole(temporary))
  if (isLinkMode(mode)) {
    const target = readWhole(temporary)
    rmSync(temporary)
    symlinkSync(target, temporary)
  }
  if (local >= 0 && !isOlder && !isEqual) conflicts.move(key, path)
  removeFolder(path)
  renameSync(temporary, path)
}

/** Adds to a journal what it lacks. False when it is shorter than what it had as the owner. */
const takeTail = (
  { key, path, size, mode }: StoredFile,
  pieces: readonly Piece[],
  conflicts: Conflicts,
): boolean => {
  const at = pieces[0]?.at ?? size
  const local = readWhole(path)
  if (local.length < at) return false
  const beyond = local.subarray(at)
  const bytes = Buffer.concat(pieces.map(piece => piece.bytes))
  if (!bytes.subarray(0, beyond.length).equals(beyond)) conflicts.keep(key, beyond)
  const temporary = join(dirname(path), TEMPORARY)
  writeFileSync(temporary, Buffer.concat([local.subarray(0, at), bytes]), { mode })
  renameSync(temporary, path)
  return true
}

/** One file that cannot be had stops no other one, and is named. False when it cannot. */
const guarded = async (
  { warn }: Options,
  key: string,
  problem: 'is left out here' | 'stays here',
  work: () => unknown,
): Promise<boolean> => {
  try {
    await work()
    return true
  } catch (error) {
    if (!isOfFile(error)) throw error
    warn(`The file ${key} of the cluster ${problem}: ${messageOf(error)}`)
    return false
  }
}

/** Reads what the local files lack, and writes it. The keys of those that cannot be had. */
const takeStored = async (
  takeover: Takeover,
  storedFiles: readonly StoredFile[],
): Promise<Set<string>> => {
  const { files, mirror, note, conflicts } = takeover
  const since = note?.epoch ?? 0
  const [whole, tails]: [StoredFile[], StoredFile[]] = [[], []]
  const failedKeys = new Set<string>()
  const take = async (file: StoredFile, work: () => unknown): Promise<void> => {
    if (!(await guarded(takeover, file.key, 'is left out here', work))) failedKeys.add(file.key)
  }
  for (const [at, file] of storedFiles.entries()) {
    if (at % SLICE === SLICE - 1) await setImmediate()
    if (isFolder(file))
      await take(file, () => {
        requireReal(takeover, file)
        makeDir(file.path, FOLDER_MODE)
      })
    else if (!files.isAppended(file.key)) {
      if (!isSame(file, takeover)) whole.push(file)
    } else if (file.baseEpoch > since || sizeOf(file.path) < 0) whole.push(file)
    else if (file.epoch > since || sizeOf(file.path) !== file.size) tails.push(file)
  }
  const lacking = tails.map(file => ({ file, bytes: Math.max(0, file.size - sizeOf(file.path)) }))
  for (const group of groups(lacking)) {
    const pieces = await readTogether(takeover, filesOf(group), since)
    for (const { file } of group)
      await take(file, () => {
        if (!takeTail(file, pieces(file), conflicts)) whole.push(file)
      })
  }
  for (const group of groups(whole.map(file => ({ file, bytes: file.size })))) {
    const [first] = group
    if (first && first.bytes > GROUP_BYTES) {
      const { file } = first
      await take(file, () => takeOne(takeover, file, readInPieces(takeover, file, 0)))
      continue
    }
    const pieces = await readTogether(takeover, filesOf(group), 0)
    for (const { file } of group) await take(file, () => takeOne(takeover, file, pieces(file)))
  }
  // Last, and what is in a folder first: a closed one could not be written into.
  for (const file of storedFiles.toSorted((a, b) => b.path.length - a.path.length))
    if (!hasMode(file, takeover))
      await take(file, () => {
        requireReal(takeover, file)
        chmodSync(file.path, file.mode & 0o777)
      })
  for (const file of storedFiles)
    if (!failedKeys.has(file.key)) mirror.load(file.key, file, true)
    // What is here instead is older than what the database has.
    else mirror.skip(file.key)
  return failedKeys
}

/** Until the end of the takeover: a closed folder could not be written into. */
const openFolders = async (takeover: Takeover): Promise<void> => {
  const { files } = takeover
  for (const key of await files.list('work')) {
    const path = key.endsWith(FOLDER) && files.isWork(key) ? files.pathOf(key) : null
    if (path !== null)
      await guarded(takeover, key, 'stays here', () => {
        requireReal(takeover, { key, path })
        chmodSync(path, FOLDER_MODE)
      })
  }
}

/** What was deleted while another process was the owner. What the database never had is not: `removeOthers` sets it aside. */
const removeGone = async (
  takeover: Takeover,
  deletedFiles: readonly StoredFile[],
): Promise<void> => {
  const { files, note, onlyHere } = takeover
  for (const [at, file] of deletedFiles.entries()) {
    if (at % SLICE === SLICE - 1) await setImmediate()
    const { key, path, epoch } = file
    if (onlyHere.has(key) || isFolder(file)) continue
    const isKnown = files.isWork(key) ? isSame(file, takeover) : epoch > (note?.epoch ?? 0)
    if (isKnown && !isFolderAt(path))
      await guarded(takeover, key, 'stays here', () => rmSync(path, { force: true }))
  }
}

/** Files and empty folders that were made or deleted while another process was the owner. */
const removeOthers = async (
  takeover: Takeover,
  storedFiles: readonly StoredFile[],
): Promise<void> => {
  const { files, conflicts, onlyHere } = takeover
  const keys = new Set(storedFiles.map(({ key }) => key))
  for (const [at, key] of (await files.list()).entries()) {
    if (at % SLICE === SLICE - 1) await setImmediate()
    const path = files.pathOf(key)
    if (path === null || keys.has(key) || onlyHere.has(key)) continue
    if (!key.endsWith(FOLDER))
      await guarded(takeover, key, 'stays here', () => {
        requireReal(takeover, { key, path })
        conflicts.move(key, path)
      })
    removeEmpty(files, key)
  }
}

/** Compares the local files, which are right, with what the database has. */
export const compareLocal = async (sides: Sides): Promise<void> =>
  keepLocal(sides, (await readRows(sides)).storedFiles)

/**
 * The keys of files that cannot be had here; null when the local files decided. Throws with a sentence when the directory and the
 * database have chats of their own.
 */
export const bringUp = async (options: Options): Promise<ReadonlySet<string> | null> => {
  const { cell, files, stateDir, note } = options
  const { storedFiles, deletedFiles, newest, count } = await readRows(options)
  if (count === 0) return null
  if (!note && (await files.list()).some(key => key.startsWith('state/sessions/')))
    throw new ClusterError(
      `${stateDir} has chats of its own, and the cluster has others for the cell "${cell}". Use an empty state directory, or another name in AGENT_WEBUI_CLUSTER_CELL.`,
    )
  if (note && note.epoch > 0 && newest <= note.epoch) {
    await keepLocal(options, storedFiles)
    return null
  }
  const conflicts = new Conflicts(stateDir, options.now)
  const takeover = { ...options, conflicts, onlyHere: onlyHere(stateDir) }
  if (note) {
    await openFolders(takeover)
    await removeGone(takeover, deletedFiles)
    await removeOthers(takeover, storedFiles)
    // Streams of turns that another owner continued or ended.
    rmSync(join(stateDir, 'live'), { recursive: true, force: true })
  }
  const failedKeys = await takeStored(takeover, storedFiles)
  conflicts.report(options.warn)
  return failedKeys
}
