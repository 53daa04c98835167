/** What of the local files the database has: the difference is what is sent next. */
import type { Hmac } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { messageOf } from '../errors.ts'
import { errorCode } from '../store/file-error.ts'
import { realPath } from '../store/path-within.ts'
import { openFile } from '../store/read-text.ts'
import type { Rank } from './backlog.ts'
import type { Sealer } from './seal.ts'
import { type CellFiles, FOLDER, FOLDER_MODE } from './cluster.ts'

/** `id`: which file it was, so that one that replaced it is not taken for a longer one. `stamp`: its state. */
type Seen = { id: string; stamp: string }
/** `version`: of the content that the database has; 0 for none. */
type DatabaseCopy = Seen & { size: number; mode: number; digest: Buffer | null; version: number }

/**
 * `part`: bytes of a new version, which readers see when its last piece, a `write`, is there. `size`, `digest`: of the whole
 * file; a journal has no digest.
 */
export type FileChange = { key: string; seen: Seen; bytes: Buffer } & (
  | { kind: 'append'; at: number; version: number; isPartial: boolean }
  | { kind: 'part'; at: number; version: number; isPartial: true }
  | {
      kind: 'write'
      at: number
      version: number
      size: number
      mode: number
      digest: Buffer | null
      isPartial: boolean
    }
  /** `size`, `mode`, `digest`: of what was deleted, so that the same on another machine is known to have been acknowledged. */
  | { kind: 'gone'; size: number; mode: number; digest: Buffer | null; isPartial: false }
)

/** Of one file in one statement, which must have its answer within a sign of life, over a slow line too. */
const PART_BYTES = 512 << 10
/** Larger files are left out, with a warning. */
const MAX_FILE_BYTES = 128 << 20
/** Of the work of a cell: what comes beyond is left out. */
const MAX_WORK_BYTES = 2 ** 30
const MAX_WORK_FILES = 50_000
const WORK_IS_FULL = `the work of this cell has more than ${MAX_WORK_FILES} files or ${MAX_WORK_BYTES >> 30} GB`
/** The part of a mode that says that it is a link (stat(2), S_IFMT and S_IFLNK). */
const KIND_BITS = 0o170000
const LINK_BITS = 0o120000
const LF = 10
/** Files that are looked at without a pause: thousands must not delay what streams. */
export const SLICE = 200
/** Of looks at everything: how long a large file rests at most that something writes to all the time. */
const MAX_REST = 64

const NOWHERE: Seen = { id: '', stamp: '' }
const NOTHING = Buffer.alloc(0)

type Look = Seen & { size: number; mode: number; isFolder: boolean }

/** A link of the work is copied as a link; elsewhere the file it leads to is. */
export const isLinkMode = (mode: number): boolean => (mode & KIND_BITS) === LINK_BITS

/** Of a path of the work: a link could lead out of the directory of the cell. The folders need not exist. */
export const isBelowLink = (path: string): boolean => realPath(dirname(path)) !== dirname(path)

/** Null also in a folder that may not be entered. */
const lstatIfOpen = (path: string) => {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch (error) {
    if (errorCode(error) === 'EACCES') return undefined
    throw error
  }
}

/**
 * The inode alone is not enough: its number is used again. The state of a folder is whether it is empty, not what is in it. `isWork`:
 * links are themselves, and a change of the mode alone is one, as is one that keeps the time of the content.
 */
const seenOf = (path: string, isWork: boolean): Look | null => {
  const options = { bigint: true, throwIfNoEntry: false } as const
  const stat = isWork ? lstatIfOpen(path) : statSync(path, options)
  const isFolder = stat?.isDirectory() === true
  const isOwnLink = stat?.isSymbolicLink() === true
  if (!stat || !(isFolder || isOwnLink || stat.isFile())) return null
  const id = `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`
  const size = isFolder ? 0 : Number(stat.size)
  const mode = (Number(stat.mode) & 0o777) | (isOwnLink ? LINK_BITS : 0)
  const state = isFolder ? id : `${id}:${size}:${stat.mtimeNs}`
  const change = isFolder ? '' : stat.ctimeNs
  const stamp = isWork ? `${state}:${change}:${mode}` : state
  return { id, stamp, size, mode, isFolder }
}

