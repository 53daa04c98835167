/** `cluster.json` in the state directory: up to which owner its files are those of the database. */
import { join } from 'node:path'
import { z } from 'zod'
import { bootId } from '../store/boot-id.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { readWholeText } from '../store/read-text.ts'

const Note = z.object({
  cell: z.string(),
  /** Of the cell in the database: another one may get the same name later. Missing in notes of before. */
  id: z.string().optional(),
  /** Of the last owner of the cell that was here. */
  epoch: z.number(),
  /** Of that owner. Missing in notes of before. */
  claim: z.string().optional(),
  /** Random; of this directory. */
  directory: z.string(),
  boot: z.string(),
  /** Released in order; otherwise a power failure may have damaged what was not synced. */
  isClean: z.boolean(),
  /** The owner before was on another machine, and nothing was served here since: what it left open may not have been continued. */
  isTakingOver: z.boolean().default(false),
})

const NOTE = 'cluster.json'

export type DirectoryNote = Omit<z.infer<typeof Note>, 'boot' | 'isClean'>

/** With epoch 0 where the files may not be those of the database. */
export const readNote = (stateDir: string): DirectoryNote | null => {
  try {
    const { boot, isClean, ...note } = Note.parse(JSON.parse(readWholeText(join(stateDir, NOTE))))
    return isClean || boot === bootId() ? note : { ...note, epoch: 0 }
  } catch {
    // None, or a damaged one: a directory that was never part of a cluster is treated the same way.
    return null
  }
}

export const writeNote = (stateDir: string, note: Omit<z.infer<typeof Note>, 'boot'>): void =>
  writeAtomic(join(stateDir, NOTE), `${JSON.stringify({ ...note, boot: bootId() })}\n`)
