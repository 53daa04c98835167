/** Composition: scheduled backups, made by the clock of the tasks and reported like a task that failed. */
import { join } from 'node:path'
import { makeBackup } from '../backups/backup.ts'
import { type Backups, createBackups } from '../backups/backups.ts'
import { nextRun } from '../cron/next-run.ts'
import type { Notifications } from '../notifications/notifications.ts'
import type { BackupSettings } from '../schema/backup.ts'
import { zoneOf } from '../base/time-zone.ts'
import { backupPlaces } from './backup-places.ts'
import type { Composition } from './data.ts'

export type BackupServices = { backups: Backups }

/** As a cron expression. */
const scheduleOf = ({ every, at, weekday }: BackupSettings): string => {
  const [hours, minutes] = at.split(':').map(Number)
  return `${minutes} ${hours} * * ${every === 'week' ? weekday : '*'}`
}

export const composeBackups = (
  { config, data, log, clock }: Composition,
  given: {
    version: string
    addon?: string | undefined
    notifications: Pick<Notifications, 'report'>
  },
): Backups => {
  const { homes } = data
  const passphrase = config.env.AGENT_WEBUI_BACKUP_PASSPHRASE || null
  return createBackups({
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
    nextDue: (settings, from) =>
      nextRun(
        { kind: 'cron', expr: scheduleOf(settings), display: '' },
        { now: from, zone: zoneOf(homes.base.lenient.settings().timezone) },
      ),
    onFailure({ at, error }) {
      given.notifications.report({
        key: `backup:${at}`,
        kind: 'task_failed',
        session_id: null,
        profile: homes.base.name,
        subject: 'backup',
        text: error,
        url: 'settings/backups',
      })
      data.notify('error', `The backup failed: ${error}`, { code: 'backup_failed' })
    },
    log,
  })
}
