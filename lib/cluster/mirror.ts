/** What of the local files the database has: the difference is what is sent next. */
import { closeSync, fstatSync, readdirSync, readSync, statSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { messageOf } from '../errors.ts'
import { errorCode } from '../store/file-error.ts'
import { openFile, readWhole } from '../store/read-text.ts'
import type { Seal } from './seal.ts'
import type { CellFiles } from './types.ts'

/** `id`: which file it was, so that one that replaced it is not taken for a longer one. `stamp`: its state. */
type Seen = { id: string; stamp: string }
type Known = Seen & { size: number; digest: Buffer | null }

export type Change = { key: string; seen: Seen } & (
  | { kind: 'append'; at: number; bytes: Buffer; isPartial: boolean }
  | { kind: 'write'; bytes: Buffer; mode: number; digest: Buffer | null; isPartial: boolean }
  | { kind: 'gone' }
)

/** Of an appended file in one statement. */
const PART_BYTES = 8 << 20
/** A replaced file enters the database in one piece. */
const MAX_FILE_BYTES = 32 << 20
const LF = 10
/** Files that are looked at without a pause. */
const SLICE = 200

const NOWHERE: Seen = { id: '', stamp: '' }

/** The inode alone is not enough: its number is used again. */
const seenOf = (path: string) => {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (!stat?.isFile()) return null
  const id = `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`
  const size = Number(stat.size)
  return { id, stamp: `${id}:${size}:${stat.mtimeNs}`, size, mode: Number(stat.mode) & 0o777 }
}

/** Whole lines from `at`: a torn last line was never acknowledged. One longer than the limit is read in one piece. */
const readLinesFrom = (path: string, at: number): { bytes: Buffer; isPartial: boolean } => {
  const fd = openFile(path)
  try {
    const { size } = fstatSync(fd)
    const read = (length: number): Buffer => {
      const bytes = Buffer.allocUnsafe(Math.max(0, length))
      let got = 0
      while (got < bytes.length) {
        const count = readSync(fd, bytes, got, bytes.length - got, at + got)
        if (count === 0) break
        got += count
      }
      return bytes.subarray(0, bytes.lastIndexOf(LF, got - 1) + 1)
    }
    const part = read(Math.min(PART_BYTES, size - at))
    const bytes = part.length > 0 ? part : read(size - at)
    return { bytes, isPartial: bytes.length > 0 && at + bytes.length < size }
  } finally {
    closeSync(fd)
  }
}

const namesBelow = (dir: string): string[] => {
  try {
    return readdirSync(dir, { recursive: true, encoding: 'utf8' })
  } catch {
    // It was removed at the same time, which is reported too, or cannot be entered.
    return []
  }
}

export class Mirror {
  readonly #files: CellFiles
  readonly #sealer: Seal
  readonly #warn: (text: string) => void
  readonly #known = new Map<string, Known>()
  readonly #skipped = new Set<string>()

  constructor(files: CellFiles, { sealer, warn }: { sealer: Seal; warn: (text: string) => void }) {
    this.#files = files
    this.#sealer = sealer
    this.#warn = warn
  }

  /** The next difference of a file; null when there is none. */
  read(key: string): Change | null {
    const path = this.#files.pathOf(key)
    if (path === null) return null
    try {
      return this.#readFile(key, path)
    } catch (error) {
      // It vanished between two calls, which the next one reports.
      if (errorCode(error) === 'ENOENT') return this.read(key)
      return this.#skip(key, messageOf(error))
    }
  }

  /** The database has this change. */
  applied(change: Change): void {
    const { key, seen } = change
    if (change.kind === 'gone') this.#known.delete(key)
    else if (change.kind === 'append') {
      const digest = null
      this.#known.set(key, { ...seen, size: change.at + change.bytes.length, digest })
    } else this.#known.set(key, { ...seen, size: change.bytes.length, digest: change.digest })
  }

  /** The database has this file with the local content; `isSame` is false where only its name is known to be there. */
  load(
    key: string,
    { size, digest }: { size: number; digest: Buffer | null },
    isSame: boolean,
  ): void {
    const path = this.#files.pathOf(key)
    const found = path === null ? null : seenOf(path)
    const seen = isSame && found ? { id: found.id, stamp: found.stamp } : NOWHERE
    this.#known.set(key, { ...seen, size, digest: isSame ? digest : null })
  }

  /** The next difference of this file is its whole content. */
  distrust(key: string): void {
    const before = this.#known.get(key)
    if (before) this.#known.set(key, { ...before, ...NOWHERE, digest: null })
  }

  /** The files at or below a path that was reported: a directory may have been removed. */
  expand(key: string): string[] {
    if (this.#known.has(key)) return [key]
    const path = this.#files.pathOf(key)
    const found = path === null ? undefined : statSync(path, { throwIfNoEntry: false })
    if (found?.isFile()) return [key]
    const below = [...this.#known.keys()].filter(each => each.startsWith(`${key}/`))
    if (!path || !found?.isDirectory()) return below
    return [...new Set([...below, ...namesBelow(path).map(name => `${key}/${name}`)])]
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

  #skip(key: string, why: string): null {
    if (!this.#skipped.has(key)) this.#warn(`The cluster keeps no copy of ${key}: ${why}`)
    this.#skipped.add(key)
    return null
  }

  #readFile(key: string, path: string): Change | null {
    const found = seenOf(path)
    const before = this.#known.get(key)
    if (!found) return before ? { kind: 'gone', key, seen: NOWHERE } : null
    const { size, mode, ...seen } = found
    if (this.#files.isAppended(key)) {
      const isLonger = before?.id === seen.id && size >= before.size
      const at = isLonger ? before.size : 0
      const { bytes, isPartial } = readLinesFrom(path, at)
      if (!isLonger) return { kind: 'write', key, seen, bytes, mode, digest: null, isPartial }
      if (bytes.length === 0) {
        this.#known.set(key, { ...before, ...seen })
        return null
      }
      return { kind: 'append', key, seen, at, bytes, isPartial }
    }
    if (size > MAX_FILE_BYTES) return this.#skip(key, 'it is larger than 32 MB')
    const bytes = readWhole(path)
    const digest = this.#sealer.digest(bytes)
    if (before?.digest?.equals(digest)) {
      this.#known.set(key, { ...before, ...seen })
      return null
    }
    return { kind: 'write', key, seen, bytes, mode, digest, isPartial: false }
  }
}
