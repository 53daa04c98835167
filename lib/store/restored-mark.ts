/** A state directory that was restored from a backup and has not been used since: what ran when it was saved must not go on. */
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const pathIn = (stateDir: string): string => join(stateDir, 'instance.restored')

export const markRestored = (stateDir: string): void =>
  writeFileSync(pathIn(stateDir), '', { mode: 0o600 })

export const isRestored = (stateDir: string): boolean =>
  statSync(pathIn(stateDir), { throwIfNoEntry: false }) !== undefined

/** Call it when the turns of the backup have been closed. */
export const clearRestored = (stateDir: string): void => rmSync(pathIn(stateDir), { force: true })
