/** What of the local files the database has: the difference is what is sent next. */
import { closeSync, fstatSync, lstatSync, readdirSync, readSync, statSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { messageOf } from '../errors.ts'
import { errorCode } from '../store/file-error.ts'
import { openFile, readWhole } from '../store/read-text.ts'
import type { Sealer } from './seal.ts'
import { type CellFiles, FOLDER } from './cluster.ts'

/** `id`: which file it was, so that one that replaced it is not taken for a longer one. `stamp`: its state. */
type Seen = { id: string; stamp: string }
/** `version`: of the content that the database has; 0 for none. */
type Known = Seen & { size: number; digest: Buffer | null; version: number }

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
const LF = 10
/** Files that are looked at without a pause. */
const SLICE = 200

const NOWHERE: Seen = { id: '', stamp: '' }
const NOTHING = Buffer.alloc(0)

type Found = Seen & { size: number; mode: number; isFolder: boolean }

/** The inode alone is not enough: its number is used again. The state of a folder is whether it is empty. */
const seenOf = (path: string): Found | null => {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  const isFolder = stat?.isDirectory() === true
  if (!stat || !(isFolder || stat.isFile())) return null
  const id = `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`
  const size = isFolder ? 0 : Number(stat.size)
  const stamp = isFolder ? id : `${id}:${size}:${stat.mtimeNs}`
  return { id, stamp, size, mode: Number(stat.mode) & 0o777, isFolder }
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
  readonly #known = new Map<string, Known>()
  readonly #sending = new Map<string, Sending>()
  readonly #skipped = new Set<string>()

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
  read(key: string): Change | null {
    const path = this.#files.pathOf(key)
    if (path === null || this.#skipped.has(key)) return null
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
    if (change.kind === 'gone') this.#known.delete(key)
    else if (change.kind === 'part') {
      const sending = this.#sending.get(key)
      if (sending) sending.at = change.at + change.bytes.length
    } else {
      this.#endSending(key)
      const { version } = change
      const size = change.kind === 'append' ? change.at + change.bytes.length : change.size
      const digest = change.kind === 'append' ? null : change.digest
      this.#known.set(key, { ...seen, size, digest, version })
    }
  }

  /** The database has this file with the local content; `isSame` is false where only its name is known to be there. */
  load(
    key: string,
    { size, digest, version }: { size: number; digest: Buffer | null; version: number },
    isSame: boolean,
  ): void {
    const path = this.#files.pathOf(key)
    const found = path === null ? null : seenOf(path)
    const seen = isSame && found ? { id: found.id, stamp: found.stamp } : NOWHERE
    this.#known.set(key, { ...seen, size, version, digest: isSame ? digest : null })
  }

  /** Nothing is known of what the database has: it is loaded again. */
  forget(): void {
    for (const key of [...this.#sending.keys()]) this.#endSending(key)
    this.#known.clear()
  }

  /** The next difference of this file is its whole content. */
  distrust(key: string): void {
    this.#endSending(key)
    const before = this.#known.get(key)
    if (before) this.#known.set(key, { ...before, ...NOWHERE, digest: null })
  }

  /** This file stays here only; the others continue. */
  skip(key: string, why: string): void {
    this.#endSending(key)
    if (!this.#skipped.has(key)) this.#warn(`The cluster keeps no copy of ${key}: ${why}`)
    this.#skipped.add(key)
  }

  /** The files and empty folders at or below a path that was reported: a directory may have been removed. */
  expand(key: string): string[] {
    if (this.#known.has(key) || key.endsWith(FOLDER)) return [key]
    const path = this.#files.pathOf(key)
    const found = path === null ? null : seenOf(path)
    if (path && found && (!found.isFolder || isLink(path))) return [key]
    const below = [...this.#known.keys()].filter(each => each.startsWith(`${key}/`))
    if (!path || !found) return below
    const names = namesBelow(path).flatMap(name => [`${key}/${name}`, `${key}/${name}${FOLDER}`])
    return [...new Set([...below, ...names, key + FOLDER])]
  }

  /** Files that differ from what was seen last: other programs change them too. */
  async changed(): Promise<string[]> {
    const now = await this.#files.list()
    const present = new Set(now)
    const gone = [...this.#known.keys()].filter(key => !present.has(key))
    const different: string[] = []
    for (const [at, key] of now.entries()) {
      // Thousands of files must not delay what streams.
      if (at % SLICE === SLICE - 1) await setImmediate()
      const path = this.#files.pathOf(key)
      if (path === null || this.#skipped.has(key)) continue
      if (seenOf(path)?.stamp !== this.#known.get(key)?.stamp) different.push(key)
    }
    return [...gone, ...different]
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
    const found = seenOf(path)
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
      this.#known.set(key, { ...before, ...seen })
      return null
    } finally {
      closeSync(fd)
    }
  }

  #readOther(key: string, path: string, found: Found): Change | null {
    if (found.size > MAX_FILE_BYTES) {
      this.skip(key, `it is larger than ${MAX_FILE_BYTES >> 20} MB`)
      return null
    }
    const before = this.#known.get(key)
    const digest = this.#sealer.digest(readWhole(path))
    if (!before?.digest?.equals(digest)) return this.#begin(key, path, found, digest)
    this.#known.set(key, { ...before, id: found.id, stamp: found.stamp })
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
