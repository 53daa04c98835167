/** A restore of several places cannot put all of them there at once: a note in the state directory says that it has not ended. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { syncDir, writeAtomic } from '../../store/atomic-write.ts'
import { readText } from '../../store/read-text.ts'

const fileOf = (state: string): string => join(state, 'restore.json')

/** `part`: what becomes the state directory; it is the first part that is moved. */
export const noteRestore = (part: string, home: string): void =>
  writeAtomic(fileOf(part), `${JSON.stringify({ home })}\n`)

export const endRestore = (state: string): void => {
  rmSync(fileOf(state), { force: true })
  syncDir(state)
}

/** What to do about a restore that was killed; null when there was none. */
export const unfinishedRestore = (
  state: string,
  home: string,
): { message: string; advice: string } | null =>
  readText(fileOf(state)).text === null
    ? null
    : {
        message: `A restore was interrupted: what is in ${home} and ${state} is not whole`,
        advice: `Empty both directories, then restore again. If nothing is missing, delete ${fileOf(state)} instead.`,
      }
