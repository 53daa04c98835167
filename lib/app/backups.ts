/** Composition: backups that the page asks for. */
import { join } from 'node:path'
import { makeBackup } from '../operations/backups/backup.ts'
import {
  type Backups,
  createBackups,
  NO_SCHEDULE,
  SCHEDULE_ADVICE,
} from '../operations/backups/backups.ts'
import { backupPlaces } from './backup-places.ts'
import type { Composition } from './data.ts'

export type BackupServices = { backups: Backups }

export const composeBackups = (
  { config, data: { homes }, log, clock }: Composition,
  given: { version: string; addon?: string | undefined },
): Backups => {
  const passphrase = config.env.AGENT_WEBUI_BACKUP_PASSPHRASE || null
  const backups = createBackups({
    clock,
    path: join(config.stateDir, 'backups.json'),
    saved: () => backupPlaces(config, homes.list()).places.map(({ dir }) => dir),
    make: (target, signal) =>
      makeBackup({
        ...backupPlaces(config, homes.list()),
        ...given,
        ...{ now: clock.now(), target, passphrase, signal },
      }),
    hasKeys: passphrase !== null,
    suggestedDir: join(config.userHome, 'agent-backups'),
    log,
  })
  if (backups.state().was_scheduled) log.warn(`${NO_SCHEDULE}. ${SCHEDULE_ADVICE}`)
  return backups
}
