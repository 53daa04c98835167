/** A parsed file that other programs may change: stat'ed at every use, read and parsed again only when it differs. */
import { statSync } from 'node:fs'
import { type FileText, type ReadOptions, readText } from './read-text.ts'

export type { FileText }

/** File times advance in ticks: a file this young may change again and keep its time and size. */
const TICK_MS = 50

/** `stamp`: identity, size and times; empty for a file that cannot be reached, undefined while it is too young to be trusted. */
const statFile = (path: string): { stamp: string | undefined; inode: string } => {
  try {
    const found = statSync(path, { bigint: true })
    const inode = `${found.dev}:${found.ino}`
    const ageMs = Math.abs(Date.now() - Number(found.mtimeMs))
    if (ageMs <= TICK_MS) return { stamp: undefined, inode }
    return { stamp: `${inode}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`, inode }
  } catch {
    // Reading it will say what is wrong.
    return { stamp: '', inode: '' }
  }
}

export type CachedFileOptions = ReadOptions & {
  /** Emptied where it stands it is a problem, see `EMPTIED`: for what must not be lost by a moment's look. */
  retainsWhenEmptied?: boolean
}

/**
 * A file that held something and was emptied where it stands: a program in the middle of writing, or a full disk. A new
 * empty file in its place is meant.
 */
export const EMPTIED_PROBLEM = 'it was emptied (remove it if that is meant)'

/**
 * Returns a function giving the parsed file. The same content gives the same object, so whoever derives something
 * from it may compare identities; treat the value as frozen. `parse` must not throw.
 */
export const cachedFile = <T>(
  path: string,
  parse: (file: FileText) => T,
  { retainsWhenEmptied = false, ...options }: CachedFileOptions = {},
): (() => T) => {
  let last: { stamp: string | undefined; file: FileText; value: T } | undefined
  /** Where the last content stood. */
  let nonEmptyInode = ''
  const read = (inode: string): FileText => {
    const file = readText(path, options)
    if (retainsWhenEmptied && file.text === '' && inode !== '' && inode === nonEmptyInode)
      return { text: null, problem: EMPTIED_PROBLEM }
    if (file.problem === null) nonEmptyInode = file.text ? inode : ''
    return file
  }
  return () => {
    const { stamp, inode } = statFile(path)
    if (last && stamp !== undefined && stamp !== '' && stamp === last.stamp) return last.value
    const file = read(inode)
    const same = last && last.file.text === file.text && last.file.problem === file.problem
    last = { stamp, file, value: same && last ? last.value : parse(file) }
    return last.value
  }
}
