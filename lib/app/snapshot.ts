/** Composition: a backup of the service's own files before an update, in the state directory, with the keys in place. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeBackup } from '../backups/backup.ts'
import { backupName, expired } from '../backups/retention.ts'
import type { Config } from '../config.ts'
import { makeDir } from '../store/make-dir.ts'
import { backupPlaces } from './backup-places.ts'

const KEPT = 3

export const saveSnapshot = async (
  config: Config,
  given: { now: number; version: string; addon: string | undefined },
): Promise<void> => {
  const dir = join(config.stateDir, 'updates')
  makeDir(dir)
  await makeBackup({
    ...backupPlaces(config, []),
    ...given,
    target: join(dir, backupName(given.now)),
    passphrase: null,
    // It is as private as the files themselves, and in a directory that no backup has.
    isSnapshot: true,
  })
  const names = readdirSync(dir)
  for (const name of expired(names, { daily: KEPT, weekly: 0 })) rmSync(join(dir, name))
}
