/**
 * The names of files that the cluster keeps no copy of. Those that are here stay on this machine: a takeover must not take them for
 * rests. The next owner says what it lacks, and so does the one after it, which reads a list that follows the cell.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { replaceText } from '../store/atomic-write.ts'
import { readText } from '../store/read-text.ts'

/** Follows the cell. */
export const NOT_COPIED = 'not-copied.json'
/** Of this machine. */
const ONLY_HERE = 'only-here.json'
/** Of names in the list that follows: enough to tell what kind of files they are. */
const MAX_NAMES = 1_000
/** Far more than there can be: names of files, one line each. */
const MAX_BYTES = 256 << 20

const Names = z.object({ files: z.array(z.string()) })

const read = (path: string): string[] => {
  const { text } = readText(path, { maxBytes: MAX_BYTES })
  if (text === null) return []
  try {
    return Names.parse(JSON.parse(text)).files
  } catch {
    // Damaged: nothing is known.
    return []
  }
}

const write = (path: string, files: readonly string[]): void => {
  if (JSON.stringify(files) !== JSON.stringify(read(path)))
    replaceText(path, `${JSON.stringify({ files })}\n`)
}

/** Keys of files, see `CellFiles`. */
export const onlyHere = (stateDir: string): ReadonlySet<string> =>
  new Set(read(join(stateDir, ONLY_HERE)))

/** What the owners before had, and no database. */
export const notCopied = (stateDir: string): string[] => read(join(stateDir, NOT_COPIED))

/** `inherited`: what this machine lacks. */
export const noteLeftOut = (
  stateDir: string,
  { here, inherited }: { here: ReadonlySet<string>; inherited: ReadonlySet<string> },
): void => {
  write(join(stateDir, ONLY_HERE), [...here].toSorted())
  write(join(stateDir, NOT_COPIED), [...here.union(inherited)].slice(0, MAX_NAMES).toSorted())
}
