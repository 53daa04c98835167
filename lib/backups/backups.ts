/** Scheduled backups of the service: settings in a file, a run when one is due or asked for, and deleting what is not kept. */
import { readdirSync, rmSync, statSync } from 'node:fs'
import { isAbsolute, join, normalize } from 'node:path'
import { z } from 'zod'
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import { conflict, invalid, messageOf, missing, UserError } from '../errors.ts'
import { BackupResult, BackupSettings, type BackupState } from '../schema/backup.ts'
import { fileReason } from '../store/file-error.ts'
import { jsonFile } from '../store/json-file.ts'
import { makeDir } from '../store/make-dir.ts'
import { isInside } from '../store/path-within.ts'
import type { Backup } from './backup.ts'
import { backupName, expired, timeOfName } from './retention.ts'

const DEFAULTS: BackupSettings = {
  enabled: false,
  dir: '',
  every: 'day',
  at: '03:00',
  weekday: 0,
  keep_daily: 7,
  keep_weekly: 4,
}

export const BackupsFile = z.object({
  version: z.literal(1).default(1),
  settings: BackupSettings.partial()
    .default({})
    .transform(given => ({ ...DEFAULTS, ...given })),
  /** Milliseconds since 1970: due times before it are not made up for. */
  since: z.number().default(0),
  last: BackupResult.nullable().default(null),
})

export type BackupsOptions = {
  /** backups.json of the state directory. */
  path: string
  /** Directories that are saved, which no backup may be in. */
  saved: () => readonly string[]
  make: (target: string, signal: AbortSignal) => Promise<Backup>
  hasKeys: boolean
  /** A directory outside of what is saved. */
  suggestedDir: string
  /** The first due time after `from`, in milliseconds since 1970. */
  nextDue: (settings: BackupSettings, from: number) => number | null
  /** Called once for each backup that failed. */
  onFailure: (result: BackupResult) => void
  log: { info(text: string): void; warn(text: string): void }
  clock: Clock
}

export type Backups = ReturnType<typeof createBackups>

