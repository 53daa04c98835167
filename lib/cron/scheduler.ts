/**
 * The clock of one home: claims what is due, runs it one after the other, and accounts for every due time.
 *
 * A claim is on disk before its run begins: the history says which due time was taken, then `next_run_at` is advanced under
 * the agent's locks. Whoever looks later, another service, the agent's own gateway, or we after a kill, finds the job
 * not due. A run that died in its middle is therefore never made twice; it is told as interrupted.
 */
import { join } from 'node:path'
import { conflict, messageOf, missing, UserError } from '../errors.ts'
import { withFileLock } from '../store/flock.ts'
import { type Completion, completed, decide, type Decision } from './due-jobs.ts'
import { type History, isAbandoned } from './history.ts'
import { type JobPlan, toJobPlan } from './job.ts'
import { isJob, type JobsFile } from './jobs-file.ts'

export type RunResult = {
  status: 'ok' | 'error'
  error: string | null
  deliveryError: string | null
  filename: string | null
  /** The service is going down. */
  interrupted: boolean
}

export type SchedulerOptions = {
  file: JobsFile
  history: History
  /** One run from script to output file. Must not reject. */
  run: (
    job: JobPlan,
    on: { signal: AbortSignal; session: (id: string) => void },
  ) => Promise<RunResult>
  now: () => number
  zone: () => string
  log: (line: string, extra?: Record<string, unknown>) => void
}

type Claim = { run: string; plan: JobPlan }
type Active = Claim & { startedAt: number; sessionId: string | null }

/** Ticks come every minute; after a longer pause nobody was looking. */
const PAUSE_MS = 150_000
/** Runs by hand at the same time in one home. */
const MOST_BY_HAND = 4
const STOPPED = 'The service stopped while this task was running.'

export type Scheduler = ReturnType<typeof createScheduler>

