/** What of the local files the database has: the difference is what is sent next. */
import {
  closeSync,
  fstatSync,
  lstatSync,
  readdirSync,
  readlinkSync,
  readSync,
  statSync,
} from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { messageOf } from '../errors.ts'
import { errorCode } from '../store/file-error.ts'
import { openFile, readWhole } from '../store/read-text.ts'
import type { Sealer } from './seal.ts'
import { type CellFiles, FOLDER } from './cluster.ts'

/** `id`: which file it was, so that one that replaced it is not taken for a longer one. `stamp`: its state. */
type Seen = { id: string; stamp: string }
/** `version`: of the content that the database has; 0 for none. */
type Known = Seen & { size: number; mode: number; digest: Buffer | null; version: number }

/**
 * `part`: bytes of a new version, which readers see when its last piece, a `write`, is there. `size`, `digest`: of the whole
 * file; a journal has no digest.
 */
export type Change = { key: string; seen: Seen; bytes: Buffer } & (
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
  | { kind: 'gone'; isPartial: false }
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
/** Files that are looked at without a pause. */
const SLICE = 200

const NOWHERE: Seen = { id: '', stamp: '' }
const NOTHING = Buffer.alloc(0)

type Found = Seen & { size: number; mode: number; isFolder: boolean }

/** A link of the work is copied as a link; elsewhere the file it leads to is. */
export const isLinkMode = (mode: number): boolean => (mode & KIND_BITS) === LINK_BITS

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
 * The inode alone is not enough: its number is used again. The state of a folder is whether it is empty. `isWork`: links are
 * themselves, and a change of the mode alone is one.
 */
const seenOf = (path: string, isWork: boolean): Found | null => {
  const options = { bigint: true, throwIfNoEntry: false } as const
  const stat = isWork ? lstatIfOpen(path) : statSync(path, options)
  const isFolder = stat?.isDirectory() === true
  const isOwnLink = stat?.isSymbolicLink() === true
  if (!stat || !(isFolder || isOwnLink || stat.isFile())) return null
  const id = `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`
  const size = isFolder ? 0 : Number(stat.size)
  const mode = (Number(stat.mode) & 0o777) | (isOwnLink ? LINK_BITS : 0)
  const stamp = isFolder ? id : `${id}:${size}:${stat.mtimeNs}${isWork ? `:${mode}` : ''}`
  return { id, stamp, size, mode, isFolder }
}

/** The target of a link, or what is in a file. */
export const contentOf = (path: string, mode: number): Buffer =>
  isLinkMode(mode) ? readlinkSync(path, { encoding: 'buffer' }) : readWhole(path)

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

/** What a repository says last: names of commits, and what is checked out. */
const isOfRepository = (key: string): boolean =>
  key.includes('/.git/') && !key.includes('/.git/objects/')

const isLink = (path: string): boolean => lstatSync(path).isSymbolicLink()

const isEmpty = (dir: string): boolean => {
  try {
    return readdirSync(dir).length === 0
  } catch {
    // As above.
    return false
  }
}

/** A file that enters the database in several statements. Its descriptor keeps the content of one that is replaced. */
type Sending = {
  fd: number
  seen: Seen
  at: number
  end: number
  version: number
  digest: Buffer | null
}

export class Mirror {
  readonly #files: CellFiles
  readonly #sealer: Sealer
  readonly #warn: (text: string) => void
  readonly #onSkip: (keys: readonly string[]) => void
  readonly #known = new Map<string, Known>()
  readonly #sending = new Map<string, Sending>()
  /** Files that stay here, by the state that they have: one that changed is looked at again. */
  readonly #skipped = new Map<string, string>()
  /** Of the work. */
  #work = { files: 0, bytes: 0 }

  constructor(
    files: CellFiles,
    {
      sealer,
      warn,
      onSkip,
    }: {
      sealer: Sealer
      warn: (text: string) => void
      /** With all files that stay here only. */
      onSkip: (keys: readonly string[]) => void
    },
  ) {
    this.#files = files
    this.#sealer = sealer
    this.#warn = warn
    this.#onSkip = onSkip
  }

  /** Files that stay here only. */
  get leftOut(): number {
    return this.#skipped.size
  }

  /** The next difference of a file; null when there is none. */
  read(key: string): Change | null {
    const path = this.#files.pathOf(key)
    if (path === null || this.#isSkipped(key, path)) return null
    try {
      return this.#readFile(key, path)
    } catch (error) {
      // It vanished between two calls, which the next one reports.
      if (errorCode(error) === 'ENOENT') return this.read(key)
      this.skip(key, messageOf(error))
      return null
    }
  }

  /** The database has this change. */
  applied(change: Change): void {
    const { key, seen } = change
    if (change.kind === 'gone') this.#forgetOne(key)
    else if (change.kind === 'part') {
      const sending = this.#sending.get(key)
      if (sending) sending.at = change.at + change.bytes.length
    } else {
      this.#endSending(key)
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
    const found = this.#look(key)
    const seen = isSame && found ? { id: found.id, stamp: found.stamp } : NOWHERE
    this.#remember(key, { ...seen, size, mode, version, digest: isSame ? digest : null })
  }

  /** Nothing is known of what the database has: it is loaded again. */
  forget(): void {
    for (const key of [...this.#sending.keys()]) this.#endSending(key)
    this.#known.clear()
    this.#work = { files: 0, bytes: 0 }
  }

  /** The next difference of this file is its whole content. */
  distrust(key: string): void {
    this.#endSending(key)
    const before = this.#known.get(key)
    if (before) this.#remember(key, { ...before, ...NOWHERE, digest: null })
  }

  /** This file stays here only, until it changes; the others continue. */
  skip(key: string, why: string): void {
    this.#endSending(key)
    if (!this.#skipped.has(key)) this.#warn(`The cluster keeps no copy of ${key}: ${why}`)
    this.#skipped.set(key, this.#look(key)?.stamp ?? '')
    this.#onSkip(this.skipped())
  }

  /** The files that stay here only. */
  skipped(): string[] {
    return [...this.#skipped.keys()]
  }

  /** The files and empty folders at or below a path that was reported: a directory may have been removed. */
  expand(key: string): string[] {
    if (this.#known.has(key) || key.endsWith(FOLDER)) return [key]
    const path = this.#files.pathOf(key)
    const found = this.#look(key)
    if (path && found && (!found.isFolder || isLink(path))) return [key]
    const below = [...this.#known.keys()].filter(each => each.startsWith(`${key}/`))
    if (!path || !found) return below
    const names = namesBelow(path).flatMap(name => [`${key}/${name}`, `${key}/${name}${FOLDER}`])
    return [...new Set([...below, ...names, key + FOLDER])]
  }

  /** Files that differ from what was seen last: other programs change them too. */
  async changed(part?: 'work'): Promise<string[]> {
    const now = await this.#files.list(part)
    const present = new Set(now)
    const gone = [...this.#known.keys()].filter(
      key =>
        !present.has(key) &&
        (part === undefined || this.#files.isWork(key)) &&
        !this.#files.isHidden(key),
    )
    const different: string[] = []
    for (const [at, key] of now.entries()) {
      // Thousands of files must not delay what streams.
      if (at % SLICE === SLICE - 1) await setImmediate()
      const path = this.#files.pathOf(key)
      if (path === null || this.#isSkipped(key, path)) continue
      if (this.#look(key)?.stamp !== this.#known.get(key)?.stamp) different.push(key)
    }
    // Of a repository, first what the rest names.
    const [rest, first] = [
      different.filter(isOfRepository),
      different.filter(key => !isOfRepository(key)),
    ]
    return [...gone, ...first, ...rest]
  }

  #look(key: string): Found | null {
    const path = this.#files.pathOf(key)
    return path === null ? null : seenOf(path, this.#files.isWork(key))
  }

  #isSkipped(key: string, path: string): boolean {
    const stamp = this.#skipped.get(key)
    if (stamp === undefined) return false
    if (seenOf(path, this.#files.isWork(key))?.stamp === stamp) return true
    this.#skipped.delete(key)
    return false
  }

  #remember(key: string, known: Known): void {
    this.#forgetOne(key)
    this.#known.set(key, known)
    if (!this.#files.isWork(key)) return
    this.#work.files += 1
    this.#work.bytes += known.size
  }

  #forgetOne(key: string): void {
    const before = this.#known.get(key)
    this.#known.delete(key)
    if (!before || !this.#files.isWork(key)) return
    this.#work.files -= 1
    this.#work.bytes -= before.size
  }

  /** Whether a file of the work has no room among the copies. */
  #exceeds(key: string, size: number): boolean {
    const before = this.#known.get(key)
    return (
      (before === undefined && this.#work.files >= MAX_WORK_FILES) ||
      this.#work.bytes + size - (before?.size ?? 0) > MAX_WORK_BYTES
    )
  }

  /** A journal that grows meanwhile gets the rest afterward: else a chat that is busy would begin again and again. */
  #continues(key: string, { seen, end }: Sending, found: Found): boolean {
    if (this.#files.isAppended(key)) return seen.id === found.id && found.size >= end
    return seen.stamp === found.stamp
  }

  #endSending(key: string): void {
    const sending = this.#sending.get(key)
    if (!sending) return
    this.#sending.delete(key)
    closeSync(sending.fd)
  }

  #gone(key: string): Change | null {
    this.#endSending(key)
    if (!this.#known.has(key)) return null
    return { kind: 'gone', key, seen: NOWHERE, bytes: NOTHING, isPartial: false }
  }

  #readFile(key: string, path: string): Change | null {
    const found = seenOf(path, this.#files.isWork(key))
    if (!found) return this.#gone(key)
    if (key.endsWith(FOLDER)) return isEmpty(path) ? this.#readFolder(key, found) : this.#gone(key)
    if (found.isFolder) {
      if (isLink(path)) this.skip(key, 'it is a link to a folder')
      return this.#gone(key)
    }
    const sending = this.#sending.get(key)
    if (sending && this.#continues(key, sending, found)) return this.#next(key, sending, found)
    this.#endSending(key)
    return this.#files.isAppended(key)
      ? this.#readJournal(key, path, found)
      : this.#readOther(key, path, found)
  }

  #readFolder(key: string, { mode, isFolder, size: _, ...seen }: Found): Change | null {
    const before = this.#known.get(key)
    if (!isFolder || before?.stamp === seen.stamp) return null
    const version = (before?.version ?? 0) + 1
    return {
      ...{ kind: 'write', key, seen, at: 0, bytes: NOTHING, version, size: 0, mode },
      ...{ digest: null, isPartial: false },
    }
  }

  #readJournal(key: string, path: string, found: Found): Change | null {
    const before = this.#known.get(key)
    const { id, stamp, size } = found
    const seen = { id, stamp }
    if (before?.id !== id || size < before.size) return this.#begin(key, path, found, null)
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

  #readOther(key: string, path: string, found: Found): Change | null {
    const isWork = this.#files.isWork(key)
    const { id, stamp, size, mode } = found
    if (size > MAX_FILE_BYTES)
      return this.#leave(key, `it is larger than ${MAX_FILE_BYTES >> 20} MB`)
    if (isWork && this.#exceeds(key, size)) return this.#leave(key, WORK_IS_FULL)
    const before = this.#known.get(key)
    const bytes = contentOf(path, mode)
    const digest = this.#sealer.digest(bytes)
    const isSame = before?.digest?.equals(digest) === true && !(isWork && before.mode !== mode)
    if (!isSame && isLinkMode(mode)) {
      const version = (before?.version ?? 0) + 1
      const common = { key, seen: { id, stamp }, at: 0, bytes, version, size, mode, digest }
      return { ...common, kind: 'write', isPartial: false }
    }
    if (!isSame) return this.#begin(key, path, found, digest)
    this.#remember(key, { ...before, id, stamp })
    return null
  }

  /** The database keeps what it has of it. */
  #leave(key: string, why: string): null {
    this.skip(key, why)
    return null
  }

  #begin(key: string, path: string, found: Found, digest: Buffer | null): Change {
    const fd = openFile(path)
    const { size } = fstatSync(fd)
    const end = digest === null ? endOfLines(fd, 0, size) : size
    const version = (this.#known.get(key)?.version ?? 0) + 1
    const seen = { id: found.id, stamp: found.stamp }
    const sending = { fd, seen, at: 0, end, version, digest }
    const first = this.#next(key, sending, found)
    if (first.isPartial) this.#sending.set(key, sending)
    else closeSync(fd)
    return first
  }

  #next(key: string, { fd, seen, at, end, version, digest }: Sending, { mode }: Found): Change {
    const bytes = readAt(fd, at, Math.min(PART_BYTES, end - at))
    const common = { key, seen, at, bytes, version }
    // Cut at the same time: the last piece has what is there, and the next look finds the difference.
    const isLast = bytes.length === 0 || at + bytes.length >= end
    return isLast
      ? { ...common, kind: 'write', size: at + bytes.length, mode, digest, isPartial: false }
      : { ...common, kind: 'part', isPartial: true }
  }
}
