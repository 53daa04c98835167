/** Puts new text in place of a file that a person or another program may own as well. */
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { diskFull } from '../errors.ts'
import { writeAtomic } from './atomic-write.ts'
import { realPath } from './path-within.ts'
import { makeDir } from './make-dir.ts'

const FULL: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ENOSPC: 'The disk is full',
    EDQUOT: 'The disk quota is used up',
    EROFS: 'The disk is read-only',
  }),
)

/** Private until somebody says otherwise. */
const modeOf = (path: string): number =>
  (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600) & 0o777

/** Atomic; keeps a symlink and an existing file's mode, makes missing folders, refuses with a sentence on a full disk. */
export const replaceText = (
  path: string,
  text: string | Buffer,
  /** Whatever the file's own mode was. */
  { mode: forced }: { mode?: number } = {},
): void => {
  try {
    // People keep config.yaml in a repository and link it.
    const target = realPath(path)
    const mode = forced ?? modeOf(target)
    makeDir(dirname(target))
    writeAtomic(target, text, { mode })
  } catch (error) {
    // A disk that takes nothing more is the person's to mend; every other failure goes up as it is.
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const sentence = FULL.get(code)
    if (sentence) throw diskFull(`${sentence}; nothing was changed in ${dirname(path)}.`)
    throw error
  }
}
