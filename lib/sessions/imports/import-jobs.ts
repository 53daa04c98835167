/** Imports that run while the page may be closed: one of each person, with progress and a report that is kept. */
import { type Clock, toSeconds } from '../../base/clock.ts'
import type { z } from 'zod'
import { conflict, messageOf, UserError } from '../../errors.ts'
import { type ImportState, ImportsFile } from '../../schema/import.ts'
import { JsonFile } from '../../store/json-file.ts'
import { importExport, type ImportOptions } from './imports.ts'

const NONE: ImportState = {
  status: 'none',
  file: '',
  profile: '',
  started_at: 0,
  bytes: 0,
  bytes_total: 0,
  report: null,
  error: '',
}

type Job = { state: ImportState; done: Promise<void> }

const isRunning = (job: Job | undefined): boolean => job?.state.status === 'running'

type Log = { info(text: string): void; warn(text: string): void }

export class ImportJobs {
  readonly #file: JsonFile<z.infer<typeof ImportsFile>>
  readonly #log: Log
  readonly #clock: Clock
  readonly #jobs = new Map<string, Job>()
  readonly #stopped = new AbortController()

  /** `path`: imports.json of the state directory, the last import of each person. */
  constructor(path: string, clock: Clock, log: Log) {
    this.#file = new JsonFile(path, value => ImportsFile.parse(value ?? {}))
    this.#clock = clock
    this.#log = log
  }

  #save(person: string, state: ImportState): void {
    const all = this.#file.read()
    this.#file.write({ ...all, people: { ...all.people, [person]: state } })
  }

  async #perform(state: ImportState, options: ImportOptions): Promise<void> {
    const { signal } = this.#stopped
    try {
      state.report = await importExport({
        ...options,
        signal,
        log: line => this.#log.warn(line),
        onProgress({ bytes, bytesTotal, report }) {
          Object.assign(state, { bytes, bytes_total: bytesTotal, report })
        },
      })
      state.status = 'done'
    } catch (error) {
      if (signal.aborted) {
        state.status = 'interrupted'
        return
      }
      if (!(error instanceof UserError)) this.#log.warn(`import: ${messageOf(error)}`)
      Object.assign(state, { status: 'failed', error: messageOf(error) })
      if (error instanceof UserError) state.code = error.code
    }
  }

  requireIdle(person: string): void {
    if (isRunning(this.#jobs.get(person)))
      throw conflict('An import is running.', { code: 'import_running' })
  }

  /** What a killed process left running was interrupted. */
  state(person: string): ImportState {
    const job = this.#jobs.get(person)
    if (job) return job.state
    const last = this.#file.read().people[person] ?? NONE
    return last.status === 'running' ? { ...last, status: 'interrupted' } : last
  }

  /** Starts the import of a file, which `discard` removes afterwards. */
  start(
    person: string,
    { discard, ...options }: ImportOptions & { name: string; discard: () => void },
  ): ImportState {
    this.requireIdle(person)
    const state: ImportState = {
      ...NONE,
      status: 'running',
      file: options.name,
      profile: options.target.profile,
      started_at: toSeconds(this.#clock.now()),
    }
    this.#save(person, state)
    const done = this.#perform(state, options)
      .then(() => {
        this.#save(person, state)
        // Otherwise it stays: the file would say that the service ended.
        this.#jobs.delete(person)
      })
      .finally(discard)
      .catch((error: unknown) => this.#log.warn(`import: ${messageOf(error)}`))
    this.#jobs.set(person, { state, done })
    this.#log.info(`import: ${options.name} into ${state.profile}`)
    return state
  }

  isRunning(): boolean {
    return [...this.#jobs.values()].some(isRunning)
  }

  /** Ends after the chat that is being written. */
  async close(): Promise<void> {
    this.#stopped.abort()
    await Promise.all([...this.#jobs.values()].map(({ done }) => done))
  }
}
