/** `cluster.json` in the state directory: up to which owner its files are those of the database. */
import { join } from 'node:path'
import { z } from 'zod'
import { bootId } from '../store/boot-id.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { readWholeText } from '../store/read-text.ts'

const Note = z.object({
  cell: z.string(),
  /** Of the last owner of the cell that was here. */
  epoch: z.number(),
  /** Random; of this directory. */
  directory: z.string(),
  boot: z.string(),
  /** Released in order; otherwise a power failure may have damaged what was not synced. */
  isClean: z.boolean(),
  /** The owner before was on another machine, and nothing was served here since: what it left open may not have been continued. */
  isTakingOver: z.boolean().default(false),
})

const NOTE = 'cluster.json'

/** 0: the files may not be those of the database. */
export const readNote = (
  stateDir: string,
): { cell: string; epoch: number; directory: string; isTakingOver: boolean } | null => {
  try {
    const note = Note.parse(JSON.parse(readWholeText(join(stateDir, NOTE))))
    const isTrusted = note.isClean || note.boot === bootId()
    const { cell, directory, isTakingOver } = note
    return { cell, directory, isTakingOver, epoch: isTrusted ? note.epoch : 0 }
  } catch {
    // None, or a damaged one: a directory that was never part of a cluster is treated the same way.
    return null
  }
}

export const writeNote = (stateDir: string, note: Omit<z.infer<typeof Note>, 'boot'>): void =>
  writeAtomic(join(stateDir, NOTE), `${JSON.stringify({ ...note, boot: bootId() })}\n`)
