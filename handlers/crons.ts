/** Scheduled jobs of the profile: list, edit, run, and the results of their runs. */
import { withCodes } from '../lib/base/sentences.ts'
import { Sentences } from '../lib/schema/sentence.ts'
import { CHANGES } from '../lib/people/may.ts'
import { z } from 'zod'
import { toWireJob } from '../lib/cron/job.ts'
import { nextRuns } from '../lib/cron/next-run.ts'
import { deliveryError } from '../lib/cron/run-job.ts'
import { inWords, parseSchedule } from '../lib/cron/parse-schedule.ts'
import { scheduleIn } from '../lib/cron/schedule-languages.ts'
import { toExactSchedule } from '../lib/cron/schedule-words.ts'
import { pageLanguage } from '../lib/base/languages.ts'
import { isZone, toIso } from '../lib/base/time-zone.ts'
import { type Ctx, endpoint, requireOwner } from '../lib/context.ts'
import { invalid } from '../lib/errors.ts'
import { Completion, Job, JobId, JobRun } from '../lib/schema/cron.ts'
import { redactValue, redact } from '../lib/base/redact/redact.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { toBoolean } from '../lib/profiles/settings.ts'

const cronOf = (ctx: Ctx) => ctx.app.cron.of(ctx.home)

/** The exact form of a schedule in plain words of the page's language; any other text as it is. */
const inOwnWords = async (ctx: Ctx, schedule: string, zone: string): Promise<string> => {
  const header = ctx.req.headers['accept-language']
  const language = pageLanguage(ctx.app.personalSettings.of(ctx.person), header)
  return (await scheduleIn(language, schedule, ctx.app.clock.now(), zone)) ?? schedule
}

type StoredJob = Parameters<typeof toWireJob>[0]

const show = (ctx: Ctx, job: StoredJob) => {
  const cron = cronOf(ctx)
  const wire = toWireJob(job, {
    now: ctx.app.clock.now(),
    zone: cron.zone(),
    running: cron.scheduler.isBusy(job.id),
  })
  const last = cron.history
    .list()
    .find(run => run.job_id === job.id && run.error === wire.last_error)
  const error = wire.last_error ? last?.sentences?.error : undefined
  const delivery = deliveryError(wire.deliver)
  const sentences = {
    ...(error && { last_error: error }),
    ...(delivery?.text === wire.last_delivery_error && { last_delivery_error: delivery.coded }),
  }
  // Masked secrets that a client sends back are restored by `jobs.update`.
  return redactValue({ ...wire, ...(Object.keys(sentences).length > 0 && { sentences }) })
}

const text = z.string().optional()

/** A member has the agent do tasks; which programs run before them, and where models are, an owner decides. */
const requirePlain = (
  ctx: Ctx,
  fields: { script?: string | undefined; base_url?: string | undefined },
  before?: StoredJob,
): void => {
  // Clients may send the stored values back.
  const current = before && show(ctx, before)
  const isSame = (key: 'script' | 'base_url') =>
    fields[key] === undefined || fields[key].trim() === (current?.[key] ?? '')
  if (!isSame('script') || !isSame('base_url'))
    requireOwner(ctx, 'Only an owner can give a task a script or the address of a model.')
}

const Fields = z.object({
  name: text,
  prompt: text,
  schedule: text,
  deliver: text,
  skills: z.array(z.string().min(1)).max(50).optional(),
  model: text,
  provider: text,
  base_url: text,
  script: text,
  /** Total number of runs; 0 means unlimited. Clients that send the whole job send an object. */
  repeat: z
    .union([z.number(), z.looseObject({ times: z.number().optional() })])
    .optional()
    .transform(value => (typeof value === 'object' ? value.times : value))
    .pipe(z.number().int().min(-1).max(1_000_000).optional()),
})