export const createScheduler = (deps: SchedulerOptions) => {
  const { file, history, now, zone, log } = deps
  const active = new Map<string, Active>()
  const waiting: Claim[] = []
  const going = new Set<Promise<unknown>>()
  const stopping = new AbortController()
  let chain: Promise<void> = Promise.resolve()
  let lastLook: number | null = null
  let aliveSince = 0
  let recovered = false

  const track = <T>(work: Promise<T>): Promise<T> => {
    going.add(work)
    void work.finally(() => going.delete(work))
    return work
  }

  /** Here, or in another process that lives. */
  const isBusy = (id: string): boolean =>
    active.has(id) ||
    waiting.some(({ plan }) => plan.id === id) ||
    history.list().some(run => run.job_id === id && run.ended_at === null && !isAbandoned(run))

  /** The job's record after a run. It may have gone meanwhile, and stays gone. */
  const record = (id: string, done: Omit<Completion, 'at' | 'zone'>): Promise<void> =>
    file.edit(jobs => {
      const at = jobs.findIndex(each => isJob(each) && each.id === id)
      const job = jobs[at]
      if (!isJob(job)) return { result: undefined, write: false }
      const when = { at: now(), zone: zone() }
      const after = completed(job, toJobPlan(job, when.at, when.zone), { ...done, ...when })
      if (after) Object.assign(job, after)
      else jobs.splice(at, 1)
      return { result: undefined, write: true }
    })

  const close = async ({ run, plan }: Claim, result: RunResult): Promise<void> => {
    const { filename, status, error, interrupted } = result
    try {
      await record(plan.id, result)
    } catch (cause) {
      // A full disk or a file somebody broke: the history at least says what happened.
      log('a scheduled task could not be recorded', { job: plan.id, error: messageOf(cause) })
    }
    history.ended(run, { how: interrupted ? 'interrupted' : 'ran', status, error, filename })
  }

  /** One of the three borders that catch: whatever goes wrong ends in the history and the log. */
  const execute = async (claim: Claim): Promise<void> => {
    const { run, plan } = claim
    const entry: Active = { ...claim, startedAt: now(), sessionId: null }
    const onSession = (id: string): void => {
      entry.sessionId = id
      history.session(run, id)
    }
    active.set(plan.id, entry)
    try {
      if (stopping.signal.aborted) return await close(claim, interruption)
      history.started(run)
      await close(claim, await deps.run(plan, { signal: stopping.signal, session: onSession }))
    } catch (error) {
      log('a scheduled task failed', { job: plan.id, error: messageOf(error) })
    } finally {
      active.delete(plan.id)
    }
  }

  const interruption: RunResult = {
    status: 'error',
    error: STOPPED,
    deliveryError: null,
    filename: null,
    interrupted: true,
  }

  /** Runs of processes that are gone. Under the lock, so that two services do not tell the same one twice. */
  const recover = async (): Promise<void> => {
    recovered = true
    if (!history.list().some(isAbandoned)) return
    await file.edit(jobs => {
      let write = false
      history.shorten()
      for (const run of history.list().filter(isAbandoned)) {
        history.ended(run.run_id, {
          how: 'interrupted',
          status: 'error',
          error: STOPPED,
          filename: null,
        })
        const job = jobs.find(each => isJob(each) && each.id === run.job_id)
        if (!isJob(job)) continue
        const plan = toJobPlan(job, now(), zone())
        // Killed before the claim was written: it is still due, and runs now.
        if (plan.nextRunAt !== null && plan.nextRunAt <= run.due_at * 1_000) continue
        const done = {
          status: 'error',
          error: STOPPED,
          deliveryError: null,
          interrupted: true,
        } as const
        const after = completed(job, plan, { ...done, at: run.claimed_at * 1_000, zone: zone() })
        if (after) Object.assign(job, after)
        write = true
      }
      return { result: undefined, write }
    })
  }

  const judgeAll = (jobs: readonly unknown[]) => {
    // The first look at a time zone costs a start tens of milliseconds: not for nothing.
    if (jobs.length === 0) return []
    const look = { now: now(), zone: zone(), aliveSince, isBusy }
    return jobs.filter(isJob).flatMap(job => {
      const plan = toJobPlan(job, look.now, look.zone)
      const verdict = decide(plan, look)
      return verdict ? [{ job, plan, verdict }] : []
    })
  }

  const account = (plan: JobPlan, { passed }: Decision): void => {
    for (const times of passed) history.passed({ job: plan.id, name: plan.name, ...times })
  }

  /** Everything that is due, taken in one write. */
  const claim = async (): Promise<Claim[]> => {
    const claims: Claim[] = []
    try {
      await withFileLock(join(file.dir, '.tick.lock'), { timeoutMs: 0 }, () =>
        file.edit(jobs => {
          const found = judgeAll(jobs)
          for (const { job, plan, verdict } of found) {
            account(plan, verdict)
            if (verdict.run) {
              const of = { job: plan.id, name: plan.name, trigger: 'schedule' as const }
              claims.push({ run: history.claimed({ ...of, due: verdict.run.due }), plan })
            }
            Object.assign(job, verdict.patch)
          }
          return { result: undefined, write: found.length > 0 }
        }),
      )
    } catch (error) {
      // Not advanced, so not ours to run: the next tick meets the same jobs again.
      for (const { run } of claims) {
        const why = `It could not be claimed: ${messageOf(error)}`
        history.ended(run, { how: 'interrupted', status: 'error', error: why, filename: null })
      }
      throw error
    }
    return claims
  }

  return {
    /** Looks at the clock once. Never rejects; the runs it starts go on behind it. */
    async tick(): Promise<void> {
      if (stopping.signal.aborted) return
      const at = now()
      if (lastLook === null || at - lastLook > PAUSE_MS || at < lastLook) aliveSince = at
      lastLook = at
      // Said elsewhere; nothing can be claimed in a file that cannot be written.
      if (file.problem() !== null) return
      try {
        if (!recovered) await recover()
        // Most minutes nothing is due: no lock is taken for them.
        if (judgeAll(file.read()).length === 0) return
        const claims = await claim()
        waiting.push(...claims)
        for (const each of claims) {
          chain = track(
            chain.then(() => {
              waiting.splice(waiting.indexOf(each), 1)
              return execute(each)
            }),
          )
        }
      } catch (error) {
        // Another runner holds the lock and does the same work; everything else is for the log.
        const isHeld = error instanceof UserError && error.kind === 'unavailable'
        if (!isHeld) log('scheduled tasks could not be looked at', { error: messageOf(error) })
      }
    },

    /** At once, beside whatever runs; a job that runs already is not started again. */
    runNow(id: string): { status: 'triggered' | 'running'; elapsed: number } {
      const job = file.read().find(each => each.id === id)
      if (!isJob(job)) throw missing('Job not found', { code: 'job_not_found' })
      const running = active.get(id)
      if (running) return { status: 'running', elapsed: (now() - running.startedAt) / 1_000 }
      if (isBusy(id)) return { status: 'running', elapsed: 0 }
      if (active.size >= MOST_BY_HAND)
        throw conflict(`${active.size} tasks are running already; wait for one to end.`, {
          code: 'too_many_jobs_running',
        })
      const plan = toJobPlan(job, now(), zone())
      const of = { job: id, name: plan.name, trigger: 'manual' as const }
      const run = history.claimed({ ...of, due: now() })
      void track(execute({ run, plan }))
      return { status: 'triggered', elapsed: 0 }
    },

    running: () =>
      [...active.values()].map(({ plan, startedAt, sessionId }) => ({
        job_id: plan.id,
        name: plan.name,
        started_at: startedAt / 1_000,
        elapsed: (now() - startedAt) / 1_000,
        session_id: sessionId,
      })),
    queued: () => waiting.map(({ plan }) => plan.id),
    isBusy,
    /** No further runs; those that go on are told. */
    stop: () => stopping.abort(new Error('The service is shutting down.')),
    /** After everything that was going on has been recorded. */
    settled: async (): Promise<void> => {
      while (going.size > 0) await Promise.allSettled([...going])
    },
  }
}
