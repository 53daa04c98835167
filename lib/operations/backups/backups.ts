/** Backups that the page asks for: the folder, the last result, and the files. A timer of the system calls `agent-webui backup` instead. */
import { readdirSync, statSync } from 'node:fs'
import { isAbsolute, join, normalize } from 'node:path'
import { z } from 'zod'
import { type Clock, toSeconds } from '../../base/clock.ts'
import { conflict, invalid, messageOf, missing, UserError } from '../../errors.ts'
import { BackupResult, type BackupSettings, type BackupState } from '../../schema/backup.ts'
import { fileReason } from '../../store/file-error.ts'
import { JsonFile } from '../../store/json-file.ts'
import { makeDir } from '../../store/make-dir.ts'
import { isInside } from '../../store/path-within.ts'
import type { Backup } from './backup.ts'

const NAME = /^agent-webui-(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2})Z\.tar\.zst$/

/** `agent-webui-2026-11-23T03-00-00Z.tar.zst`, in UTC so that names sort by time. */
const backupName = (ms: number): string =>
  `agent-webui-${new Date(ms).toISOString().slice(0, 19).replaceAll(':', '-')}Z.tar.zst`

/** Milliseconds since 1970; undefined for any other file. */
const timeOfName = (name: string): number | undefined => {
  const [, day, hours, minutes, seconds] = NAME.exec(name) ?? []
  const ms = day === undefined ? Number.NaN : Date.parse(`${day}T${hours}:${minutes}:${seconds}Z`)
  return Number.isNaN(ms) ? undefined : ms
}

export const NO_SCHEDULE = 'Backups are no longer made on a schedule'
export const SCHEDULE_ADVICE =
  'Let a timer of the system make them: see "On a schedule" in docs/backup.md. Then choose the folder under Settings → System again.'

export const BackupsFile = z.object({
  version: z.literal(1).default(1),
  settings: z
    .object({
      dir: z.string().default(''),
      /** Of versions that made backups on a schedule. */
      enabled: z.boolean().optional(),
    })
    .default({ dir: '' }),
  last: BackupResult.nullable().default(null),
})

export class Backups {
  readonly #options
  readonly #file
  readonly #stopped = new AbortController()
  #running: Promise<void> | null = null

  constructor(options: {
    /** backups.json of the state directory. */
    path: string
    /** Directories that are saved, which no backup may be in. */
    sources: () => readonly string[]
    make: (target: string, signal: AbortSignal) => Promise<Backup>
    hasKeys: boolean
    /** A directory outside of what is saved. */
    suggestedDir: string
    log: { info(text: string): void; warn(text: string): void }
    clock: Clock
  }) {
    this.#options = options
    this.#file = new JsonFile(options.path, value => BackupsFile.parse(value ?? {}))
  }

  state(): BackupState {
    const { settings, last } = this.#file.read()
    return {
      settings: { dir: settings.dir },
      was_scheduled: settings.enabled === true,
      running: this.#running !== null,
      last,
      has_keys: this.#options.hasKeys,
      files: this.#filesIn(settings.dir),
      suggested_dir: this.#options.suggestedDir,
    }
  }

  /** Throws a UserError for a directory that cannot be used. */
  save(input: BackupSettings): BackupState {
    const dir = normalize(input.dir.trim())
    this.#checkDir(dir)
    this.#file.write({ ...this.#file.read(), settings: { dir } })
    return this.state()
  }

  start(): BackupState {
    if (this.#running) throw conflict('A backup is being made.', { code: 'backup_running' })
    this.#checkDir(this.#file.read().settings.dir)
    this.#run()
    return this.state()
  }

  /** The path of a backup by its name. */
  pathOf(name: string): string {
    const { dir } = this.#file.read().settings
    if (!this.#filesIn(dir).some(each => each.name === name))
      throw missing('There is no such backup.', { code: 'backup_not_found' })
    return join(dir, name)
  }

  isRunning() {
    return this.#running !== null
  }

  /** Resolves when no backup is being made. */
  async idle(): Promise<void> {
    await this.#running
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  #filesIn(dir: string): BackupState['files'] {
    if (dir === '') return []
    try {
      return readdirSync(dir)
        .flatMap(name => {
          const ms = timeOfName(name)
          const stats =
            ms === undefined ? null : statSync(join(dir, name), { throwIfNoEntry: false })
          return ms !== undefined && stats?.isFile()
            ? [{ name, size: stats.size, at: toSeconds(ms) }]
            : []
        })
        .toSorted((a, b) => b.at - a.at)
    } catch {
      // A disk that is not there at the moment: the next backup fails with that reason.
      return []
    }
  }

  #checkDir(dir: string): void {
    if (!isAbsolute(dir))
      throw invalid('Enter the full path of a folder, such as /backups.', {
        code: 'backup_path_relative',
      })
    const place = this.#options.sources().find(each => isInside(each, dir))
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

  async #perform(startedAt: number): Promise<BackupResult> {
    const { settings } = this.#file.read()
    const at = toSeconds(startedAt)
    const name = backupName(startedAt)
    try {
      this.#checkDir(settings.dir)
      const { problems } = await this.#options.make(join(settings.dir, name), this.#stopped.signal)
      for (const { path: problem, reason } of problems.slice(0, 20))
        this.#options.log.warn(`backup: ${problem}: ${reason}`)
      return { at, ok: true, name, error: '', problems: problems.length }
    } catch (error) {
      if (!(error instanceof UserError)) this.#options.log.warn(`backup: ${messageOf(error)}`)
      const fields = error instanceof UserError && { code: error.code, ...error.extra }
      return BackupResult.parse({
        ...{ at, ok: false, name: null, error: messageOf(error), problems: 0 },
        ...fields,
      })
    }
  }

  #run(): void {
    const startedAt = this.#options.clock.now()
    this.#running = this.#perform(startedAt)
      .then(last => {
        // The service ends, which is no failure.
        if (this.#stopped.signal.aborted) return
        this.#file.write({ ...this.#file.read(), last })
        if (last.ok) this.#options.log.info(`backup: ${last.name}`)
      })
      .catch((error: unknown) => this.#options.log.warn(`backup: ${messageOf(error)}`))
      .finally(() => {
        this.#running = null
      })
  }
}
