/** Composition: jobs that run beside the requests: watching shared files, emptying the trash, recovering checkpoints. */
import { every } from '../base/clock.ts'
import type { Cron } from '../cron/cron.ts'
import type { Turns } from '../turns/turns.ts'
import {
  createFileCheck,
  type FileProblems,
  watchFileProblems,
} from '../operations/file-problems.ts'
import { type SettingChanges, watchSettingChanges } from '../commands/guards/setting-changes.ts'
import { redact } from '../base/redact/redact.ts'
import type { Composition } from './data.ts'
import { knownFiles } from './known-files.ts'
import type { WorkspaceServices } from './workspaces.ts'

const SWEEP_TRASH_MS = 60 * 60_000

export type Maintenance = {
  fileProblems: FileProblems
  settingChanges: SettingChanges
  close: () => void
}

export const startMaintenance = (
  { config, log, clock, data }: Composition,
  {
    files,
    checkpoints,
    cron,
    turns,
  }: Pick<WorkspaceServices, 'files' | 'checkpoints'> & {
    cron: Cron
    turns: Pick<Turns, 'isStreaming'>
  },
): Maintenance => {
  const { homes, promptCache, sessions, toolOutput, workspaces } = data
  const fileProblems = watchFileProblems({
    clock,
    check: createFileCheck({
      ...{ homes, workspaces },
      own: knownFiles(config.stateDir).filter(({ isReplaced }) => !isReplaced),
      jobsOf: home => cron.of(home).jobs,
    }),
    log: log.warn,
    notify: data.notify,
  })
  // Whoever looks at the log right after the start finds them there.
  fileProblems.list()
  const settingChanges = watchSettingChanges({
    homes: homes.list,
    accepted: data.acceptedSettings,
    redact,
    clock,
    warn: log.warn,
    notify: data.notify,
    record: detail => data.audit.note('settings', { address: '', device: '', detail }),
  })

  const exists = (id: string) => sessions.row(id) !== undefined || sessions.inTrash(id)
  const sweep = () =>
    Promise.all([sessions.sweepTrash(), files.trash.sweep()])
      .then(() => {
        toolOutput.sweep(exists)
        return checkpoints.sweep(homes.list(), exists)
      })
      .then(() => promptCache.sweep())
      .catch((error: unknown) => log.error('emptying the trash', error))
  const stopSweeps = every(clock, SWEEP_TRASH_MS, sweep)
  void sweep()

  // Checkpoints that a killed process did not finish.
  void checkpoints
    .recover(homes.list(), turns.isStreaming)
    .catch((error: unknown) => log.error('checkpoints', error))

  return {
    fileProblems,
    settingChanges,
    close(): void {
      stopSweeps()
      fileProblems.close()
      settingChanges.close()
    },
  }
}
