/**
 * Makes the files of this machine those of the database, before anything reads them.
 *
 * Where no other process has written since this directory was last the owner, its files are at least as new: they are
 * kept, and the difference is sent. Otherwise the database decides. What this machine has beyond it was never
 * acknowledged; it is moved to `conflicts/`, not deleted.
 */
import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeDir } from '../store/make-dir.ts'
import { readWhole } from '../store/read-text.ts'
import type { Database } from './database.ts'
import type { Mirror } from './mirror.ts'
import type { Seal } from './seal.ts'
import { type CellFiles, ClusterError } from './types.ts'

type Stored = {
  key: string
  path: string
  size: number
  mode: number
  digest: Buffer | null
  epoch: number
  baseEpoch: number
}

type Options = {
  db: Database
  cell: string
  files: CellFiles
  stateDir: string
  sealer: Seal
  mirror: Mirror
  /** Of the last owner that was here; 0 for none. */
  since: number
  /** The directory was part of this cell before. */
  isKnown: boolean
  /** Milliseconds since 1970. */
  now: number
  warn: (text: string) => void
}

/** Files are read in groups of about this size. */
const GROUP_BYTES = 8 << 20
/** The content of a larger file of the same length is not compared. */
const COMPARED_BYTES = 256 << 10

const CONFLICTS = 'conflicts'

const sizeOf = (path: string): number => {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat?.isFile() ? stat.size : -1
}

/** Not synced: the database has it, and a start after a power failure reads all of it again. */
const writeFile = (path: string, bytes: Buffer, mode: number): void => {
  makeDir(dirname(path))
  const temporary = `${path}.tmp`
  rmSync(temporary, { force: true })
  writeFileSync(temporary, bytes, { mode, flag: 'wx' })
  renameSync(temporary, path)
}

export const placeOf = (key: string, at: number): string => `${key}\0${at}`

const readRows = async ({ db, cell, files }: Options) => {
  const rows = await db.query(
    'select path, size, mode, digest, epoch, base_epoch, is_gone from agent_webui.file where cell = $1',
    [cell],
  )
  const gone: string[] = []
  const stored: Stored[] = []
  let newest = 0
  for (const row of rows) {
    const key = String(row.path)
    const path = files.pathOf(key)
    newest = Math.max(newest, Number(row.epoch))
    if (path === null) continue
    if (row.is_gone === true) gone.push(path)
    else
      stored.push({
        key,
        path,
        size: Number(row.size),
        mode: Number(row.mode),
        digest: row.digest instanceof Buffer ? row.digest : null,
        epoch: Number(row.epoch),
        baseEpoch: Number(row.base_epoch),
      })
  }
  return { stored, gone, newest, count: rows.length }
}

function* groups(files: readonly Stored[]): Generator<Stored[]> {
  let group: Stored[] = []
  let bytes = 0
  for (const each of files) {
    group.push(each)
    bytes += each.size
    if (bytes < GROUP_BYTES) continue
    yield group
    group = []
    bytes = 0
  }
  if (group.length > 0) yield group
}

type Content = { at: number; bytes: Buffer }

/** What each of these files has since `epoch`: where it begins, and its bytes. */
const readContent = async (
  { db, cell, sealer }: Options,
  group: readonly Stored[],
  epoch: number,
): Promise<Map<string, Content>> => {
  const rows = await db.query(
    `select path, at, bytes from agent_webui.chunk
     where cell = $1 and path = any($2) and epoch > $3 order by path, at`,
    [cell, group.map(({ key }) => key), epoch],
  )
  const parts = new Map<string, { at: number; chunks: Buffer[] }>()
  for (const row of rows) {
    const key = String(row.path)
    const at = Number(row.at)
    const part = parts.get(key) ?? { at, chunks: [] }
    part.chunks.push(sealer.open(row.bytes as Buffer, placeOf(key, at)))
    parts.set(key, part)
  }
  return new Map(
    [...parts].map(([key, { at, chunks }]) => [key, { at, bytes: Buffer.concat(chunks) }]),
  )
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
    const path = join(this.#dir, key)
    makeDir(dirname(path))
    this.#count += 1
    return path
  }
}

