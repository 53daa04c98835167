/** A parsed file that other programs may change: looked at on every use, or when its directory reports a change; read and parsed again only when it differs. */
import { changedJustNow, lstatNow, lstatWatched, statNow, statWatched } from './file-stats.ts'
import { type FileText, type ReadOptions, readText } from './read-text.ts'

export type { FileText }

/** The stamp of a file that does not exist. */
const MISSING = 'missing'
const NONE: FileText = { text: null, problem: null }

const STATS = { now: [lstatNow, statNow], watched: [lstatWatched, statWatched] } as const
type Look = (typeof STATS)[keyof typeof STATS]

/** `stamp`: identity, size and times; empty for an inaccessible file, undefined while it changed too recently to be compared. */
const statFile = (
  path: string,
  [lstat, stat]: Look,
): { stamp: string | undefined; inode: string } => {
  try {
    const entry = lstat(path)
    if (!entry) return { stamp: MISSING, inode: '' }
    const found = entry.isSymbolicLink() ? stat(path) : entry
    // A dangling link.
    if (!found) return { stamp: '', inode: '' }
    const inode = `${found.dev}:${found.ino}`
    if (changedJustNow(found)) return { stamp: undefined, inode }
    return { stamp: `${inode}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`, inode }
  } catch {
    // Reading the file reports the problem.
    return { stamp: '', inode: '' }
  }
}

export type CachedFileOptions = ReadOptions & {
  /** Report `EMPTIED_PROBLEM` when the file is truncated in place, instead of returning an empty file. */
  retainsWhenEmptied?: boolean
  /** Look at the file only when its directory reports a change, and after a second: for files that every request asks for. */
  isWatched?: boolean
}

/**
 * For a file that had content and was truncated in place: another program is writing it, or the disk is full. A new empty
 * file (another inode) is accepted as intended.
 */
const EMPTIED_PROBLEM = 'it was emptied (delete it if this was intended)'

/**
 * Returns a function that returns the parsed file. The same content gives the same object, so derived values can be cached
 * by identity; treat the value as frozen. `parse` must not throw.
 */
export const cachedFile = <T>(
  path: string,
  parse: (file: FileText) => T,
  { retainsWhenEmptied = false, isWatched = false, ...options }: CachedFileOptions = {},
): (() => T) => {
  let last: { stamp: string | undefined; file: FileText; value: T } | undefined
  const look = isWatched ? STATS.watched : STATS.now
  /** The inode of the last non-empty content. */
  let nonEmptyInode = ''
  const read = (inode: string): FileText => {
    const file = readText(path, options)
    if (retainsWhenEmptied && file.text === '' && inode !== '' && inode === nonEmptyInode)
      return { text: null, problem: EMPTIED_PROBLEM }
    if (file.problem === null) nonEmptyInode = file.text ? inode : ''
    return file
  }
  return () => {
    const { stamp, inode } = statFile(path, look)
    if (last && stamp !== undefined && stamp !== '' && stamp === last.stamp) return last.value
    const file = stamp === MISSING ? NONE : read(inode)
    const same =
      last && last.file.text === file.text && `${last.file.problem}` === `${file.problem}`
    last = { stamp, file, value: same && last ? last.value : parse(file) }
    return last.value
  }
}
