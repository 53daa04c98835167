/**
 * The scheduler of one home: claims due jobs, runs them one after the other, and records every due time.
 *
 * A claim is on disk before its run begins: first the history records which due time was taken, then `next_run_at` is
 * advanced under the host agent's locks. Any process that checks later (another service, the host agent, this service
 * after a kill) finds the job not due. A run that died is therefore never repeated: its turn continues, or it is recorded
 * as interrupted.
 */
import type { Sentences } from '../schema/sentence.ts'
import { join } from 'node:path'
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import { conflict, messageOf, missing, UserError } from '../errors.ts'
import { withFileLock } from '../store/flock.ts'
import { type Completion, completed, type DecisionContext, decide, nextDue } from './due-jobs.ts'
import type { History, Run } from './history.ts'
import { type JobPlan, toJobPlan } from './job.ts'
import { isJob, type JobsFile } from './jobs-file.ts'
import { recoverRuns } from './recover-runs.ts'

export type RunResult = {
  status: 'ok' | 'error'
  error: string | null
  /** The code of the error, if it has one. */
  sentences?: Sentences
  deliveryError: string | null
  filename: string | null
  /** The service stopped during the run. */
  interrupted: boolean
}

export type RunHooks = {
  signal: AbortSignal
  session: (id: string) => void
  /** A command was denied, because no one can be asked. */
  denied: (text: string) => void
}

/** A run of an earlier process, which this one continues. */
export type AdoptedRun = {
  plan: JobPlan
  run: Run
  hooks: RunHooks
  /** Called once, with what follows it to its end. */
  follow: (work: () => Promise<RunResult | null>) => void
}

export type SchedulerOptions = {
  file: JobsFile
  history: History
  /** Runs one job, from its script to its output file. Must not reject; null: another process continues it. */
  run: (job: JobPlan, on: RunHooks) => Promise<RunResult | null>
  /** The result of a run whose turn has ended in this session; null where that is not known. */
  endedTurn?: (job: JobPlan, run: Run, sessionId: string) => RunResult | null
  /** Whether the session is one of this service. */
  knows?: (sessionId: string) => boolean
  clock: Clock
  zone: () => string
  log: (line: string, extra?: Record<string, unknown>) => void
}

export type Claim = { run: string; plan: JobPlan }
type Active = Claim & { startedAt: number; sessionId: string | null }

/** Ticks come every minute; a longer gap means that the service or the machine was suspended. */
const MAX_TICK_GAP_MS = 150_000
/** Manual runs at the same time in one home. */
const MAX_MANUAL_RUNS = 4

type Store = Pick<SchedulerOptions, 'file' | 'history' | 'clock' | 'zone'>

/** Updates the job's record after a run. A job that was deleted during the run stays deleted. */
const recordCompletion = (
  { file, clock, zone }: Store,
  id: string,
  done: Omit<Completion, 'at' | 'zone'>,
): Promise<void> =>
  file.edit(jobs => {
    const at = jobs.findIndex(each => isJob(each) && each.id === id)
    const job = jobs[at]
    if (!isJob(job)) return { result: undefined, write: false }
    const when = { at: clock.now(), zone: zone() }
    const after = completed(job, toJobPlan(job, when.at, when.zone), { ...done, ...when })
    if (after) Object.assign(job, after)
    else jobs.splice(at, 1)
    return { result: undefined, write: true }
  })

/** The open run that this turn belongs to. The process may have died before it recorded which session it had started. */
const findOpenRun = (history: History, jobId: string, sessionId: string): Run | undefined => {
  const open = history.list().filter(run => run.job_id === jobId && run.ended_at === null)
  return (
    open.find(run => run.session_id === sessionId) ??
    open.find(run => run.session_id === null && run.started_at !== null)
  )
}

const decideAll = (jobs: readonly unknown[], contextOf: () => DecisionContext) => {
  // The first use of a time zone takes tens of milliseconds: skip it without jobs.
  if (jobs.length === 0) return []
  const context = contextOf()
  return jobs.filter(isJob).flatMap(job => {
    const plan = toJobPlan(job, context.now, context.zone)
    const decision = decide(plan, context)
    return decision ? [{ job, plan, decision }] : []
  })
}