export const createBackups = (options: BackupsOptions) => {
  const { path, saved, make, hasKeys, suggestedDir, nextDue, onFailure, log, clock } = options
  const file = jsonFile(path, value => BackupsFile.parse(value ?? {}))
  const stopped = new AbortController()
  let running: Promise<void> | null = null

  const filesIn = (dir: string): BackupState['files'] => {
    if (dir === '') return []
    try {
      return readdirSync(dir)
        .flatMap(name => {
          const ms = timeOfName(name)
          const found =
            ms === undefined ? null : statSync(join(dir, name), { throwIfNoEntry: false })
          return ms !== undefined && found?.isFile()
            ? [{ name, size: found.size, at: toSeconds(ms) }]
            : []
        })
        .toSorted((a, b) => b.at - a.at)
    } catch {
      // A disk that is not there at the moment: the next backup fails with that reason.
      return []
    }
  }

  const checkDir = (dir: string): void => {
    if (!isAbsolute(dir))
      throw invalid('Enter the full path of a folder, such as /backups.', {
        code: 'backup_path_relative',
      })
    const place = saved().find(each => isInside(each, dir))
    if (place)
      throw invalid(
        `${dir} is inside ${place}, which is what gets saved. Choose a folder outside of it.`,
        { code: 'backup_inside', values: { folder: dir, place } },
      )
    try {
      makeDir(dir)
    } catch (error) {
      const reason = fileReason(error)
      throw invalid(`${dir} cannot be created: ${reason}`, {
        code: 'folder_not_created',
        values: { folder: dir, reason },
      })
    }
  }

  const dueAt = (): number | null => {
    const { settings, since, last } = file.read()
    if (!settings.enabled) return null
    return nextDue(settings, Math.max(since, fromSeconds(last?.at ?? 0)))
  }

  const removeExpired = ({ dir, keep_daily, keep_weekly }: BackupSettings): void => {
    // One from the future, made while the clock was ahead, neither counts nor goes.
    const names = filesIn(dir)
      .filter(({ at }) => fromSeconds(at) <= clock.now())
      .map(({ name }) => name)
    for (const name of expired(names, { daily: keep_daily, weekly: keep_weekly }))
      rmSync(join(dir, name), { force: true })
  }

  /** Times that a clock that was ahead left: with them, no backup would be due until then. */
  const forgetFuture = (): void => {
    const { since, last, ...others } = file.read()
    const now = clock.now()
    if (Math.max(since, fromSeconds(last?.at ?? 0)) <= now) return
    file.write({ ...others, since: now, last: last && { ...last, at: toSeconds(now) } })
  }

  const perform = async (startedAt: number): Promise<BackupResult> => {
    const { settings } = file.read()
    const at = toSeconds(startedAt)
    const name = backupName(startedAt)
    try {
      checkDir(settings.dir)
      const { problems } = await make(join(settings.dir, name), stopped.signal)
      for (const { path: problem, reason } of problems.slice(0, 20))
        log.warn(`backup: ${problem}: ${reason}`)
      removeExpired(settings)
      return { at, ok: true, name, error: '', problems: problems.length }
    } catch (error) {
      if (!(error instanceof UserError)) log.warn(`backup: ${messageOf(error)}`)
      const known = error instanceof UserError && { code: error.code, values: error.extra.values }
      return BackupResult.parse({
        ...{ at, ok: false, name: null, error: messageOf(error), problems: 0 },
        ...known,
      })
    }
  }

  const run = (): void => {
    const startedAt = clock.now()
    running = perform(startedAt)
      .then(last => {
        // The service ends, which is no failure: the backup is made at the next start.
        if (stopped.signal.aborted) return
        file.write({ ...file.read(), last })
        if (last.ok) log.info(`backup: ${last.name}`)
        else onFailure(last)
      })
      .catch((error: unknown) => log.warn(`backup: ${messageOf(error)}`))
      .finally(() => {
        running = null
      })
  }

  const state = (): BackupState => {
    const { settings, last } = file.read()
    const next = dueAt()
    return {
      settings,
      running: running !== null,
      last,
      next_at: next === null ? null : toSeconds(next),
      has_keys: hasKeys,
      files: filesIn(settings.dir),
      suggested_dir: suggestedDir,
    }
  }

  return {
    state,
    /** Throws a UserError for a directory that cannot be used. */
    save(patch: Partial<BackupSettings>): BackupState {
      const current = file.read()
      const settings = { ...current.settings, ...patch }
      if (patch.dir !== undefined) settings.dir = normalize(patch.dir.trim())
      if (settings.enabled || patch.dir !== undefined) checkDir(settings.dir)
      file.write({ ...current, settings, since: clock.now() })
      return state()
    },
    /** Starts a backup now, whether or not backups are scheduled. */
    start(): BackupState {
      if (running) throw conflict('A backup is being made.', { code: 'backup_running' })
      checkDir(file.read().settings.dir)
      run()
      return state()
    },
    /** The path of a backup by its name. */
    pathOf(name: string): string {
      const { dir } = file.read().settings
      if (!filesIn(dir).some(each => each.name === name))
        throw missing('There is no such backup.', { code: 'backup_not_found' })
      return join(dir, name)
    },
    isRunning: () => running !== null,
    /** When the next one is due, in milliseconds since 1970; null when none is scheduled. */
    dueAt,
    /** Called every minute: starts a backup that is due. */
    tick(): void {
      forgetFuture()
      const due = dueAt()
      if (!running && due !== null && due <= clock.now()) run()
    },
    /** Resolves when no backup is being made. */
    idle: async (): Promise<void> => {
      await running
    },
    async close(): Promise<void> {
      stopped.abort()
      await running
    },
  }
}
