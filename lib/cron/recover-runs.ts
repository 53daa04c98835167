/** Runs of processes that have ended: those that had not begun run now, the others are recorded as they ended. */
import { fromSeconds } from '../base/clock.ts'
import { type Completion, completed } from './due-jobs.ts'
import type { Run } from './history.ts'
import { type JobPlan, toJobPlan } from './job.ts'
import { isJob } from './jobs-file.ts'
import type { Claim, RunResult, SchedulerOptions } from './scheduler.ts'

export const STOPPED = 'The server stopped while this task was running.'

const INTERRUPTED: RunResult = {
  status: 'error',
  error: STOPPED,
  deliveryError: null,
  filename: null,
  interrupted: true,
}

/** Later, what it was about to do may not be wanted any more. */
const MAX_PAUSE_MS = 24 * 3_600_000

export type RecoverOptions = Pick<
  SchedulerOptions,
  'file' | 'history' | 'clock' | 'zone' | 'endedTurn' | 'knows'
>

const isRecent = (run: Run, now: number): boolean =>
  now - fromSeconds(run.claimed_at) < MAX_PAUSE_MS

/** A run whose chat is in another state directory may continue there. */
const isOurs = ({ knows, clock }: RecoverOptions, run: Run): boolean =>
  run.session_id === null || !knows || knows(run.session_id) || !isRecent(run, clock.now())

/** Records the end of what cannot continue, under the lock, so that two services do not do it twice. Returns what runs now. */
export const recoverRuns = async (options: RecoverOptions): Promise<Claim[]> => {
  const { file, history, clock, zone } = options
  const mayRecover = (run: Run) => history.isAbandoned(run) && isOurs(options, run)
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
      if (plan && !isDue && run.started_at === null && isRecent(run, clock.now())) {
        history.resumed(run.run_id)
        claims.push({ run: run.run_id, plan })
        continue
      }
      const result = resultOf(options, run, isDue ? null : plan)
      const { status, error, sentences, filename, interrupted } = result
      history.ended(run.run_id, {
        how: interrupted ? 'interrupted' : 'ran',
        ...{ status, error, sentences, filename },
      })
      if (!isJob(job) || !plan || isDue) continue
      const when = interrupted ? fromSeconds(run.claimed_at) : clock.now()
      const done: Completion = { ...result, at: when, zone: zone() }
      const after = completed(job, plan, done)
      if (after) Object.assign(job, after)
      else jobs.splice(at, 1)
      write = true
    }
    return { result: undefined, write }
  })
  return claims
}

/** How its turn ended, where the process died between that and the record of the run. */
const resultOf = ({ endedTurn }: RecoverOptions, run: Run, plan: JobPlan | null): RunResult =>
  (plan && run.session_id !== null && endedTurn?.(plan, run, run.session_id)) || INTERRUPTED