export const list = endpoint({
  access: 'read',
  summary: 'Scheduled jobs, paused ones included',
  output: z.object({
    jobs: z.array(Job),
    /** The time zone of the schedules. */
    timezone: z.string(),
    /** Why the jobs file cannot be read; null when it can. */
    problem: z.string().nullable(),
    sentences: Sentences.optional(),
  }),
  run: ctx => {
    const cron = cronOf(ctx)
    return withCodes({
      jobs: cron.jobs.list().map(job => show(ctx, job)),
      timezone: cron.zone(),
      problem: cron.jobs.problem(),
    })
  },
})

const One = z.object({ ok: z.literal(true), job: Job })

export const create = endpoint({
  once: 'memory',
  access: CHANGES.tasks,
  summary: 'Create a scheduled job',
  input: Fields.extend({
    prompt: z.string({ error: 'prompt is required' }),
    schedule: z.string({ error: 'schedule is required' }).min(1, 'schedule is required'),
  }),
  output: One,
  run: async (ctx, input) => {
    requirePlain(ctx, input)
    const cron = cronOf(ctx)
    const schedule = await inOwnWords(ctx, input.schedule, cron.zone())
    return {
      ...ok,
      job: show(ctx, await cron.jobs.create({ ...input, schedule, by: ctx.person.role })),
    }
  },
})

export const update = endpoint({
  access: CHANGES.tasks,
  summary: 'Change a scheduled job; absent and null fields stay',
  input: Fields.extend({
    job_id: JobId,
    // Clients may send the stored object back: only a string changes the schedule.
    schedule: z
      .unknown()
      .transform(value => (typeof value === 'string' && value.trim() ? value : undefined))
      .optional(),
    enabled: z.unknown().optional(),
  }),
  output: One,
  run: async (ctx, { job_id, enabled, schedule: scheduleText, ...fields }) => {
    const flag = enabled === undefined || enabled === null ? undefined : toBoolean(enabled)
    const cron = cronOf(ctx)
    requirePlain(
      ctx,
      fields,
      cron.jobs.list().find(({ id }) => id === job_id),
    )
    const schedule = scheduleText && (await inOwnWords(ctx, scheduleText, cron.zone()))
    const job = await cron.jobs.update(job_id, {
      ...fields,
      schedule,
      enabled: flag,
      by: ctx.person.role,
    })
    return { ...ok, job: show(ctx, job) }
  },
})

const ByJob = z.object({ job_id: JobId })

export const remove = endpoint({
  access: CHANGES.tasks,
  summary: 'Delete a scheduled job; its output is kept',
  input: ByJob,
  output: Ok.extend({ job_id: z.string() }),
  run: async (ctx, { job_id }) => {
    await cronOf(ctx).jobs.remove(job_id)
    return { ...ok, job_id }
  },
})

export const run = endpoint({
  once: 'disk',
  access: CHANGES.tasks,
  summary: 'Run a job now, in the background',
  input: ByJob,
  output: Ok.extend({ job_id: z.string(), status: z.string(), elapsed: z.number() }),
  run: (ctx, { job_id }) => ({ ...ok, job_id, ...cronOf(ctx).scheduler.runNow(job_id) }),
})

export const pause = endpoint({
  access: CHANGES.tasks,
  summary: 'Pause a job',
  input: ByJob.extend({ reason: z.string().max(500).optional() }),
  output: One,
  run: async (ctx, { job_id, reason }) => ({
    ...ok,
    job: show(ctx, await cronOf(ctx).jobs.pause(job_id, reason?.trim() || null)),
  }),
})

export const resume = endpoint({
  once: 'disk',
  access: CHANGES.tasks,
  summary: 'Resume a paused job from now on',
  input: ByJob,
  output: One,
  run: async (ctx, { job_id }) => ({
    ...ok,
    job: show(ctx, await cronOf(ctx).jobs.resume(job_id)),
  }),
})

