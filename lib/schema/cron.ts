/** Scheduled jobs, as the agent's own jobs file keeps them and as they go over the wire. */
import { z } from 'zod'

export const JOB_ID = /^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$/
/** Ours are 12 lower-case hex; other programs may name theirs otherwise. A file is named after it. */
export const JobId = z.string({ error: 'job_id required' }).regex(JOB_ID, 'Invalid job_id')

export const Schedule = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('once'), run_at: z.string(), display: z.string() }),
    z.object({ kind: z.literal('interval'), minutes: z.number(), display: z.string() }),
    z.object({ kind: z.literal('cron'), expr: z.string(), display: z.string() }),
  ])
  .meta({ id: 'Schedule' })
export type Schedule = z.infer<typeof Schedule>

const text = z.string().nullable()

/** Times are ISO 8601 with offset. Keys of newer agents come along unchanged. */
export const Job = z
  .looseObject({
    id: z.string(),
    name: z.string(),
    prompt: z.string(),
    skills: z.array(z.string()),
    skill: text,
    model: text,
    provider: text,
    base_url: text,
    script: text,
    /** As stored; what nobody can read is passed on as it is. */
    schedule: z.unknown(),
    schedule_display: z.string(),
    repeat: z.object({ times: z.number().nullable(), completed: z.number() }),
    enabled: z.boolean(),
    state: z.string(),
    paused_at: text,
    paused_reason: text,
    created_at: text,
    next_run_at: text,
    last_run_at: text,
    last_status: text,
    last_error: text,
    last_delivery_error: text,
    deliver: z.string(),
    origin: z.unknown(),
    /** Beside the file: the schedule in words, and whether it runs at this moment. */
    words: z.string(),
    running: z.boolean(),
  })
  .meta({ id: 'Job' })
export type Job = z.infer<typeof Job>

/**
 * One due time, or one run by hand. `running` has no end yet; `ran` ended by itself, well or not;
 * `missed`: nobody was there (`count` due times up to `due_until`); `skipped`: the one before was still running;
 * `interrupted`: the service ended in its middle.
 */
export const JobRun = z
  .object({
    run_id: z.string(),
    job_id: z.string(),
    name: z.string(),
    how: z.enum(['queued', 'running', 'ran', 'missed', 'skipped', 'interrupted']),
    status: z.enum(['ok', 'error']).nullable(),
    trigger: z.enum(['schedule', 'manual']),
    /** Seconds since 1970, as all times here. */
    due_at: z.number(),
    due_until: z.number(),
    count: z.number(),
    started_at: z.number().nullable(),
    ended_at: z.number().nullable(),
    error: text,
    session_id: text,
    /** Name of the output file. */
    filename: text,
  })
  .meta({ id: 'JobRun' })
export type JobRun = z.infer<typeof JobRun>

/** A run that ended; `completed_at` in seconds since 1970. */
export const Completion = z
  .object({
    job_id: z.string(),
    name: z.string(),
    status: z.string(),
    completed_at: z.number(),
  })
  .meta({ id: 'Completion' })
export type Completion = z.infer<typeof Completion>
