/** The form of a task: its fields, the preview of its schedule, and saving it. */
import { scheduleWords } from './schedule-words.ts'
import { signal } from '@preact/signals'
import type { JsonObject } from '../../../lib/base/json.ts'
import type { Job } from '../../../lib/schema/cron.ts'
import type { Shell } from '../shell/shell-state.ts'
import { t } from './strings.ts'

export type TaskDraft = {
  /** Empty for a new task. */
  id: string
  name: string
  prompt: string
  schedule: string
  /** The saved schedule. An unchanged one is not sent, so that a one-off date in the past stays valid. */
  scheduleBefore: string
  model: string
  skills: readonly string[]
  script: string
  busy: boolean
  problem: string
}

export type SchedulePreview =
  | { kind: 'empty' }
  | { kind: 'valid'; words: string; next: readonly string[]; timezone: string }
  | { kind: 'invalid'; message: string }

const PREVIEW_DELAY_MS = 250

const EMPTY: TaskDraft = {
  id: '',
  name: '',
  prompt: '',
  schedule: '',
  scheduleBefore: '',
  model: '',
  skills: [],
  script: '',
  busy: false,
  problem: '',
}

/** The schedule as a person would type it. */
export const scheduleText = (job: Pick<Job, 'schedule' | 'schedule_display'>): string => {
  const { kind, expr, run_at } = (job.schedule ?? {}) as JsonObject
  if (kind === 'cron' && typeof expr === 'string') return expr
  if (kind === 'once' && typeof run_at === 'string') return run_at.slice(0, 16)
  return job.schedule_display
}

const draftOf = (job: Job): TaskDraft => {
  const schedule = scheduleText(job)
  const { id, name, prompt, skills } = job
  const { model, script } = { model: job.model ?? '', script: job.script ?? '' }
  const fields = { id, name, prompt, skills, model, script }
  return { ...EMPTY, ...fields, schedule, scheduleBefore: schedule }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

export class TaskForm {
  readonly #shell: Shell
  readonly #onSaved: () => Promise<void>
  readonly draft = signal<TaskDraft | null>(null)
  readonly preview = signal<SchedulePreview>({ kind: 'empty' })
  /** Names to choose from; null until they are loaded. */
  readonly skills = signal<readonly string[] | null>(null)
  #cancelPreview = () => {}

  constructor(shell: Shell, onSaved: () => Promise<void>) {
    this.#shell = shell
    this.#onSaved = onSaved
  }

  readonly create = (fields: Partial<TaskDraft> = {}): void => this.#open({ ...EMPTY, ...fields })

  readonly edit = (job: Job): void => this.#open(draftOf(job))

  readonly change = (patch: Partial<TaskDraft>): void => {
    if (!this.draft.value) return
    this.#setDraft({ ...this.draft.value, ...patch })
    const { schedule } = patch
    if (schedule === undefined) return
    this.#cancelPreview()
    this.#cancelPreview = this.#shell.platform.clock.timer(
      PREVIEW_DELAY_MS,
      () => void this.#loadPreview(schedule),
    )
  }

  readonly cancel = (): void => this.#setDraft(null)

  /** Resolves to the task's id, or to null when the server rejects it; `problem` then says why. */
  readonly save = async (): Promise<string | null> => {
    const value = this.draft.value
    if (!value || value.busy) return null
    this.#setDraft({ ...value, busy: true, problem: '' })
    try {
      const job = await this.#send(value)
      this.#setDraft(null)
      this.#shell.toasts.show(t('said.saved', { name: job.name }))
      await this.#onSaved()
      return job.id
    } catch (error) {
      this.#setDraft({ ...value, busy: false, problem: messageOf(error) })
      return null
    }
  }

  #setDraft(value: TaskDraft | null): void {
    const { unsaved } = this.#shell.layout
    this.draft.value = value
    if (value) unsaved.add('task')
    else unsaved.delete('task')
  }

  async #loadPreview(schedule: string): Promise<void> {
    if (!schedule.trim()) {
      this.preview.value = { kind: 'empty' }
      return
    }
    let preview: SchedulePreview
    try {
      const reply = await this.#shell.api('POST /api/crons/preview', { schedule })
      const { kind, display, words, next, timezone } = reply
      const [run_at] = next
      const minutes = Number(/^every (\d+)m$/.exec(display)?.[1])
      const text = scheduleWords({ kind, expr: display, minutes, run_at }, words)
      preview = { kind: 'valid', words: text, next, timezone }
    } catch (error) {
      preview = { kind: 'invalid', message: messageOf(error) }
    }
    // The field may have changed since the request.
    if (this.draft.value?.schedule === schedule) this.preview.value = preview
  }

  #open(value: TaskDraft): void {
    this.draft.value = value
    this.preview.value = { kind: 'empty' }
    void this.#loadPreview(value.schedule)
    // Without the list the field still shows the skills already chosen.
    if (this.skills.value === null)
      void this.#shell.api('GET /api/skills', {}).then(
        reply => {
          this.skills.value = reply.skills.map(({ name }) => name)
        },
        () => undefined,
      )
  }

  async #send(value: TaskDraft): Promise<Job> {
    const { api } = this.#shell
    const { id, name, prompt, schedule, model, script, scheduleBefore } = value
    const fields = { name, prompt, model, script, skills: [...value.skills] }
    if (!id) return (await api('POST /api/crons/create', { ...fields, schedule })).job
    const edit = schedule === scheduleBefore ? {} : { schedule }
    return (await api('POST /api/crons/update', { job_id: id, ...fields, ...edit })).job
  }
}
