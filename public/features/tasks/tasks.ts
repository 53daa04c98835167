/** Scheduled tasks: the list with its actions, the run history, and the form. */
import { signal, type Signal } from '@preact/signals'
import { type Problem, problemOf } from '../../strings/problem.ts'
import type { Job, JobRun } from '../../../lib/schema/cron.ts'
import type { Shell } from '../shell/shell-state.ts'
import { t } from './strings.ts'
import type { Platform } from '../../platform.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import { TaskForm } from './task-draft.ts'

export type Runs = { of: string; rows: readonly JobRun[]; total: number }

const POLL_MS = 30_000
/** While a task runs. */
const BUSY_POLL_MS = 3_000
const PAGE_SIZE = 30
const MAX_OUTPUTS = 30

/** The part of an output file below its "Response" or "Error" heading. */
export const resultOf = (content: string): string => {
  const match = /^##? (?:Response|Error)[ \t]*\n/m.exec(content)
  return match ? content.slice(match.index + match[0].length).trim() : ''
}

/** Running first, then by next run; tasks without a next run last, by name. */
export const sortJobs = (jobs: readonly Job[]): Job[] => {
  const at = (job: Job): number =>
    job.running ? 0 : job.enabled && job.next_run_at ? Date.parse(job.next_run_at) : Infinity
  return jobs.toSorted((a, b) => at(a) - at(b) || a.name.localeCompare(b.name))
}

/** Runs and their output files: of one task, or of all when its id is empty. */
class RunHistory {
  readonly #shell: Pick<Shell, 'api' | 'toasts'>
  readonly runs = signal<Runs>({ of: '', rows: [], total: 0 })
  /** By file name. */
  readonly outputs = signal<ReadonlyMap<string, string>>(new Map())
  #shown = ''

  constructor(shell: Pick<Shell, 'api' | 'toasts'>) {
    this.#shell = shell
  }

  readonly show = async (id: string): Promise<void> => {
    if (this.#shown !== id) {
      this.#shown = id
      this.runs.value = { of: id, rows: [], total: 0 }
      this.outputs.value = new Map()
    }
    await this.load(PAGE_SIZE)
  }

  readonly loadMore = (): Promise<void> => this.load(this.runs.value.rows.length + PAGE_SIZE)

  async load(limit = Math.max(PAGE_SIZE, this.runs.value.rows.length)): Promise<void> {
    try {
      await Promise.all([this.#loadRuns(this.#shown, limit), this.#loadOutputs(this.#shown)])
    } catch (error) {
      this.#shell.toasts.showError(error)
    }
  }

  clear(): void {
    this.runs.value = { of: this.#shown, rows: [], total: 0 }
  }

  async #loadRuns(id: string, limit: number): Promise<void> {
    const reply = await this.#shell.api('GET /api/crons/history', {
      limit,
      job_id: id || undefined,
    })
    if (this.#shown === id) this.runs.value = { of: id, rows: reply.runs, total: reply.total }
  }

  async #loadOutputs(id: string): Promise<void> {
    if (!id) return
    const reply = await this.#shell.api('GET /api/crons/output', { job_id: id, limit: MAX_OUTPUTS })
    if (this.#shown === id)
      this.outputs.value = new Map(
        reply.outputs.map(({ filename, content }) => [filename, content]),
      )
  }
}

export type TasksOptions = Pick<Shell, 'api' | 'toasts'> &
  Pick<Platform, 'clock'> & { unsaved?: Set<string>; visible?: () => boolean }

export class TasksState {
  readonly #options: TasksOptions
  readonly jobs = signal<readonly Job[]>([])
  readonly timezone = signal('')
  readonly problem = signal<Problem | null>(null)
  readonly state = signal<'loading' | 'ready' | 'failed'>('loading')
  readonly #history
  #owner = ''
  #cancelPoll = () => {}
  readonly form
  readonly runs: Signal<Runs>
  readonly outputs: Signal<ReadonlyMap<string, string>>
  readonly show
  readonly more

  constructor(options: TasksOptions) {
    const { api, toasts, clock, unsaved } = options
    this.#options = options
    this.#history = new RunHistory({ api, toasts })
    this.form = new TaskForm({ api, toasts, clock, unsaved, onSaved: this.refresh })
    this.runs = this.#history.runs
    this.outputs = this.#history.outputs
    this.show = this.#history.show
    this.more = this.#history.loadMore
  }

  readonly refresh = async (): Promise<void> => {
    await this.#load()
    await this.#history.load()
  }

  readonly #schedulePoll = (): void => {
    const { clock, visible = () => true } = this.#options
    this.#cancelPoll()
    const busy = this.jobs.value.some(job => job.running)
    this.#cancelPoll = clock.timer(
      busy ? BUSY_POLL_MS : POLL_MS,
      () => void (visible() ? this.refresh() : Promise.resolve()).finally(this.#schedulePoll),
    )
  }

  byId(id: string | null): Job | undefined {
    return this.jobs.value.find(job => job.id === id)
  }

  /** Loads and polls until the returned function is called. */
  watch(profile = ''): () => void {
    if (profile !== this.#owner) {
      // Another profile's tasks must not flash up.
      this.#owner = profile
      this.jobs.value = []
      this.state.value = 'loading'
      this.#history.clear()
      this.form.skills.value = null
    }
    void this.#load().then(this.#schedulePoll)
    return () => this.#cancelPoll()
  }

  run(job: Job): Promise<boolean> {
    return this.#perform(async () => {
      const { status } = await this.#options.api('POST /api/crons/run', { job_id: job.id })
      return t(status === 'running' ? 'said.already' : 'said.run', { name: job.name })
    })
  }

  pause(job: Job): Promise<boolean> {
    return this.#perform(async () => {
      await this.#options.api('POST /api/crons/pause', { job_id: job.id })
      return t('said.paused', { name: job.name })
    })
  }

  resume(job: Job): Promise<boolean> {
    return this.#perform(async () => {
      await this.#options.api('POST /api/crons/resume', { job_id: job.id })
      return t('said.resumed', { name: job.name })
    })
  }

  remove(job: Job): Promise<boolean> {
    return this.#perform(async () => {
      await this.#options.api('POST /api/crons/delete', { job_id: job.id })
      return t('said.deleted', { name: job.name })
    })
  }

  async #load(): Promise<void> {
    const { api, toasts } = this.#options
    try {
      const reply = await api('GET /api/crons')
      this.jobs.value = sortJobs(reply.jobs)
      this.timezone.value = reply.timezone
      this.problem.value = problemOf(reply)
      this.state.value = 'ready'
    } catch (error) {
      if (this.state.value !== 'ready') this.state.value = 'failed'
      else toasts.showError(error)
    }
  }

  /** Toasts the result or the error, then reloads the list either way. */
  async #perform(work: () => Promise<string>): Promise<boolean> {
    const { toasts } = this.#options
    try {
      toasts.show(await work())
      return true
    } catch (error) {
      toasts.showError(error)
      return false
    } finally {
      await this.refresh()
      this.#schedulePoll()
    }
  }
}

export const tasksOf = lazyState(
  app =>
    new TasksState({
      api: app.shell.api,
      toasts: app.shell.toasts,
      clock: app.shell.platform.clock,
      unsaved: app.shell.layout.unsaved,
      visible: () => !document.hidden,
    }),
)