/** Claims everything that is due, in one write. Throws `unavailable` when another process holds the lock. */
const claimDue = async (
  { file, history }: Store,
  contextOf: () => DecisionContext,
): Promise<Claim[]> => {
  const claims: Claim[] = []
  try {
    await withFileLock(join(file.dir, '.tick.lock'), { timeoutMs: 0 }, () =>
      file.edit(jobs => {
        const found = decideAll(jobs, contextOf)
        for (const { job, plan, decision } of found) {
          const of = { job: plan.id, name: plan.name }
          for (const times of decision.passed) history.passed({ ...of, ...times })
          if (decision.run) {
            const run = history.claimed({ ...of, trigger: 'schedule', due: decision.run.due })
            claims.push({ run, plan })
          }
          Object.assign(job, decision.patch)
        }
        return { result: undefined, write: found.length > 0 }
      }),
    )
  } catch (error) {
    // `next_run_at` was not advanced, so the runs are not ours: the next tick finds the same jobs due.
    for (const { run } of claims) {
      const why = `It could not be claimed: ${messageOf(error)}`
      history.ended(run, { how: 'interrupted', status: 'error', error: why, filename: null })
    }
    throw error
  }
  return claims
}

export const createScheduler = (options: SchedulerOptions) => {
  const { file, history, clock, zone, log } = options
  const active = new Map<string, Active>()
  const waiting: Claim[] = []
  const pending = new Set<Promise<unknown>>()
  const stopping = new AbortController()
  let chain: Promise<void> = Promise.resolve()
  let lastTick: number | null = null
  let aliveSince = 0
  let recovery: Promise<void> | null = null

  const track = <T>(work: Promise<T>): Promise<T> => {
    pending.add(work)
    void work.finally(() => pending.delete(work))
    return work
  }

  /** Running or queued here, or running in another live process. */
  const isBusy = (id: string): boolean =>
    active.has(id) ||
    waiting.some(({ plan }) => plan.id === id) ||
    history
      .list()
      .some(run => run.job_id === id && run.ended_at === null && !history.isAbandoned(run))

  const contextOf = (): DecisionContext => ({ now: clock.now(), zone: zone(), aliveSince, isBusy })

  const recordResult = async ({ run, plan }: Claim, result: RunResult): Promise<void> => {
    const { filename, status, error, sentences, interrupted } = result
    try {
      await recordCompletion(options, plan.id, result)
    } catch (cause) {
      // A full disk or a damaged jobs file: the history still records the result.
      log('a scheduled task could not be recorded', { job: plan.id, error: messageOf(cause) })
    }
    const how = interrupted ? 'interrupted' : 'ran'
    history.ended(run, { how, status, error, sentences, filename })
  }

  const hooksOf = (run: string): RunHooks => ({
    signal: stopping.signal,
    session(id) {
      const entry = [...active.values()].find(each => each.run === run)
      if (entry) entry.sessionId = id
      history.session(run, id)
    },
    denied: text => history.denied(run, text),
  })

  /** An error boundary: every error is recorded in the history or the log. */
  const execute = async (
    claim: Claim,
    work: () => Promise<RunResult | null>,
    startedAt = clock.now(),
    sessionId: string | null = null,
  ): Promise<void> => {
    const { run, plan } = claim
    active.set(plan.id, { ...claim, startedAt, sessionId })
    try {
      const result = await work()
      if (result) await recordResult(claim, result)
      else history.parked(run)
    } catch (error) {
      log('a scheduled task failed', { job: plan.id, error: messageOf(error) })
    } finally {
      active.delete(plan.id)
    }
  }

  const begin = (claim: Claim): Promise<void> =>
    execute(claim, () => {
      // Not begun: the next process runs it.
      if (stopping.signal.aborted) return Promise.resolve(null)
      history.started(claim.run)
      return options.run(claim.plan, hooksOf(claim.run))
    })

  const enqueue = (claims: readonly Claim[]): void => {
    waiting.push(...claims)
    for (const claim of claims)
      chain = track(
        chain.then(() => {
          waiting.splice(waiting.indexOf(claim), 1)
          return begin(claim)
        }),
      )
  }

  return {
    /** Checks the clock once. Never rejects; the runs it starts continue in the background. */
    async tick(): Promise<void> {
      if (stopping.signal.aborted) return
      const at = clock.now()
      if (lastTick === null || at - lastTick > MAX_TICK_GAP_MS || at < lastTick) aliveSince = at
      lastTick = at
      // Reported elsewhere; nothing can be claimed in a file that cannot be written.
      if (file.problem() !== null) return
      try {
        // The next minute may begin while another process holds the lock: nothing is claimed before.
        const isFirst = recovery === null
        recovery ??= recoverRuns(options).then(enqueue)
        await (isFirst ? recovery : recovery.catch(() => undefined))
        // Most minutes nothing is due: no lock is taken for them.
        if (decideAll(file.read(), contextOf).length === 0) return
        enqueue(await claimDue(options, contextOf))
      } catch (error) {
        // Another process holds the lock and does the same work; everything else is logged.
        const isHeld = error instanceof UserError && error.kind === 'unavailable'
        if (!isHeld) log('could not check scheduled tasks', { error: messageOf(error) })
      }
    },

    /**
     * Takes over the run of a turn that continues after a restart, before the first tick. Null when there is none, or its
     * job was deleted. The jobs behind it wait for its end.
     */
    adopt(jobId: string, sessionId: string): AdoptedRun | null {
      const run = findOpenRun(history, jobId, sessionId)
      const job = file.read().find(each => isJob(each) && each.id === jobId)
      if (!run || !isJob(job)) return null
      const { run_id: id } = run
      history.resumed(id)
      if (run.session_id === null) history.session(id, sessionId)
      const plan = toJobPlan(job, clock.now(), zone())
      const { promise, resolve } = Promise.withResolvers<() => Promise<RunResult | null>>()
      const startedAt = fromSeconds(run.started_at ?? run.claimed_at)
      const done = track(
        execute({ run: id, plan }, async () => (await promise)(), startedAt, sessionId),
      )
      chain = chain.then(() => done)
      return { plan, run, hooks: hooksOf(id), follow: resolve }
    },

    /** Runs a job now, in parallel with running ones. A job that is already running is not started again. */
    runNow(id: string): { status: 'triggered' | 'running'; elapsed: number } {
      const job = file.read().find(each => each.id === id)
      if (!isJob(job)) throw missing('Job not found', { code: 'job_not_found' })
      const running = active.get(id)
      if (running) return { status: 'running', elapsed: toSeconds(clock.now() - running.startedAt) }
      if (isBusy(id)) return { status: 'running', elapsed: 0 }
      if (active.size >= MAX_MANUAL_RUNS)
        throw conflict(`${active.size} tasks are running already; wait for one to end.`, {
          code: 'too_many_jobs_running',
        })
      const plan = toJobPlan(job, clock.now(), zone())
      const of = { job: id, name: plan.name, trigger: 'manual' as const }
      const run = history.claimed({ ...of, due: clock.now() })
      void track(begin({ run, plan }))
      return { status: 'triggered', elapsed: 0 }
    },

    running: () =>
      [...active.values()].map(({ plan, startedAt, sessionId }) => ({
        job_id: plan.id,
        name: plan.name,
        started_at: toSeconds(startedAt),
        elapsed: toSeconds(clock.now() - startedAt),
        session_id: sessionId,
      })),
    /** The first due time of all jobs; null when there is none. */
    nextDue(): number | null {
      const jobs = file.problem() === null ? file.read().filter(isJob) : []
      if (jobs.length === 0) return null
      const context = contextOf()
      const times = jobs.flatMap(job => {
        const due = nextDue(toJobPlan(job, context.now, context.zone), context)
        return due === null ? [] : [due]
      })
      return times.length === 0 ? null : Math.min(...times)
    },
    queued: () => waiting.map(({ plan }) => plan.id),
    isBusy,
    /** No further runs; running ones are aborted. */
    stop: () => stopping.abort(new Error('The server is shutting down.')),
    /** Resolves when everything that was running has been recorded. */
    settled: async (): Promise<void> => {
      while (pending.size > 0) await Promise.allSettled([...pending])
    },
  }
}
