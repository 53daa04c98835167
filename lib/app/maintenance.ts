/** Jobs that run beside the requests: watching shared files, emptying the trash, recovering checkpoints. */
import { every } from '../base/clock.ts'
import { SettingChanges } from '../commands/guards/setting-changes.ts'
import { FileProblems } from '../operations/file-problems.ts'
import type { Home } from '../profiles/home.ts'
import type { App } from './app.ts'
import { knownFiles } from './known-files.ts'

const SWEEP_TRASH_MS = 60 * 60_000

export class Maintenance {
  readonly fileProblems: FileProblems
  readonly settingChanges: SettingChanges
  readonly #app: App
  #stopSweeps = (): void => undefined

  constructor(app: App) {
    const { config, log, clock, homes, workspaces, cron } = app
    this.#app = app
    const sources = {
      homes,
      workspaces,
      own: knownFiles(config.stateDir).filter(({ isReplaced }) => !isReplaced),
      jobsOf: (home: Home) => cron.of(home).jobs,
    }
    this.fileProblems = new FileProblems(sources, log.warn, app.notify, clock)
    // Whoever looks at the log right after the start finds them there.
    this.fileProblems.list()
    this.settingChanges = new SettingChanges({
      homes: () => homes.list(),
      accepted: app.acceptedSettings,
      clock,
      warn: log.warn,
      notify: app.notify,
      record: detail => app.audit.note('settings', { address: '', device: '', detail }),
    })
  }

  start(): void {
    const { log, clock, homes, checkpoints, turns } = this.#app
    this.#stopSweeps = every(clock, SWEEP_TRASH_MS, () => this.#sweep())
    void this.#sweep()
    // Checkpoints that a killed process did not finish.
    void checkpoints
      .recover(homes.list(), id => turns.isStreaming(id))
      .catch((error: unknown) => log.error('checkpoints', error))
  }

  close(): void {
    this.#stopSweeps()
    this.fileProblems.close()
    this.settingChanges.close()
  }

  async #sweep(): Promise<void> {
    const { checkpoints, files, homes, log, promptCache, sessions, toolOutput } = this.#app
    const exists = (id: string) => sessions.row(id) !== undefined || sessions.inTrash(id)
    try {
      await Promise.all([sessions.sweepTrash(), files.trash.sweep()])
      toolOutput.sweep(exists)
      await checkpoints.sweep(homes.list(), exists)
      await promptCache.sweep()
    } catch (error) {
      log.error('emptying the trash', error)
    }
  }
}
