/** Imports that run while the page may be closed: one of each person, with progress and a report that is kept. */
import { type Clock, toSeconds } from '../../base/clock.ts'
import { conflict, messageOf, UserError } from '../../errors.ts'
import { type ImportState, ImportsFile } from '../../schema/import.ts'
import { jsonFile } from '../../store/json-file.ts'
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

export type ImportJobs = ReturnType<typeof createImportJobs>

export const createImportJobs = ({
  path,
  log,
  clock,
}: {
  /** imports.json of the state directory: the last import of each person. */
  path: string
  log: { info(text: string): void; warn(text: string): void }
  clock: Pick<Clock, 'now'>
}) => {
  const file = jsonFile(path, value => ImportsFile.parse(value ?? {}))
  const jobs = new Map<string, Job>()
  const stopped = new AbortController()

  const save = (person: string, state: ImportState): void => {
    const stored = file.read()
    file.write({ ...stored, people: { ...stored.people, [person]: state } })
  }

  const perform = async (state: ImportState, options: ImportOptions): Promise<void> => {
    try {
      state.report = await importExport({
        ...options,
        signal: stopped.signal,
        log: log.warn,
        onProgress({ bytes, bytesTotal, report }) {
          Object.assign(state, { bytes, bytes_total: bytesTotal, report })
        },
      })
      state.status = 'done'
    } catch (error) {
      if (stopped.signal.aborted) {
        state.status = 'interrupted'
        return
      }
      if (!(error instanceof UserError)) log.warn(`import: ${messageOf(error)}`)
      Object.assign(state, { status: 'failed', error: messageOf(error) })
      if (error instanceof UserError) state.code = error.code
    }
  }

  const requireIdle = (person: string): void => {
    if (isRunning(jobs.get(person)))
      throw conflict('An import is running.', { code: 'import_running' })
  }

  return {
    requireIdle,
    /** What a killed process left running was interrupted. */
    state(person: string): ImportState {
      const stored = jobs.get(person)?.state ?? file.read().people[person] ?? NONE
      const isOver = stored.status === 'running' && !jobs.has(person)
      return isOver ? { ...stored, status: 'interrupted' } : stored
    },
    /** Starts the import of a file, which `discard` removes afterwards. */
    start(
      person: string,
      { discard, ...options }: ImportOptions & { name: string; discard: () => void },
    ): ImportState {
      requireIdle(person)
      const state: ImportState = {
        ...NONE,
        status: 'running',
        file: options.name,
        profile: options.target.profile,
        started_at: toSeconds(clock.now()),
      }
      save(person, state)
      const done = perform(state, options)
        .then(() => {
          save(person, state)
          // Otherwise it stays: the file would say that the service ended.
          jobs.delete(person)
        })
        .finally(discard)
        .catch((error: unknown) => log.warn(`import: ${messageOf(error)}`))
      jobs.set(person, { state, done })
      log.info(`import: ${options.name} into ${state.profile}`)
      return state
    },
    isRunning: () => [...jobs.values()].some(isRunning),
    /** Ends after the chat that is being written. */
    async close(): Promise<void> {
      stopped.abort()
      await Promise.all([...jobs.values()].map(({ done }) => done))
    },
  }
}