export const preview = endpoint({
  access: CHANGES.tasks,
  summary: 'A schedule in words, with its next three runs',
  input: z.object({
    schedule: z.string({ error: 'schedule is required' }).min(1, 'schedule is required'),
    /** Instead of the configured one. */
    timezone: z.string().optional(),
  }),
  output: Ok.extend({
    kind: z.enum(['once', 'interval', 'cron']),
    display: z.string(),
    words: z.string(),
    next: z.array(z.string()),
    timezone: z.string(),
  }),
  run: async (ctx, { schedule: scheduleText, timezone }) => {
    if (timezone && !isZone(timezone))
      throw invalid(
        `"${timezone.slice(0, 60)}" is not a time zone; write one like Europe/Berlin.`,
        { code: 'invalid_time_zone', values: { zone: timezone.slice(0, 60) } },
      )
    const now = ctx.app.clock.now()
    const zone = timezone || cronOf(ctx).zone()
    const exact = await toExactSchedule(await inOwnWords(ctx, scheduleText, zone), now, zone)
    const schedule = parseSchedule(exact, now, zone)
    const next = nextRuns(schedule, now, zone).map(at => toIso(at, zone))
    const { kind, display } = schedule
    return { ...ok, kind, display, words: inWords(schedule, zone), next, timezone: zone }
  },
})

const MAX_OUTPUTS = 50

export const output = endpoint({
  access: 'read',
  summary: 'Output of the last runs of a job',
  input: z.object({ job_id: JobId, limit: z.coerce.number().int().min(1).default(5) }),
  output: z.object({
    job_id: z.string(),
    outputs: z.array(z.object({ filename: z.string(), content: z.string() })),
  }),
  run: (ctx, { job_id, limit }) => ({
    job_id,
    outputs: cronOf(ctx)
      .reports(job_id, Math.min(limit, MAX_OUTPUTS))
      .map(report => ({ ...report, content: redact(report.content) })),
  }),
})

export const recent = endpoint({
  access: 'read',
  summary: 'Runs that ended since a given time',
  input: z.object({ since: z.coerce.number().default(0) }),
  output: z.object({
    completions: z.array(Completion),
    since: z.number(),
  }),
  run: (ctx, { since }) => ({ completions: redactValue(cronOf(ctx).completions(since)), since }),
})

export const history = endpoint({
  access: 'read',
  summary: 'Every scheduled run and its result, newest first; of one job or of all',
  input: z.object({
    job_id: JobId.optional(),
    limit: z.coerce.number().int().min(1).max(500).default(50),
    offset: z.coerce.number().int().min(0).default(0),
  }),
  output: z.object({
    job_id: z.string().nullable(),
    runs: z.array(JobRun),
    total: z.number(),
    limit: z.number(),
    offset: z.number(),
  }),
  run: (ctx, { job_id, limit, offset }) => {
    const all = cronOf(ctx)
      .history.list()
      .filter(each => job_id === undefined || each.job_id === job_id)
    const runs = all
      .slice(offset, offset + limit)
      .map(({ by: _, claimed_at: __, denied: ___, ...each }) => ({
        ...redactValue(each),
      }))
    return { job_id: job_id ?? null, runs, total: all.length, limit, offset }
  },
})

export const status = endpoint({
  access: 'read',
  summary: 'Running jobs, or whether one job is running',
  input: z.object({ job_id: JobId.optional() }),
  output: z.object({
    job_id: z.string().optional(),
    /** For one job, a flag; otherwise job id → seconds since it started. */
    running: z.union([z.boolean(), z.record(z.string(), z.number())]),
    elapsed: z.number().optional(),
    session_id: z.string().nullable().optional(),
    queued: z.array(z.string()),
    timezone: z.string(),
  }),
  run: (ctx, { job_id }) => {
    const cron = cronOf(ctx)
    const running = cron.scheduler.running()
    const shared = { queued: cron.scheduler.queued(), timezone: cron.zone() }
    if (job_id === undefined)
      return {
        running: Object.fromEntries(running.map(each => [each.job_id, each.elapsed])),
        ...shared,
      }
    const own = running.find(each => each.job_id === job_id)
    return {
      job_id,
      running: own !== undefined || cron.scheduler.isBusy(job_id),
      elapsed: own?.elapsed ?? 0,
      session_id: own?.session_id ?? null,
      ...shared,
    }
  },
})
