/** A parsed file that other programs may change: looked at on every use, or when its directory reports a change; read and parsed again only when it differs. */
import {
  changedJustNow,
  lstatNow,
  lstatOnce,
  lstatWatched,
  statNow,
  statOnce,
  statWatched,
} from './file-stats.ts'
import { type FileText, type ReadOptions, readText } from './read-text.ts'

export type { FileText }

/** The stamp of a file that does not exist. */
const MISSING = 'missing'
const NONE: FileText = { text: null, problem: null }

const STATS = {
  always: [lstatNow, statNow],
  once: [lstatOnce, statOnce],
  watched: [lstatWatched, statWatched],
} as const
type Look = (typeof STATS)[keyof typeof STATS]

/** `stamp`: identity, size and times; empty for an inaccessible file, undefined while it changed too recently to be compared. */
const statFile = (
  path: string,
  [lstat, stat]: Look,
): { stamp: string | undefined; inode: string } => {
  try {
    const entry = lstat(path)
    if (!entry) return { stamp: MISSING, inode: '' }
    const stats = entry.isSymbolicLink() ? stat(path) : entry
    // A dangling link.
    if (!stats) return { stamp: '', inode: '' }
    const inode = `${stats.dev}:${stats.ino}`
    if (changedJustNow(stats)) return { stamp: undefined, inode }
    return { stamp: `${inode}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`, inode }
  } catch {
    // Reading the file reports the problem.
    return { stamp: '', inode: '' }
  }
}

export type CachedFileOptions = ReadOptions & {
  /** Report `EMPTIED_PROBLEM` when the file is truncated in place, instead of returning an empty file. */
  retainsWhenEmptied?: boolean
  /**
   * When the file is looked at. `once`: once in an iteration of the event loop, for files that are asked for many times in one;
   * `watched`: when its directory reports a change, and after a second, for those that every request asks for.
   */
  looks?: keyof typeof STATS
}

/**
 * For a file that had content and was truncated in place: another program is writing it, or the disk is full. A new empty
 * file (another inode) is accepted as intended.
 */
const EMPTIED_PROBLEM = 'it was emptied (delete it if this was intended)'

/** `read` returns the parsed file. The same content gives the same object, so derived values can be cached by identity; treat the value as frozen. */
export class CachedFile<T> {
  readonly #path: string
  readonly #parse: (file: FileText) => T
  readonly #options: CachedFileOptions
  #last: { stamp: string | undefined; file: FileText; value: T } | undefined
  /** The inode of the last non-empty content. */
  #nonEmptyInode = ''

  /** `parse` must not throw. */
  constructor(path: string, parse: (file: FileText) => T, options: CachedFileOptions = {}) {
    this.#path = path
    this.#parse = parse
    this.#options = options
  }

  read(): T {
    const last = this.#last
    const { stamp, inode } = statFile(this.#path, STATS[this.#options.looks ?? 'always'])
    if (last && stamp !== undefined && stamp !== '' && stamp === last.stamp) return last.value
    const file = stamp === MISSING ? NONE : this.#readText(inode)
    const same =
      last && last.file.text === file.text && `${last.file.problem}` === `${file.problem}`
    this.#last = { stamp, file, value: same && last ? last.value : this.#parse(file) }
    return this.#last.value
  }

  #readText(inode: string): FileText {
    const file = readText(this.#path, this.#options)
    if (
      this.#options.retainsWhenEmptied &&
      file.text === '' &&
      inode !== '' &&
      inode === this.#nonEmptyInode
    )
      return { text: null, problem: EMPTIED_PROBLEM }
    if (file.problem === null) this.#nonEmptyInode = file.text ? inode : ''
    return file
  }
}
