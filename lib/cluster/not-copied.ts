/** The names of files that the cluster keeps no copy of, in a file that it does keep a copy of: the next owner says what is not there. */
import { join } from 'node:path'
import { z } from 'zod'
import { replaceText } from '../store/atomic-write.ts'
import { readText } from '../store/read-text.ts'

export const NOT_COPIED = 'not-copied.json'
/** Of names in the file: enough to tell what kind of files they are. */
const MAX_NAMES = 1_000

const NotCopied = z.object({ files: z.array(z.string()) })

/** Keys of files, see `CellFiles`. */
export const leftOut = (stateDir: string): string[] => {
  const { text } = readText(join(stateDir, NOT_COPIED))
  if (text === null) return []
  try {
    return NotCopied.parse(JSON.parse(text)).files
  } catch {
    // Damaged: nothing is known.
    return []
  }
}

export const noteLeftOut = (stateDir: string, keys: readonly string[]): void => {
  const files = keys.slice(0, MAX_NAMES).toSorted()
  if (JSON.stringify(files) !== JSON.stringify(leftOut(stateDir)))
    replaceText(join(stateDir, NOT_COPIED), `${JSON.stringify({ files })}\n`)
}