/** A file of the work may have become a link since it was looked at. */
const openFor = (path: string, isWork: boolean): number =>
  openFile(path, isWork ? constants.O_RDONLY | constants.O_NOFOLLOW : constants.O_RDONLY)

/** The target of a link, or what is in a file. */
export const contentOf = (path: string, mode: number, isWork: boolean): Buffer => {
  if (isLinkMode(mode)) return readlinkSync(path, { encoding: 'buffer' })
  const fd = openFor(path, isWork)
  try {
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

const readAt = (fd: number, at: number, length: number): Buffer => {
  const bytes = Buffer.allocUnsafe(Math.max(0, length))
  let got = 0
  while (got < bytes.length) {
    const count = readSync(fd, bytes, got, bytes.length - got, at + got)
    if (count === 0) break
    got += count
  }
  return bytes.subarray(0, got)
}

/** Where the last whole line ends: a torn one was never acknowledged. */
const endOfLines = (fd: number, from: number, size: number): number => {
  for (let end = size; end > from; end -= PART_BYTES) {
    const at = Math.max(from, end - PART_BYTES)
    const last = readAt(fd, at, end - at).lastIndexOf(LF)
    if (last >= 0) return at + last + 1
  }
  return from
}

const namesBelow = (dir: string): string[] => {
  try {
    return readdirSync(dir, { recursive: true, encoding: 'utf8' })
  } catch {
    // It was removed at the same time, which is reported too, or cannot be entered.
    return []
  }
}

/**
 * Names of commits and what is checked out, of repositories, those without a workspace and those in others included; records of
 * turns, of checkpoints. The first part is the folder that has what they name.
 */
const NAMES = [
  /^(.*?\/\.git)\/(?!(?:.*\/)?objects\/)/,
  /^(.*?\/[^/]+\.git)\/(?:HEAD$|packed-refs$|(?:refs|logs)\/)/,
  /^((?:home|profiles\/[^/]+)\/checkpoints\/[^/]+)\/webui\/(?:turns|open)\//,
]

/** The folder that has what a file names; undefined for a file that names nothing. */
const namedBy = (key: string): string | undefined =>
  NAMES.map(pattern => pattern.exec(key)?.[1]).find(folder => folder !== undefined)

const isLink = (path: string): boolean => lstatSync(path).isSymbolicLink()

const isEmpty = (dir: string): boolean => {
  try {
    return readdirSync(dir).length === 0
  } catch {
    // As above.
    return false
  }
}

/** `stamp`: its state at the look. */
export type Difference = { key: string; rank: Rank; stamp: string }

/** A file that enters the database in several statements. Its descriptor keeps the content of one that is replaced. */
type Sending = {
  fd: number
  seen: Seen
  mode: number
  at: number
  end: number
  version: number
  /** Of what was sent; null for a journal. */
  hash: Hmac | null
  /** Kept for a statement that fails: a hash has one end. */
  last: FileChange | null
}

export class Mirror {
  readonly #files: CellFiles
  readonly #sealer: Sealer
  readonly #warn: (text: string) => void
  readonly #copies = new Map<string, DatabaseCopy>()
  /** Other machines may have these, in this version. */
  readonly #versions = new Map<string, number>()
  readonly #sending = new Map<string, Sending>()
  /** The database has parts of a version that is not whole. */
  readonly #inParts = new Set<string>()
  /** Files that stay here, by the state that they have: one that changed is looked at again. */
  readonly #skipped = new Map<string, string>()
  /** Of those: why, where that was not said so far. */
  readonly #unsaid = new Map<string, string[]>()
  /** Large files that changed while they were sent: how often in a row, and how many looks at everything pass until the next time. */
  readonly #restless = new Map<string, { times: number; rest: number }>()
  /** Names that differ, as the last look found them. */
  readonly #names = new Map<string, string>()
  /** Of the work. */
  #work = { files: 0, bytes: 0 }

  constructor(
    files: CellFiles,
    { sealer, warn }: { sealer: Sealer; warn: (text: string) => void },
  ) {
    this.#files = files
    this.#sealer = sealer
    this.#warn = warn
  }

  /** Files that stay here only. */
  get leftOut(): number {
    return this.#skipped.size
  }

  /** The next difference of a file; null when there is none. */
  read(key: string): FileChange | null {
    const path = this.#files.pathOf(key)
    if (path === null || this.#isSkipped(key, path)) return null
    try {
      return this.#readFile(key, path)
    } catch (error) {
      // It vanished between two calls, or became a link, which the next one reports.
      if (['ENOENT', 'ELOOP'].includes(errorCode(error))) return this.read(key)
      this.skip(key, messageOf(error))
      return null
    }
  }

  /** Called when what these files name is to be sent before them. */
  noteNames(changes: readonly Difference[]): void {
    for (const { key, rank, stamp } of changes) if (rank === 'names') this.#names.set(key, stamp)
  }

  /**
   * The same of what names other files, such as a commit; null also where it has changed since the look that found it, because what
   * it names may be newer than that look. The next one finds both.
   */
  readName(key: string): FileChange | null {
    const change = this.read(key)
    if (!change || change.kind === 'gone' || change.at > 0) return change
    if (this.#look(key)?.stamp === this.#names.get(key)) return change
    this.#endSending(key)
    return null
  }

  /** The database has this change. */
  applied(change: FileChange): void {
    const { key, seen } = change
    if (change.kind === 'gone') {
      this.#forgetOne(key)
      this.#versions.delete(key)
      this.#inParts.delete(key)
    } else if (change.kind === 'part') {
      this.#inParts.add(key)
      const sending = this.#sending.get(key)
      if (!sending) return
      sending.at = change.at + change.bytes.length
      sending.hash?.update(change.bytes)
    } else {
      this.#endSending(key)
      this.#skipped.delete(key)
      this.#inParts.delete(key)
      if (change.kind === 'write' && change.at > 0 && change.digest) this.#noteRest(key, seen)
      const { version } = change
      const { size, mode, digest } =
        change.kind === 'append'
          ? { size: change.at + change.bytes.length, mode: 0, digest: null }
          : change
      this.#remember(key, { ...seen, size, mode, digest, version })
    }
  }

  /** The database has this file with the local content; `isSame` is false where only its name is known to be there. */
  load(
    key: string,
    {
      size,
      mode,
      digest,
      version,
    }: { size: number; mode: number; digest: Buffer | null; version: number },
    isSame: boolean,
  ): void {
    const look = this.#look(key)
    this.#versions.set(key, version)
    const seen = isSame && look ? { id: look.id, stamp: look.stamp } : NOWHERE
    this.#remember(key, { ...seen, size, mode, version, digest: isSame ? digest : null })
  }

  /** Nothing is known of what the database has: it is loaded again. */
  forget(): void {
    for (const key of [...this.#sending.keys()]) this.#endSending(key)
    this.#copies.clear()
    this.#work = { files: 0, bytes: 0 }
  }

  /** The next difference of this file is its whole content. */
  distrust(key: string): void {
    this.#endSending(key)
    const before = this.#copies.get(key)
    if (before) this.#remember(key, { ...before, ...NOWHERE, digest: null })
  }

  /** This file stays here only, until it changes; the others continue. Without a reason it was named already. */
  skip(key: string, why?: string): void {
    this.#endSending(key)
    if (why !== undefined && !this.#skipped.has(key)) {
      const unsaid = this.#unsaid.get(why)
      if (unsaid) unsaid.push(key)
      else this.#unsaid.set(why, [key])
    }
    this.#skipped.set(key, this.#look(key)?.stamp ?? '')
  }

  /** The files that stay here only. */
  skipped(): string[] {
    return [...this.#skipped.keys()]
  }

  /** This owner has sent nothing of it. */
  isAsLoaded(key: string): boolean {
    return this.#copies.get(key)?.version === this.#versions.get(key)
  }

  /** Some of them were not named so far. */
  get hasUnsaid(): boolean {
    return this.#unsaid.size > 0
  }

  /** Names them in the log, each once; for each reason one line. */
  saySkipped(): void {
    for (const [why, [first, ...more]] of this.#unsaid)
      this.#warn(
        `The cluster keeps no copy of ${first}${more.length > 0 ? ` and ${more.length} more` : ''}: ${why}`,
      )
    this.#unsaid.clear()
  }

  /** The files and empty folders at or below a path that was reported: a directory may have been removed. */
  expand(key: string): string[] {
    if (this.#copies.has(key) || key.endsWith(FOLDER)) return [key]
    const path = this.#files.pathOf(key)
    const look = this.#look(key)
    if (path && look && (!look.isFolder || isLink(path))) return [key]
    const below = [...this.#copies.keys()].filter(each => each.startsWith(`${key}/`))
    if (!path || !look) return below
    const members = namesBelow(path).filter(name => this.#files.keyOf(join(path, name)) !== null)
    const names = members.flatMap(name => [`${key}/${name}`, `${key}/${name}${FOLDER}`])
    return [...new Set([...below, ...names, key + FOLDER])]
  }

  /**
   * Files that differ from what was seen last: other programs change them too. `part`: only what tools change; `isFinal`: without
   * a rest for any.
   */
  async changed({
    part,
    isFinal = false,
  }: {
    part?: 'work'
    isFinal?: boolean
  } = {}): Promise<Difference[]> {
    const now = await this.#files.list(part)
    const present = new Set(now)
    const isHere = (key: string) =>
      (part === undefined || this.#files.isOfTools(key)) && !this.#files.isHidden(key)
    const changes: Difference[] = []
    const folders = new Set<string>()
    let count = 0
    const pause = async () => {
      count += 1
      if (count % SLICE === 0) await setImmediate()
    }
    for (const key of now) {
      await pause()
      const path = this.#files.pathOf(key)
      if (path === null || this.#isSkipped(key, path)) continue
      // The folders above were listed as folders.
      const stamp = seenOf(path, this.#files.isWork(key))?.stamp ?? ''
      const isSame = stamp === (this.#copies.get(key)?.stamp ?? '')
      if (isSame || (!isFinal && this.#rests(key, part === undefined))) continue
      const owner = namedBy(key)
      if (owner !== undefined) folders.add(owner)
      changes.push({ key, rank: owner === undefined ? 'content' : 'names', stamp })
    }
    // What was made after the first list, and before its name was looked at.
    for (const folder of folders)
      for (const key of await this.#files.listBelow(folder))
        if (!present.has(key) && namedBy(key) === undefined)
          changes.push({ key, rank: 'content', stamp: '' })
    for (const key of [...this.#copies.keys()]) {
      if (present.has(key) || !isHere(key)) continue
      await pause()
      // Else it is there and not listed any more, such as in a folder that programs make again.
      if (key.endsWith(FOLDER) || this.#isMissing(key))
        changes.push({ key, rank: 'gone', stamp: '' })
    }
    for (const key of this.#skipped.keys())
      if (!present.has(key) && isHere(key)) this.#skipped.delete(key)
    return changes
  }

  #look(key: string): Look | null {
    const path = this.#files.pathOf(key)
    return path === null ? null : this.#lookAt(key, path)
  }

  #lookAt(key: string, path: string): Look | null {
    const isWork = this.#files.isWork(key)
    return isWork && isBelowLink(path) ? null : seenOf(path, isWork)
  }

  #isMissing(key: string): boolean {
    try {
      // A folder has what is in it, under other keys.
      return this.#look(key)?.isFolder !== false
    } catch {
      // In a folder that cannot be entered.
      return false
    }
  }

  /** Something wrote to a large file while it was sent: it would be sent again and again, whole. */
  #noteRest(key: string, seen: Seen): void {
    const times =
      this.#look(key)?.stamp === seen.stamp ? 0 : (this.#restless.get(key)?.times ?? 0) + 1
    if (times === 0) this.#restless.delete(key)
    else this.#restless.set(key, { times, rest: Math.min(MAX_REST, 2 ** times) })
  }

  #rests(key: string, isSweep: boolean): boolean {
    const entry = this.#restless.get(key)
    if (!entry || entry.rest <= 0) return false
    if (isSweep) entry.rest -= 1
    return true
  }

  #isSkipped(key: string, path: string): boolean {
    const stamp = this.#skipped.get(key)
    return stamp !== undefined && (seenOf(path, this.#files.isWork(key))?.stamp ?? '') === stamp
  }

  #remember(key: string, copy: DatabaseCopy): void {
    this.#forgetOne(key)
    this.#copies.set(key, copy)
    if (!this.#files.isWork(key)) return
    this.#work.files += 1
    this.#work.bytes += copy.size
  }

  #forgetOne(key: string): void {
    this.#names.delete(key)
    const before = this.#copies.get(key)
    this.#copies.delete(key)
    if (!before || !this.#files.isWork(key)) return
    this.#work.files -= 1
    this.#work.bytes -= before.size
  }

  /** Whether a file of the work has no room among the copies. */
  #exceeds(key: string, size: number): boolean {
    const before = this.#copies.get(key)
    return (
      (before === undefined && this.#work.files >= MAX_WORK_FILES) ||
      this.#work.bytes + size - (before?.size ?? 0) > MAX_WORK_BYTES
    )
  }

  #endSending(key: string): void {
    const sending = this.#sending.get(key)
    if (!sending) return
    this.#sending.delete(key)
    closeSync(sending.fd)
  }

  #deletion(key: string): FileChange | null {
    this.#endSending(key)
    this.#skipped.delete(key)
    const before = this.#copies.get(key)
    if (!before && !this.#inParts.has(key)) return null
    const { size, mode, digest } = before ?? { size: 0, mode: 0, digest: null }
    return {
      ...{ kind: 'gone', key, seen: NOWHERE, bytes: NOTHING, isPartial: false },
      ...{ size, mode, digest: this.#versions.has(key) ? digest : null },
    }
  }

  #readFile(key: string, path: string): FileChange | null {
    const look = this.#lookAt(key, path)
    if (!look) return this.#deletion(key)
    if (key.endsWith(FOLDER)) {
      const hasKey = isEmpty(path) || (this.#files.isWork(key) && look.mode !== FOLDER_MODE)
      return hasKey ? this.#readFolder(key, look) : this.#deletion(key)
    }
    if (look.isFolder) {
      if (!isLink(path)) return this.#deletion(key)
      const deletion = this.#deletion(key)
      this.skip(key, 'it is a link to a folder')
      return deletion
    }
    const sending = this.#sending.get(key)
    // What was begun is sent to its end, or a file that something writes to would begin again and again. The next look sees the rest.
    if (sending && this.#continues(key, sending, look)) return this.#next(key, sending)
    this.#endSending(key)
    return this.#files.isAppended(key)
      ? this.#readJournal(key, path, look)
      : this.#readOther(key, path, look)
  }

  /** A journal that is another one has lines that must be sent, not the ones before. */
  #continues(key: string, { seen, end }: Sending, look: Look): boolean {
    return !this.#files.isAppended(key) || (seen.id === look.id && look.size >= end)
  }

  #readFolder(key: string, { mode, isFolder, size: _, ...seen }: Look): FileChange | null {
    const before = this.#copies.get(key)
    if (!isFolder || before?.stamp === seen.stamp) return null
    const version = (before?.version ?? 0) + 1
    return {
      ...{ kind: 'write', key, seen, at: 0, bytes: NOTHING, version, size: 0, mode },
      ...{ digest: null, isPartial: false },
    }
  }

  #readJournal(key: string, path: string, look: Look): FileChange | null {
    const before = this.#copies.get(key)
    const { id, stamp, size } = look
    const seen = { id, stamp }
    if (before?.id !== id || size < before.size) return this.#begin(key, path, look)
    const fd = openFile(path)
    try {
      const { size: at, version } = before
      const end = endOfLines(fd, at, fstatSync(fd).size)
      const bytes = readAt(fd, at, Math.min(PART_BYTES, end - at))
      if (bytes.length > 0)
        return {
          ...{ kind: 'append', key, seen, at, bytes, version },
          isPartial: at + bytes.length < end,
        }
      this.#remember(key, { ...before, ...seen })
      return null
    } finally {
      closeSync(fd)
    }
  }

  #readOther(key: string, path: string, look: Look): FileChange | null {
    const isWork = this.#files.isWork(key)
    const { id, stamp, size, mode } = look
    if (size > MAX_FILE_BYTES)
      return this.#leave(key, `it is larger than ${MAX_FILE_BYTES >> 20} MB`)
    if (isWork && this.#exceeds(key, size)) return this.#leave(key, WORK_IS_FULL)
    const before = this.#copies.get(key)
    const isLink = isLinkMode(mode)
    // Most that differ do so in their size.
    if (!isLink && before?.size !== size) return this.#begin(key, path, look)
    const bytes = contentOf(path, mode, isWork)
    const digest = this.#sealer.digest(bytes)
    const isSame = before?.digest?.equals(digest) === true && !(isWork && before.mode !== mode)
    if (isSame) {
      this.#remember(key, { ...before, id, stamp })
      this.#skipped.delete(key)
      return null
    }
    if (!isLink) return this.#begin(key, path, look)
    const version = (before?.version ?? 0) + 1
    const common = { key, seen: { id, stamp }, at: 0, bytes, version, size, mode, digest }
    return { ...common, kind: 'write', isPartial: false }
  }

  /** The database keeps what it has of it. */
  #leave(key: string, why: string): null {
    this.skip(key, why)
    return null
  }

  #begin(key: string, path: string, look: Look): FileChange {
    const fd = openFor(path, this.#files.isWork(key))
    const isJournal = this.#files.isAppended(key)
    const { size } = fstatSync(fd)
    const end = isJournal ? endOfLines(fd, 0, size) : Math.min(size, MAX_FILE_BYTES)
    const version = (this.#copies.get(key)?.version ?? 0) + 1
    const seen = { id: look.id, stamp: look.stamp }
    const hash = isJournal ? null : this.#sealer.hash()
    const sending: Sending = { fd, seen, mode: look.mode, at: 0, end, version, hash, last: null }
    const first = this.#next(key, sending)
    if (first.isPartial) this.#sending.set(key, sending)
    else closeSync(fd)
    return first
  }

  #next(key: string, sending: Sending): FileChange {
    const { fd, seen, mode, at, end, version, hash } = sending
    if (sending.last) return sending.last
    const bytes = readAt(fd, at, Math.min(PART_BYTES, end - at))
    const common = { key, seen, at, bytes, version }
    // Cut at the same time: the last piece has what is there, and the next look finds the difference.
    if (bytes.length > 0 && at + bytes.length < end)
      return { ...common, kind: 'part', isPartial: true }
    const digest = hash?.update(bytes).digest() ?? null
    const size = at + bytes.length
    sending.last = { ...common, kind: 'write', size, mode, digest, isPartial: false }
    return sending.last
  }
}
