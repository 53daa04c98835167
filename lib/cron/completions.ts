/** Which jobs have ended since somebody last asked: what a page that polls is told. Pure. */
import type { Completion } from '../schema/cron.ts'
import type { Run } from './history.ts'
import type { RawJob } from './jobs-file.ts'
import { parseInstant } from '../base/time-zone.ts'

const textOr = (value: unknown, otherwise: string): string =>
  typeof value === 'string' && value !== '' ? value : otherwise

/** From the jobs' own records, whoever ran them; one-shots leave the list as they end, and are told from the history. */
export const completionsSince = (
  since: number,
  { jobs, runs, zone }: { jobs: readonly RawJob[]; runs: readonly Run[]; zone: string },
): Completion[] => {
  const told = new Set(jobs.map(job => job.id))
  const listed = jobs.flatMap((job): Completion[] => {
    const at = parseInstant(job.last_run_at, zone)
    if (at === undefined || at / 1_000 <= since) return []
    const status = textOr(job.last_status, 'unknown')
    const name = textOr(job.name, 'Unknown')
    return [{ job_id: String(job.id), name, status, completed_at: at / 1_000 }]
  })
  const gone = runs.flatMap((run): Completion[] => {
    const { job_id, name, ended_at, how } = run
    if (how !== 'ran' || ended_at === null || ended_at <= since || told.has(job_id)) return []
    told.add(job_id)
    return [{ job_id, name, status: run.status ?? 'unknown', completed_at: ended_at }]
  })
  return [...listed, ...gone]
}