const isSame = ({ path, size, digest }: Stored, sealer: Seal): boolean => {
  if (sizeOf(path) !== size) return false
  return size > COMPARED_BYTES || digest?.equals(sealer.digest(readWhole(path))) === true
}

/** The local files win: their differences are sent. */
const keepLocal = ({ files, mirror, sealer }: Options, stored: readonly Stored[]): void => {
  for (const file of stored) {
    const isEqual = files.isAppended(file.key)
      ? sizeOf(file.path) === file.size
      : isSame(file, sealer)
    mirror.load(file.key, file, isEqual)
  }
}

/** Reads what the local files lack, in groups, and writes it. */
const takeStored = async (
  options: Options,
  stored: readonly Stored[],
  conflicts: Conflicts,
): Promise<void> => {
  const { files, mirror, sealer, since } = options
  const [whole, tails]: [Stored[], Stored[]] = [[], []]
  for (const file of stored) {
    if (!files.isAppended(file.key)) {
      if (!isSame(file, sealer)) whole.push(file)
    } else if (file.baseEpoch > since || sizeOf(file.path) < 0) whole.push(file)
    else if (file.epoch > since || sizeOf(file.path) !== file.size) tails.push(file)
  }
  for (const group of groups(tails)) {
    const found = await readContent(options, group, since)
    for (const file of group) {
      const { at, bytes } = found.get(file.key) ?? { at: file.size, bytes: Buffer.alloc(0) }
      const local = readWhole(file.path)
      if (local.length < at) {
        // Shorter than what it had as the owner.
        whole.push(file)
        continue
      }
      const beyond = local.subarray(at)
      if (!bytes.subarray(0, beyond.length).equals(beyond)) conflicts.keep(file.key, beyond)
      writeFile(file.path, Buffer.concat([local.subarray(0, at), bytes]), file.mode)
    }
  }
  for (const group of groups(whole)) {
    const found = await readContent(options, group, 0)
    for (const file of group) {
      const bytes = found.get(file.key)?.bytes ?? Buffer.alloc(0)
      const local = sizeOf(file.path) < 0 ? null : readWhole(file.path)
      // What this directory had as the owner is only older, unless the database has nothing newer.
      const isOlder = since > 0 && file.baseEpoch > since
      if (local && !isOlder && !local.equals(bytes)) conflicts.keep(file.key, local)
      if (!local?.equals(bytes)) writeFile(file.path, bytes, file.mode)
    }
  }
  for (const file of stored) mirror.load(file.key, file, true)
}

/** Files that were made or deleted while another process was the owner. */
const removeOthers = async (
  { files }: Options,
  stored: readonly Stored[],
  conflicts: Conflicts,
): Promise<void> => {
  const keys = new Set(stored.map(({ key }) => key))
  for (const key of await files.list()) {
    const path = files.pathOf(key)
    if (path !== null && !keys.has(key)) conflicts.move(key, path)
  }
}

/** True when the database decided. Throws with a sentence when the directory and the database have chats of their own. */
export const bringUp = async (options: Options): Promise<boolean> => {
  const { cell, files, stateDir, since, isKnown } = options
  const { stored, gone, newest, count } = await readRows(options)
  if (count === 0) return false
  if (!isKnown && (await files.list()).some(key => key.startsWith('state/sessions/')))
    throw new ClusterError(
      `${stateDir} has chats of its own, and the cluster has others for the cell "${cell}". Use an empty state directory, or another name in AGENT_WEBUI_CLUSTER_CELL.`,
    )
  if (isKnown && since > 0 && newest <= since) {
    keepLocal(options, stored)
    return false
  }
  const conflicts = new Conflicts(stateDir, options.now)
  if (isKnown) {
    for (const path of gone) rmSync(path, { force: true })
    await removeOthers(options, stored, conflicts)
    // Streams of turns that another owner continued or ended.
    rmSync(join(stateDir, 'live'), { recursive: true, force: true })
  }
  await takeStored(options, stored, conflicts)
  conflicts.report(options.warn)
  return true
}
