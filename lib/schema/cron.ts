/** Scheduled jobs, in the agent's jobs file and on the wire. */
import { z } from 'zod'
import { Sentences } from './sentence.ts'

export const JOB_ID = /^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$/
/** Ours are 12 lowercase hex digits; other programs use other ids. Used as a file name. */
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

/** Times are ISO 8601 with offset. Unknown keys of newer agents are passed through. */
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
    /** As stored; invalid values are passed through. */
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
    sentences: Sentences.optional(),
    last_delivery_error: text,
    deliver: z.string(),
    origin: z.unknown(),
    /** Not stored: the schedule in words, and whether the job is running. */
    words: z.string(),
    running: z.boolean(),
  })
  .meta({ id: 'Job' })
export type Job = z.infer<typeof Job>

/**
 * One scheduled or manual run. `ran`: ended, with or without an error. `missed`: the server was not running (`count` due
 * times up to `due_until`). `skipped`: the previous run was still running. `interrupted`: the server stopped during it.
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
    sentences: Sentences.optional(),
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
