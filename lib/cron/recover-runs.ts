/** Runs of processes that have ended: those that had not begun run now, the others are recorded as they ended. */
import { fromSeconds } from '../base/clock.ts'
import { completed } from './due-jobs.ts'
import type { Run } from './history.ts'
import { toJobPlan } from './job.ts'
import { isJob } from './jobs-file.ts'
import { INTERRUPTED } from './run-job.ts'
import type { Claim, SchedulerOptions } from './scheduler.ts'

/** Later, what it was about to do may not be wanted any more. */
const MAX_PAUSE_MS = 24 * 3_600_000

/** Records the end of what cannot continue, under the lock, so that two services do not do it twice. Returns what runs now. */
export const recoverRuns = async ({
  file,
  history,
  clock,
  zone,
  endedTurn,
  knows,
}: SchedulerOptions): Promise<Claim[]> => {
  const isRecent = (run: Run) => clock.now() - fromSeconds(run.claimed_at) < MAX_PAUSE_MS
  // A run whose chat is in another state directory may continue there.
  const isOurs = (run: Run) =>
    run.session_id === null || !knows || knows(run.session_id) || !isRecent(run)
  const mayRecover = (run: Run) => history.isAbandoned(run) && isOurs(run)
  if (!history.list().some(mayRecover)) return []
  const claims: Claim[] = []
  await file.edit(jobs => {
    let write = false
    history.shorten()
    for (const run of history.list().filter(mayRecover).toReversed()) {
      const at = jobs.findIndex(each => isJob(each) && each.id === run.job_id)
      const job = jobs[at]
      const plan = isJob(job) ? toJobPlan(job, clock.now(), zone()) : null
      // Killed before the claim was written: the job is still due, and runs now.
      const isDue = plan?.nextRunAt != null && plan.nextRunAt <= fromSeconds(run.due_at)
      if (plan && !isDue && run.started_at === null && isRecent(run)) {
        history.resumed(run.run_id)
        claims.push({ run: run.run_id, plan })
        continue
      }
      // Its turn may have ended before the process died.
      const mayHaveEnded = plan && !isDue && run.session_id !== null
      const result = (mayHaveEnded && endedTurn?.(plan, run, run.session_id!)) || INTERRUPTED
      history.ended(run.run_id, result)
      if (!isJob(job) || !plan || isDue) continue
      const ended = result.interrupted ? fromSeconds(run.claimed_at) : clock.now()
      const after = completed(job, plan, result, ended, zone())
      if (after) Object.assign(job, after)
      else jobs.splice(at, 1)
      write = true
    }
    return { result: undefined, write }
  })
  return claims
}
