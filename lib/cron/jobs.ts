/** CRUD of a home's jobs. Each edit reads, changes and writes the file under the host agent's lock. */
import type { Words } from '../base/sentences.ts'
import { randomBytes } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { invalid, missing } from '../errors.ts'
import { unredact } from '../base/redact/redact.ts'
import type { Schedule } from '../schema/cron.ts'
import type { Role } from '../schema/person.ts'
import { defaultName, type JobPlan, toJobPlan } from './job.ts'
import { isJob, type JobsFile, type RawJob } from './jobs-file.ts'
import { nextRun } from './next-run.ts'
import { parseSchedule } from './parse-schedule.ts'
import { toExactSchedule } from './schedule-words.ts'
import { findScript } from './job-script.ts'
import { toIso } from '../base/time-zone.ts'

/** The editable fields. Absent leaves a field unchanged, blank text clears it. */
export type JobFields = {
  name?: string | undefined
  prompt?: string | undefined
  schedule?: string | undefined
  deliver?: string | undefined
  skills?: string[] | undefined
  model?: string | undefined
  provider?: string | undefined
  base_url?: string | undefined
  script?: string | undefined
  /** Total number of runs; 0 is unlimited. */
  repeat?: number | undefined
  /** Who says so: the runs of what a member has asked for have a member's rights. Default: an owner. */
  by?: Role | undefined
}

const MAX_PROMPT_CHARS = 200_000
const MAX_NAME_CHARS = 200

const SHOWN_TEXTS = ['name', 'prompt', 'deliver', 'base_url', 'script'] as const

const unmask = <T extends JobFields>(
  fields: T,
  job: RawJob,
  restore: (edited: string, original: string) => string,
): T => {
  const textAt = (key: string): string => (typeof job[key] === 'string' ? job[key] : '')
  return {
    ...fields,
    ...Object.fromEntries(
      SHOWN_TEXTS.flatMap(key => {
        const edited = fields[key]
        return edited === undefined ? [] : [[key, restore(edited, textAt(key))]]
      }),
    ),
  }
}

const blankToNull = (value: string): string | null => value.trim() || null

