/** Scheduled tasks: the list with its actions, the run history, and the form. */
import { type Problem, problemOf } from '../../strings/problem.ts'
import { signal } from '@preact/signals'
import type { Job, JobRun } from '../../../lib/schema/cron.ts'
import type { App } from '../../app.ts'
import { t } from './strings.ts'
import type { Platform } from '../../platform.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import { createTaskDraft } from './task-draft.ts'

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
const createRunHistory = ({ api, toasts }: Pick<App, 'api' | 'toasts'>) => {
  const runs = signal<Runs>({ of: '', rows: [], total: 0 })
  /** By file name. */
  const outputs = signal<ReadonlyMap<string, string>>(new Map())
  let shown = ''

  const loadRuns = async (id: string, limit: number): Promise<void> => {
    const reply = await api('GET /api/crons/history', { limit, job_id: id || undefined })
    if (shown === id) runs.value = { of: id, rows: reply.runs, total: reply.total }
  }
  const loadOutputs = async (id: string): Promise<void> => {
    if (!id) return
    const reply = await api('GET /api/crons/output', { job_id: id, limit: MAX_OUTPUTS })
    if (shown === id)
      outputs.value = new Map(reply.outputs.map(({ filename, content }) => [filename, content]))
  }
  const load = async (limit = Math.max(PAGE_SIZE, runs.value.rows.length)): Promise<void> => {
    try {
      await Promise.all([loadRuns(shown, limit), loadOutputs(shown)])
    } catch (error) {
      toasts.showError(error)
    }
  }

  return {
    runs,
    outputs,
    load,
    async show(id: string): Promise<void> {
      if (shown !== id) {
        shown = id
        runs.value = { of: id, rows: [], total: 0 }
        outputs.value = new Map()
      }
      await load(PAGE_SIZE)
    },
    loadMore: () => load(runs.value.rows.length + PAGE_SIZE),
    clear(): void {
      runs.value = { of: shown, rows: [], total: 0 }
    },
  }
}

export type TasksOptions = Pick<App, 'api' | 'toasts'> &
  Pick<Platform, 'clock'> & { unsaved?: Set<string>; visible?: () => boolean }

export const createTasks = (options: TasksOptions) => {
  const { api, toasts, clock, unsaved, visible = () => true } = options
  const jobs = signal<readonly Job[]>([])
  const timezone = signal('')
  const problem = signal<Problem | null>(null)
  const state = signal<'loading' | 'ready' | 'failed'>('loading')
  const history = createRunHistory({ api, toasts })
  let owner = ''
  let cancelPoll = () => {}

  const load = async (): Promise<void> => {
    try {
      const reply = await api('GET /api/crons')
      jobs.value = sortJobs(reply.jobs)
      timezone.value = reply.timezone
      problem.value = problemOf(reply)
      state.value = 'ready'
    } catch (error) {
      if (state.value !== 'ready') state.value = 'failed'
      else toasts.showError(error)
    }
  }
  const refresh = async (): Promise<void> => {
    await load()
    await history.load()
  }
  const form = createTaskDraft({ api, toasts, clock, unsaved, onSaved: refresh })

  const schedulePoll = (): void => {
    cancelPoll()
    const busy = jobs.value.some(job => job.running)
    cancelPoll = clock.timer(
      busy ? BUSY_POLL_MS : POLL_MS,
      () => void (visible() ? refresh() : Promise.resolve()).finally(schedulePoll),
    )
  }

  /** Toasts the result or the error, then reloads the list either way. */
  const perform = async (work: () => Promise<string>): Promise<boolean> => {
    try {
      toasts.show(await work())
      return true
    } catch (error) {
      toasts.showError(error)
      return false
    } finally {
      await refresh()
      schedulePoll()
    }
  }

  return {
    ...form,
    jobs,
    timezone,
    problem,
    state,
    runs: history.runs,
    outputs: history.outputs,
    byId: (id: string | null): Job | undefined => jobs.value.find(job => job.id === id),
    refresh,
    show: history.show,
    more: history.loadMore,
    /** Loads and polls until the returned function is called. */
    watch(profile = ''): () => void {
      if (profile !== owner) {
        // Another profile's tasks must not flash up.
        owner = profile
        jobs.value = []
        state.value = 'loading'
        history.clear()
        form.skills.value = null
      }
      void load().then(schedulePoll)
      return () => cancelPoll()
    },

    run: (job: Job) =>
      perform(async () => {
        const { status } = await api('POST /api/crons/run', { job_id: job.id })
        return t(status === 'running' ? 'said.already' : 'said.run', { name: job.name })
      }),
    pause: (job: Job) =>
      perform(async () => {
        await api('POST /api/crons/pause', { job_id: job.id })
        return t('said.paused', { name: job.name })
      }),
    resume: (job: Job) =>
      perform(async () => {
        await api('POST /api/crons/resume', { job_id: job.id })
        return t('said.resumed', { name: job.name })
      }),
    remove: (job: Job) =>
      perform(async () => {
        await api('POST /api/crons/delete', { job_id: job.id })
        return t('said.deleted', { name: job.name })
      }),
  }
}

export type TasksState = ReturnType<typeof createTasks>

export const tasksOf = lazyState(app =>
  createTasks({
    api: app.api,
    toasts: app.toasts,
    clock: app.platform.clock,
    unsaved: app.layout.unsaved,
    visible: () => !document.hidden,
  }),
)
