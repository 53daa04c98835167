/** Parses one job of the file tolerantly and formats it with every key that clients expect. Pure: `now` is milliseconds since 1970. */
import { isObject } from '../base/json.ts'
import { redact } from '../base/redact/redact.ts'
import type { Job, Schedule } from '../schema/cron.ts'
import type { RawJob } from './jobs-file.ts'
import { inWords, readSchedule } from './parse-schedule.ts'
import { offsetIn, parseInstant } from '../base/time-zone.ts'

/** A parsed job, as the scheduler uses it. Times are milliseconds since 1970. */
export type JobPlan = {
  id: string
  name: string
  prompt: string
  skills: string[]
  model: string | null
  provider: string | null
  baseUrl: string | null
  script: string | null
  /** A member asked for it. */
  isMembers: boolean
  workdir: string | null
  /** Enabled toolsets; null for those of the profile. */
  toolsets: string[] | null
  deliver: string
  display: string
  schedule: Schedule | undefined
  enabled: boolean
  nextRunAt: number | null
  /** The offset it was written with, in minutes east of Greenwich; null: none. */
  nextRunOffset: number | null
  createdAt: number | null
  lastRunAt: number | null
  times: number | null
  completed: number
}

const text = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value : null

/** Numbers parsed with their original digits are objects that serialize themselves. */
const number = (value: unknown): number => {
  const number = isObject(value) ? Number(JSON.stringify(value)) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : 0
}

const skillsOf = (job: RawJob): string[] => {
  const { skills, skill } = job
  const list = Array.isArray(skills) ? skills : typeof skills === 'string' ? [skills] : [skill]
  return [
    ...new Set(list.filter(name => typeof name === 'string' && name.trim() !== '')),
  ] as string[]
}

export const repeatOf = (job: RawJob): { times: number | null; completed: number } => {
  const { repeat } = job
  const { times, completed } = isObject(repeat)
    ? (repeat as RawJob)
    : { times: repeat, completed: 0 }
  return { times: number(times) > 0 ? number(times) : null, completed: number(completed) }
}

const NAMING_CHARS = 2_000

const NAME_CHARS = 50

const shorten = (text: string): string =>
  text.length <= NAME_CHARS ? text : `${text.slice(0, NAME_CHARS).replace(/\s+\S*$/, '')}…`

/** The first words of the prompt, masked because a name is shown in more places, or the first skill. */
export const defaultName = (prompt: string, skills: readonly string[]): string =>
  shorten(redact(prompt.trim().slice(0, NAMING_CHARS)).replace(/\s+/g, ' ')) ||
  skills[0] ||
  'cron job'

const displayOf = (job: RawJob, schedule: Schedule | undefined): string =>
  text(job.schedule_display) ?? schedule?.display ?? text(job.schedule) ?? ''

export const toJobPlan = (job: RawJob & { id: string }, now: number, zone: string): JobPlan => {
  const schedule = readSchedule(job.schedule, now, zone)
  const skills = skillsOf(job)
  const prompt = text(job.prompt) ?? ''
  return {
    id: job.id,
    name: text(job.name) ?? defaultName(prompt, skills),
    prompt,
    skills,
    model: text(job.model),
    provider: text(job.provider),
    baseUrl: text(job.base_url),
    script: text(job.script),
    isMembers: job.by === 'member',
    workdir: text(job.workdir),
    toolsets: Array.isArray(job.enabled_toolsets) ? job.enabled_toolsets.map(String) : null,
    deliver: text(job.deliver) ?? 'local',
    display: displayOf(job, schedule),
    schedule,
    enabled: job.enabled !== false,
    nextRunAt: parseInstant(job.next_run_at, zone) ?? null,
    nextRunOffset: offsetIn(job.next_run_at),
    createdAt: parseInstant(job.created_at, zone) ?? null,
    lastRunAt: parseInstant(job.last_run_at, zone) ?? null,
    ...repeatOf(job),
  }
}

/** The wire form, with every key; unknown keys are preserved. */
export const toWireJob = (
  job: RawJob & { id: string },
  { now, zone, running }: { now: number; zone: string; running: boolean },
): Job => {
  const plan = toJobPlan(job, now, zone)
  const or = (value: unknown): string | null => (typeof value === 'string' ? value : null)
  return {
    ...job,
    id: job.id,
    name: plan.name,
    prompt: plan.prompt,
    skills: plan.skills,
    skill: plan.skills[0] ?? null,
    model: plan.model,
    provider: plan.provider,
    base_url: plan.baseUrl,
    script: plan.script,
    schedule: job.schedule ?? null,
    schedule_display: plan.display,
    repeat: { times: plan.times, completed: plan.completed },
    enabled: plan.enabled,
    state: or(job.state) ?? (plan.enabled ? 'scheduled' : 'paused'),
    paused_at: or(job.paused_at),
    paused_reason: or(job.paused_reason),
    created_at: or(job.created_at),
    next_run_at: or(job.next_run_at),
    last_run_at: or(job.last_run_at),
    last_status: or(job.last_status),
    last_error: or(job.last_error),
    last_delivery_error: or(job.last_delivery_error),
    deliver: plan.deliver,
    origin: job.origin ?? null,
    words: plan.schedule ? inWords(plan.schedule, zone) : '',
    running,
  }
}