/** The prompt is run by a model with tools unattended: it must not contain invisible characters. */
const checkPrompt = (prompt: string): void => {
  if (prompt.length > MAX_PROMPT_CHARS)
    throw invalid(
      `The prompt is longer than ${MAX_PROMPT_CHARS.toLocaleString('en')} characters.`,
      { code: 'prompt_too_long', values: { max: MAX_PROMPT_CHARS } },
    )
  if (/[\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u.test(prompt))
    throw invalid('The prompt contains invisible characters. Remove them and try again.', {
      code: 'prompt_hidden',
    })
}

/** The record's keys for the given fields. Throws UserError for invalid values. */
const toRecord = (home: string, fields: JobFields): RawJob => {
  if (fields.prompt !== undefined) checkPrompt(fields.prompt)
  if (fields.script?.trim()) findScript(home, fields.script)
  const { skills } = fields
  const plain = ['model', 'provider', 'base_url', 'script'] as const
  return {
    ...(fields.name === undefined ? {} : { name: fields.name.trim().slice(0, MAX_NAME_CHARS) }),
    ...(fields.prompt === undefined ? {} : { prompt: fields.prompt }),
    ...(skills ? { skills, skill: skills[0] ?? null } : {}),
    ...(fields.deliver === undefined ? {} : { deliver: fields.deliver.trim() || 'local' }),
    ...Object.fromEntries(
      plain.flatMap(key => (fields[key] === undefined ? [] : [[key, blankToNull(fields[key])]])),
    ),
  }
}

export class Jobs {
  readonly #file: JobsFile
  /** The home's directory. */
  readonly #home: string
  readonly #clock: Clock
  readonly #zone: () => string

  constructor(file: JobsFile, home: string, clock: Clock, zone: () => string) {
    this.#file = file
    this.#home = home
    this.#clock = clock
    this.#zone = zone
  }

  /** Why the file cannot be read, or null. */
  problem(): Words | null {
    return this.#file.problem()
  }

  isLost(): boolean {
    return this.#file.isLost()
  }

  #iso(ms: number | null): string | null {
    return ms === null ? null : toIso(ms, this.#zone())
  }

  #next(schedule: Schedule): number | null {
    return nextRun(schedule, { now: this.#clock.now(), zone: this.#zone() })
  }

  #scheduled(text: string): RawJob & { schedule: Schedule } {
    const schedule = parseSchedule(text, this.#clock.now(), this.#zone())
    return {
      schedule,
      schedule_display: schedule.display,
      next_run_at: this.#iso(this.#next(schedule)),
    }
  }

  /** Applies `change` to the job as it is on disk now. */
  #editJob(
    id: string,
    change: (job: RawJob & { id: string }, plan: JobPlan) => void,
  ): Promise<RawJob & { id: string }> {
    return this.#file.edit(jobs => {
      const job = jobs.find(each => isJob(each) && each.id === id)
      if (!isJob(job)) throw missing('Job not found', { code: 'job_not_found' })
      change(job, toJobPlan(job, this.#clock.now(), this.#zone()))
      return { result: job, write: true }
    })
  }

  #resume(job: RawJob, { schedule }: JobPlan): void {
    const at = schedule ? this.#next(schedule) : null
    if (at === null)
      throw invalid(
        schedule?.kind === 'once'
          ? 'Its time has passed. Change the schedule or run it now.'
          : 'It has no next run. Change the schedule.',
        { code: schedule?.kind === 'once' ? 'job_time_passed' : 'job_no_next_run' },
      )
    const free = { paused_at: null, paused_reason: null }
    Object.assign(job, { enabled: true, state: 'scheduled', next_run_at: this.#iso(at), ...free })
  }

  #pause(job: RawJob, reason: string | null): void {
    const paused_at = this.#iso(this.#clock.now())
    Object.assign(job, { enabled: false, state: 'paused', paused_at, paused_reason: reason })
  }

  /** Changes the schedule; a change to or from a one-shot restarts the run count. A paused job stays paused, a completed one is enabled again. */
  #replan(job: RawJob, before: JobPlan, text: string): void {
    const plan = this.#scheduled(text)
    const isOnce = plan.schedule.kind === 'once'
    const wasOnce = before.schedule?.kind === 'once'
    Object.assign(job, plan)
    if (isOnce || wasOnce) job.repeat = { times: isOnce ? 1 : null, completed: 0 }
    if (job.state !== 'paused') Object.assign(job, { enabled: true, state: 'scheduled' })
  }

  list(): (RawJob & { id: string })[] {
    return this.#file.read().filter(isJob)
  }

  get(id: string): RawJob & { id: string } {
    const job = this.#file.read().find(each => each.id === id)
    if (!isJob(job)) throw missing('Job not found', { code: 'job_not_found' })
    return job
  }

  async create(input: JobFields & { schedule: string }): Promise<RawJob & { id: string }> {
    const fields = toRecord(this.#home, input)
    const prompt = input.prompt ?? ''
    const skills = input.skills ?? []
    if (!prompt.trim() && skills.length === 0)
      throw invalid('prompt is required', { code: 'missing_fields' })
    const plan = this.#scheduled(
      await toExactSchedule(input.schedule, this.#clock.now(), this.#zone()),
    )
    const once = plan.schedule.kind === 'once' ? 1 : null
    const job = {
      id: randomBytes(6).toString('hex'),
      name: defaultName(prompt, skills),
      prompt,
      skills,
      skill: skills[0] ?? null,
      model: null,
      provider: null,
      base_url: null,
      script: null,
      ...plan,
      repeat: { times: input.repeat && input.repeat > 0 ? input.repeat : once, completed: 0 },
      enabled: true,
      state: 'scheduled',
      paused_at: null,
      paused_reason: null,
      created_at: this.#iso(this.#clock.now()),
      last_run_at: null,
      last_status: null,
      last_error: null,
      last_delivery_error: null,
      deliver: 'local',
      origin: null,
      ...fields,
      ...(input.by !== undefined && input.by !== 'owner' && { by: 'member' }),
      ...(fields.name === '' ? { name: defaultName(prompt, skills) } : {}),
    }
    return this.#file.edit(jobs => {
      jobs.push(job)
      return { result: job, write: true }
    })
  }

  async update(
    id: string,
    masked: JobFields & { enabled?: boolean | undefined },
    restore: (edited: string, original: string) => string = unredact,
  ): Promise<RawJob & { id: string }> {
    const schedule =
      masked.schedule?.trim() &&
      (await toExactSchedule(masked.schedule, this.#clock.now(), this.#zone()))
    return this.#editJob(id, (job, before) => {
      const changes = unmask(masked, job, restore)
      const { name, ...fields } = toRecord(this.#home, changes)
      Object.assign(job, fields, name ? { name } : {})
      if (changes.by !== undefined && changes.by !== 'owner') job.by = 'member'
      else if (changes.prompt !== undefined) delete job.by
      const after = toJobPlan(job, this.#clock.now(), this.#zone())
      if (!after.prompt.trim() && after.skills.length === 0)
        throw invalid('prompt is required', { code: 'missing_fields' })
      if (schedule) this.#replan(job, before, schedule)
      if (changes.repeat !== undefined)
        job.repeat = {
          times: changes.repeat > 0 ? changes.repeat : null,
          completed: before.completed,
        }
      if (changes.enabled === true && job.enabled === false)
        this.#resume(job, toJobPlan(job, this.#clock.now(), this.#zone()))
      else if (changes.enabled === false && job.enabled !== false) this.#pause(job, null)
    })
  }

  pause(id: string, reason: string | null): Promise<RawJob & { id: string }> {
    return this.#editJob(id, job => this.#pause(job, reason))
  }

  resume(id: string): Promise<RawJob & { id: string }> {
    return this.#editJob(id, (job, value1) => this.#resume(job, value1))
  }

  remove(id: string): Promise<void> {
    return this.#file.edit(jobs => {
      const at = jobs.findIndex(each => isJob(each) && each.id === id)
      if (at < 0) throw missing('Job not found', { code: 'job_not_found' })
      jobs.splice(at, 1)
      return { result: undefined, write: true }
    })
  }
}
