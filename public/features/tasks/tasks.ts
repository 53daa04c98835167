/** Scheduled tasks: the list, what became of their runs, and the one that is being written. */
import { computed, signal } from '@preact/signals'
import type { JsonObject } from '../../../lib/base/json.ts'
import type { Job, JobRun } from '../../../lib/schema/cron.ts'
import type { App } from '../../app.ts'
import { t } from './strings.ts'
import type { Platform } from '../../platform.ts'
import { lazyState } from '../../parts/lazy-state.ts'

export type TaskDraft = {
  /** Empty for a new one. */
  id: string
  name: string
  prompt: string
  schedule: string
  /** As it was: only another one is sent, so that a moment of the past can stay. */
  scheduleBefore: string
  model: string
  skills: readonly string[]
  script: string
  busy: boolean
  problem: string
}
export type SchedulePreview =
  | { kind: 'empty' }
  | { kind: 'said'; words: string; next: readonly string[]; timezone: string }
  | { kind: 'refused'; message: string }
export type Runs = { of: string; rows: readonly JobRun[]; total: number }

const POLL_MS = 30_000
/** While something runs somebody waits for it. */
const BUSY_POLL_MS = 3_000
const TYPING_MS = 250
const PAGE_SIZE = 30
const MAX_OUTPUTS = 30

/** The text a person would write for it. */
export const scheduleText = (job: Pick<Job, 'schedule' | 'schedule_display'>): string => {
  const { kind, expr, run_at } = (job.schedule ?? {}) as JsonObject
  if (kind === 'cron' && typeof expr === 'string') return expr
  if (kind === 'once' && typeof run_at === 'string') return run_at.slice(0, 16)
  return job.schedule_display
}

/** Of an output file, what the agent answered or why it failed. */
export const resultOf = (content: string): string => {
  const match = /^##? (?:Response|Error)[ \t]*\n/m.exec(content)
  return match ? content.slice(match.index + match[0].length).trim() : ''
}

