/** Scheduled tasks: the list with its actions, the run history, and the form. */
import { signal } from '@preact/signals'
import { type Problem, problemOf } from '../../strings/problem.ts'
import type { Job, JobRun } from '../../../lib/schema/cron.ts'
import type { Shell } from '../shell/shell-state.ts'
import { t } from './strings.ts'
import type { LoadState } from '../../parts/load-state.ts'
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

export class TasksState {
  readonly #shell: Shell
  readonly #isVisible: () => boolean
  readonly jobs = signal<readonly Job[]>([])
  readonly timezone = signal('')
  readonly problem = signal<Problem | null>(null)
  readonly state = signal<LoadState>('loading')
  readonly form: TaskForm
  /** Of one task, or of all when its id is empty. */
  readonly runs = signal<Runs>({ of: '', rows: [], total: 0 })
  /** By file name. */
  readonly outputs = signal<ReadonlyMap<string, string>>(new Map())
  #owner = ''
  #taskId = ''
  #cancelPoll = () => {}

  constructor(shell: Shell, isVisible: () => boolean) {
    this.#shell = shell
    this.#isVisible = isVisible
    this.form = new TaskForm(shell, this.refresh)
  }

  readonly refresh = async (): Promise<void> => {
    await this.#load()
    await this.#loadHistory()
  }

  readonly #schedulePoll = (): void => {
    const { clock } = this.#shell.platform
    this.#cancelPoll()
    const busy = this.jobs.value.some(job => job.running)
    this.#cancelPoll = clock.timer(
      busy ? BUSY_POLL_MS : POLL_MS,
      () =>
        void (this.#isVisible() ? this.refresh() : Promise.resolve()).finally(this.#schedulePoll),
    )
  }

  async show(id: string): Promise<void> {
    if (this.#taskId !== id) {
      this.#taskId = id
      this.runs.value = { of: id, rows: [], total: 0 }
      this.outputs.value = new Map()
    }
    await this.#loadHistory(PAGE_SIZE)
  }

  more(): Promise<void> {
    return this.#loadHistory(this.runs.value.rows.length + PAGE_SIZE)
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
      this.runs.value = { of: this.#taskId, rows: [], total: 0 }
      this.form.skills.value = null
    }
    void this.#load().then(this.#schedulePoll)
    return () => this.#cancelPoll()
  }

  run(job: Job): Promise<boolean> {
    return this.#perform(async () => {
      const { status } = await this.#shell.api('POST /api/crons/run', { job_id: job.id })
      return t(status === 'running' ? 'said.already' : 'said.run', { name: job.name })
    })
  }

  pause(job: Job): Promise<boolean> {
    return this.#perform(async () => {
      await this.#shell.api('POST /api/crons/pause', { job_id: job.id })
      return t('said.paused', { name: job.name })
    })
  }

  resume(job: Job): Promise<boolean> {
    return this.#perform(async () => {
      await this.#shell.api('POST /api/crons/resume', { job_id: job.id })
      return t('said.resumed', { name: job.name })
    })
  }

  remove(job: Job): Promise<boolean> {
    return this.#perform(async () => {
      await this.#shell.api('POST /api/crons/delete', { job_id: job.id })
      return t('said.deleted', { name: job.name })
    })
  }

  async #load(): Promise<void> {
    const { api, toasts } = this.#shell
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

  #loadHistory(limit = Math.max(PAGE_SIZE, this.runs.value.rows.length)): Promise<void> {
    const { api, attempt } = this.#shell
    const id = this.#taskId
    return attempt(async () => {
      const [history, output] = await Promise.all([
        api('GET /api/crons/history', { limit, job_id: id || undefined }),
        id ? api('GET /api/crons/output', { job_id: id, limit: MAX_OUTPUTS }) : null,
      ])
      if (this.#taskId !== id) return
      this.runs.value = { of: id, rows: history.runs, total: history.total }
      if (output)
        this.outputs.value = new Map(
          output.outputs.map(({ filename, content }) => [filename, content]),
        )
    })
  }

  /** Toasts the result or the error, then reloads the list either way. */
  async #perform(work: () => Promise<string>): Promise<boolean> {
    const { toasts } = this.#shell
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

export const tasksOf = lazyState(app => new TasksState(app.shell, () => !document.hidden))
