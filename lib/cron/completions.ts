/** Jobs that completed since a point in time, for polling clients. Pure. */
import { toSeconds } from '../base/clock.ts'
import type { Completion } from '../schema/cron.ts'
import type { Run } from './history.ts'
import type { RawJob } from './jobs-file.ts'
import { parseInstant } from '../base/time-zone.ts'

const textOr = (value: unknown, otherwise: string): string =>
  typeof value === 'string' && value !== '' ? value : otherwise

/** `since` is in seconds, as clients send it. From the jobs' records, which other processes write too; finished one-shots are no longer listed and come from the history. */
export const completionsSince = (
  since: number,
  { jobs, runs, zone }: { jobs: readonly RawJob[]; runs: readonly Run[]; zone: string },
): Completion[] => {
  const seen = new Set(jobs.map(job => job.id))
  const listed = jobs.flatMap((job): Completion[] => {
    const at = parseInstant(job.last_run_at, zone)
    if (at === undefined || toSeconds(at) <= since) return []
    const status = textOr(job.last_status, 'unknown')
    const name = textOr(job.name, 'Unknown')
    return [{ job_id: String(job.id), name, status, completed_at: toSeconds(at) }]
  })
  const deleted = runs.flatMap((run): Completion[] => {
    const { job_id, name, ended_at, how } = run
    if (how !== 'ran' || ended_at === null || ended_at <= since || seen.has(job_id)) return []
    seen.add(job_id)
    return [{ job_id, name, status: run.status ?? 'unknown', completed_at: ended_at }]
  })
  return [...listed, ...deleted]
}