/** Soonest first; what has no next run after that, by name. */
export const sortJobs = (jobs: readonly Job[]): Job[] => {
  const at = (job: Job): number =>
    job.running ? 0 : job.enabled && job.next_run_at ? Date.parse(job.next_run_at) : Infinity
  return jobs.toSorted((a, b) => at(a) - at(b) || a.name.localeCompare(b.name)).map(job => job)
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

export type TasksOptions = Pick<App, 'api' | 'toasts'> &
  Pick<Platform, 'schedule'> & { unsaved?: Set<string>; visible?: () => boolean }

export const createTasks = ({
  api,
  toasts,
  schedule,
  unsaved,
  visible = () => true,
}: TasksOptions) => {
  const jobs = signal<readonly Job[]>([])
  const timezone = signal('')
  const problem = signal<string | null>(null)
  const state = signal<'loading' | 'ready' | 'failed'>('loading')
  /** Of the chosen task, or of all when `of` is empty. */
  const runs = signal<Runs>({ of: '', rows: [], total: 0 })
  const outputs = signal<ReadonlyMap<string, string>>(new Map())
  const draft = signal<TaskDraft | null>(null)
  const preview = signal<SchedulePreview>({ kind: 'empty' })
  const skills = signal<readonly string[] | null>(null)
  let shown = ''
  let owner = ''
  let cancelPoll = () => {}
  let cancelTyping = () => {}

  const byId = (id: string | null): Job | undefined => jobs.value.find(job => job.id === id)

  const load = async (): Promise<void> => {
    try {
      const reply = await api('GET /api/crons')
      jobs.value = sortJobs(reply.jobs)
      timezone.value = reply.timezone
      problem.value = reply.problem
      state.value = 'ready'
    } catch (error) {
      if (state.value !== 'ready') state.value = 'failed'
      else toasts.showError(error)
    }
  }

  const loadRuns = async (id: string, limit: number): Promise<void> => {
    const reply = await api('GET /api/crons/history', { limit, ...(id ? { job_id: id } : {}) })
    if (shown === id) runs.value = { of: id, rows: reply.runs, total: reply.total }
  }
  const loadOutputs = async (id: string): Promise<void> => {
    if (!id) return
    const reply = await api('GET /api/crons/output', { job_id: id, limit: MAX_OUTPUTS })
    if (shown === id)
      outputs.value = new Map(reply.outputs.map(({ filename, content }) => [filename, content]))
  }
  const read = async (limit = Math.max(PAGE_SIZE, runs.value.rows.length)): Promise<void> => {
    try {
      await Promise.all([loadRuns(shown, limit), loadOutputs(shown)])
    } catch (error) {
      toasts.showError(error)
    }
  }
  const refresh = async (): Promise<void> => {
    await load()
    await read()
  }

  const plan = (): void => {
    cancelPoll()
    const busy = jobs.value.some(job => job.running)
    cancelPoll = schedule(
      () => void (visible() ? refresh() : Promise.resolve()).finally(plan),
      busy ? BUSY_POLL_MS : POLL_MS,
    )
  }

  /** Says what came of it, or why not; the list shows it either way. */
  const act = async (work: () => Promise<string>): Promise<boolean> => {
    try {
      toasts.show(await work())
      return true
    } catch (error) {
      toasts.showError(error)
      return false
    } finally {
      await refresh()
      plan()
    }
  }

  const askPreview = async (schedule: string): Promise<void> => {
    if (!schedule.trim()) {
      preview.value = { kind: 'empty' }
      return
    }
    let answer: SchedulePreview
    try {
      const { words, next, timezone: zone } = await api('POST /api/crons/preview', { schedule })
      answer = { kind: 'said', words, next, timezone: zone }
    } catch (error) {
      answer = { kind: 'refused', message: messageOf(error) }
    }
    // Something else may stand there by now.
    if (draft.value?.schedule === schedule) preview.value = answer
  }

  const setDraft = (value: TaskDraft | null): void => {
    draft.value = value
    if (value) unsaved?.add('task')
    else unsaved?.delete('task')
  }

  const begin = (value: TaskDraft): void => {
    draft.value = value
    preview.value = { kind: 'empty' }
    void askPreview(value.schedule)
    // What there is to choose from; without it the field shows what is chosen already.
    if (skills.value === null)
      void api('GET /api/skills', {}).then(
        reply => {
          skills.value = reply.skills.map(({ name }) => name)
        },
        () => undefined,
      )
  }

  return {
    jobs,
    timezone,
    problem,
    state,
    runs,
    outputs,
    draft,
    preview,
    skills,
    byId,
    refresh,
    /** How many run now, for whoever wants to know without looking. */
    busy: computed(() => jobs.value.filter(job => job.running).length),

    /** From here on this task's runs are shown; empty for all. */
    async show(id: string): Promise<void> {
      if (shown !== id) {
        shown = id
        runs.value = { of: id, rows: [], total: 0 }
        outputs.value = new Map()
      }
      await read(PAGE_SIZE)
    },
    more: () => read(runs.value.rows.length + PAGE_SIZE),
    /** Keeps the view fresh while it is looked at; answers how to stop. */
    watch(profile = ''): () => void {
      if (profile !== owner) {
        // What belongs to another profile is not shown for a moment.
        owner = profile
        jobs.value = []
        state.value = 'loading'
        runs.value = { of: shown, rows: [], total: 0 }
        skills.value = null
      }
      void load().then(plan)
      return () => cancelPoll()
    },

    run: (job: Job) =>
      act(async () => {
        const { status } = await api('POST /api/crons/run', { job_id: job.id })
        return t(status === 'running' ? 'said.already' : 'said.run', { name: job.name })
      }),
    pause: (job: Job) =>
      act(async () => {
        await api('POST /api/crons/pause', { job_id: job.id })
        return t('said.paused', { name: job.name })
      }),
    resume: (job: Job) =>
      act(async () => {
        await api('POST /api/crons/resume', { job_id: job.id })
        return t('said.resumed', { name: job.name })
      }),
    remove: (job: Job) =>
      act(async () => {
        await api('POST /api/crons/delete', { job_id: job.id })
        return t('said.deleted', { name: job.name })
      }),

    create(): void {
      const blank = {
        name: '',
        prompt: '',
        schedule: '',
        scheduleBefore: '',
        model: '',
        script: '',
      }
      begin({ id: '', ...blank, skills: [], busy: false, problem: '' })
    },
    edit(job: Job): void {
      const schedule = scheduleText(job)
      const { id, name, prompt, skills: chosen } = job
      const { model, script } = { model: job.model ?? '', script: job.script ?? '' }
      const fields = { id, name, prompt, schedule, scheduleBefore: schedule, model, script }
      begin({ ...fields, skills: chosen, busy: false, problem: '' })
    },
    change(patch: Partial<TaskDraft>): void {
      if (!draft.value) return
      setDraft({ ...draft.value, ...patch })
      if (patch.schedule === undefined) return
      cancelTyping()
      const { schedule: text } = patch
      cancelTyping = schedule(() => void askPreview(text), TYPING_MS)
    },
    cancel: (): void => setDraft(null),
    /** Answers the task's id; null when it was refused, and the form says why. */
    async save(): Promise<string | null> {
      const value = draft.value
      if (!value || value.busy) return null
      setDraft({ ...value, busy: true, problem: '' })
      const { id, name, prompt, schedule, model, script } = value
      const fields = { name, prompt, model, script, skills: [...value.skills] }
      try {
        const { job } = id
          ? await api('POST /api/crons/update', {
              job_id: id,
              ...fields,
              ...(schedule === value.scheduleBefore ? {} : { schedule }),
            })
          : await api('POST /api/crons/create', { ...fields, schedule })
        setDraft(null)
        toasts.show(t('said.saved', { name: job.name }))
        await refresh()
        return job.id
      } catch (error) {
        setDraft({ ...value, busy: false, problem: messageOf(error) })
        return null
      }
    },
  }
}

export type TasksState = ReturnType<typeof createTasks>

export const tasksOf = lazyState(app =>
  createTasks({
    api: app.api,
    toasts: app.toasts,
    schedule: app.platform.schedule,
    unsaved: app.layout.unsaved,
    visible: () => !document.hidden,
  }),
)
