/** Replaces the program file by a new version with a way back: the old file stays beside it until the new one has answered. */
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { UpdateOutcome } from '../schema/update.ts'
import { syncDir, writeAtomic } from '../store/atomic-write.ts'
import { readWholeText } from '../store/read-text.ts'

/** What the watching process must know. Written before the file is replaced. */
export const SwitchRecord = z.object({
  version: z.literal(1),
  /** The file that is replaced, and the copy of what it was. */
  program: z.string(),
  previous: z.string(),
  /** How the program was started. */
  command: z.string(),
  args: z.array(z.string()),
  cwd: z.string(),
  /** Where it answers, such as `http://127.0.0.1:8787`. */
  address: z.string(),
  pid: z.number(),
  /** A supervisor starts it again when it ends. */
  supervised: z.boolean(),
  from: z.string(),
  to: z.string(),
  /** The checkout that it was built from, and the commit to go back to. */
  checkout: z.object({ dir: z.string(), commit: z.string() }).nullable(),
  state_dir: z.string(),
})
export type SwitchRecord = z.infer<typeof SwitchRecord>

const directoryOf = (stateDir: string): string => join(stateDir, 'updates')
const recordPath = (stateDir: string): string => join(directoryOf(stateDir), 'switch.json')
const outcomePath = (stateDir: string): string => join(directoryOf(stateDir), 'last.json')

const previousOf = (program: string): string =>
  program.endsWith('.mjs') ? program.replace(/\.mjs$/, '.previous.mjs') : `${program}.previous`

/** Why the file cannot be replaced; null when it can. */
export const whyNotReplaceable = (program: string): string | null => {
  try {
    accessSync(dirname(program), constants.W_OK)
    accessSync(program, constants.R_OK)
    return null
  } catch {
    return `This user may not write to ${dirname(program)}. Update it the way it was installed.`
  }
}

/** Keeps a copy of the program. Must be called before anything changes it. */
export const keepPrevious = (program: string): string => {
  const previous = previousOf(program)
  const unfinished = `${previous}.tmp`
  try {
    copyFileSync(program, unfinished, constants.COPYFILE_FICLONE)
    chmodSync(unfinished, statSync(program).mode & 0o777)
    renameSync(unfinished, previous)
    return previous
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
}

export const writeRecord = (record: SwitchRecord): string => {
  const path = recordPath(record.state_dir)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeAtomic(path, `${JSON.stringify(record)}\n`)
  return path
}

export const readRecord = (path: string): SwitchRecord =>
  SwitchRecord.parse(JSON.parse(readWholeText(path)))

/** Puts the new file in place, in one step. */
export const putInPlace = (next: string, program: string): void => {
  renameSync(next, program)
  syncDir(dirname(program))
}

/** Puts the old file back; the new one stays beside it as `.failed`, for people who want to know why. */
export const putBack = ({ program, previous }: SwitchRecord): void => {
  const failed = `${program}.failed`
  rmSync(failed, { force: true })
  if (existsSync(program)) linkSync(program, failed)
  renameSync(previous, program)
  syncDir(dirname(program))
}

/** Ends the switch: the record is removed last, so that a watcher that was killed is noticed. */
export const finishSwitch = (record: SwitchRecord, outcome: UpdateOutcome): void => {
  writeAtomic(outcomePath(record.state_dir), `${JSON.stringify(outcome)}\n`)
  if (outcome.ok) rmSync(record.previous, { force: true })
  rmSync(recordPath(record.state_dir), { force: true })
}

/** How the last update ended; null when there was none, or its file is damaged. */
export const lastOutcome = (stateDir: string): UpdateOutcome | null => {
  try {
    return UpdateOutcome.parse(JSON.parse(readWholeText(outcomePath(stateDir))))
  } catch {
    // No update yet.
    return null
  }
}
