/**
 * The scheduler of one home: claims due jobs, runs them one after the other, and records every due time.
 *
 * A claim is on disk before its run begins: first the history records which due time was taken, then `next_run_at` is
 * advanced under the host agent's locks. Any process that checks later (another service, the host agent, this service
 * after a kill) finds the job not due. A run that died is therefore never repeated: its turn continues, or it is recorded
 * as interrupted.
 */
import { join } from 'node:path'
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import { sentence } from '../base/sentences.ts'
import { conflict, messageOf, missing, UserError, wordsOf } from '../errors.ts'
import { withFileLock } from '../store/flock.ts'
import { completed, type DecisionContext, decide, nextDue } from './due-jobs.ts'
import type { History, Run } from './history.ts'
import { type JobPlan, toJobPlan } from './job.ts'
import { isJob, type JobsFile } from './jobs-file.ts'
import { INTERRUPTED, type RunResult } from './run-job.ts'

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

/** Updates the job's record after a run. A job that was deleted during the run stays deleted. */
const recordCompletion = (
  { file, clock, zone }: SchedulerOptions,
  id: string,
  result: RunResult,
): Promise<void> =>
  file.edit(jobs => {
    const at = jobs.findIndex(each => isJob(each) && each.id === id)
    const job = jobs[at]
    if (!isJob(job)) return { result: undefined, write: false }
    const now = clock.now()
    const after = completed(job, toJobPlan(job, now, zone()), result, now, zone())
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
  { file, history }: SchedulerOptions,
  contextOf: () => DecisionContext,
): Promise<Claim[]> => {
  const claims: Claim[] = []
  try {
    await withFileLock(join(file.dir, '.tick.lock'), { timeoutMs: 0 }, () =>
      file.edit(jobs => {
        const decisions = decideAll(jobs, contextOf)
        for (const { job, plan, decision } of decisions) {
          for (const times of decision.passed) history.passed(plan, times)
          if (decision.run)
            claims.push({ run: history.claimed(plan, 'schedule', decision.run.due), plan })
          Object.assign(job, decision.patch)
        }
        return { result: undefined, write: decisions.length > 0 }
      }),
    )
  } catch (error) {
    // `next_run_at` was not advanced, so the runs are not ours: the next tick finds the same jobs due.
    for (const { run } of claims) {
      history.ended(run, {
        ...INTERRUPTED,
        error: sentence('task.not_claimed', { reason: wordsOf(error) }),
      })
    }
    throw error
  }
  return claims
}

/** Later, what it was about to do may not be wanted any more. */
const MAX_PAUSE_MS = 24 * 3_600_000

/** Runs of processes that have ended: those that had not begun run now, the others are recorded as they ended. Records the end of what cannot continue, under the lock, so that two services do not do it twice. Returns what runs now. */
const recoverRuns = async ({
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
      const endMs = result.interrupted ? fromSeconds(run.claimed_at) : clock.now()
      const after = completed(job, plan, result, endMs, zone())
      if (after) Object.assign(job, after)
      else jobs.splice(at, 1)
      write = true
    }
    return { result: undefined, write }
  })
  return claims
}

export class Scheduler {
  readonly #options: SchedulerOptions
  readonly #active = new Map<string, Active>()
  readonly #waiting: Claim[] = []
  readonly #pending = new Set<Promise<unknown>>()
  readonly #stopping = new AbortController()
  #chain: Promise<void> = Promise.resolve()
  #lastTick: number | null = null
  #aliveSince = 0
  #recovery: Promise<void> | null = null

  constructor(options: SchedulerOptions) {
    this.#options = options
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#pending.add(work)
    void work.finally(() => this.#pending.delete(work))
    return work
  }

  /** Running or queued here, or running in another live process. */
  isBusy(id: string): boolean {
    return (
      this.#active.has(id) ||
      this.#waiting.some(({ plan }) => plan.id === id) ||
      this.#options.history
        .list()
        .some(
          run =>
            run.job_id === id && run.ended_at === null && !this.#options.history.isAbandoned(run),
        )
    )
  }

  #contextOf(): DecisionContext {
    return {
      now: this.#options.clock.now(),
      zone: this.#options.zone(),
      aliveSince: this.#aliveSince,
      isBusy: id => this.isBusy(id),
    }
  }

  async #recordResult({ run, plan }: Claim, result: RunResult): Promise<void> {
    try {
      await recordCompletion(this.#options, plan.id, result)
    } catch (cause) {
      // A full disk or a damaged jobs file: the history still records the result.
      this.#options.log('a scheduled task could not be recorded', {
        job: plan.id,
        error: messageOf(cause),
      })
    }
    this.#options.history.ended(run, result)
  }

  #hooksOf(run: string): RunHooks {
    return {
      signal: this.#stopping.signal,
      session: id => {
        const entry = [...this.#active.values()].find(each => each.run === run)
        if (entry) entry.sessionId = id
        this.#options.history.session(run, id)
      },
      denied: text => this.#options.history.denied(run, text),
    }
  }

  /** An error boundary: every error is recorded in the history or the log. */
  async #execute(
    claim: Claim,
    work: () => Promise<RunResult | null>,
    startedAt = this.#options.clock.now(),
    sessionId: string | null = null,
  ): Promise<void> {
    const { run, plan } = claim
    this.#active.set(plan.id, { ...claim, startedAt, sessionId })
    try {
      const result = await work()
      if (result) await this.#recordResult(claim, result)
      else this.#options.history.parked(run)
    } catch (error) {
      this.#options.log('a scheduled task failed', { job: plan.id, error: messageOf(error) })
    } finally {
      this.#active.delete(plan.id)
    }
  }

  #begin(claim: Claim): Promise<void> {
    return this.#execute(claim, () => {
      // Not begun: the next process runs it.
      if (this.#stopping.signal.aborted) return Promise.resolve(null)
      this.#options.history.started(claim.run)
      return this.#options.run(claim.plan, this.#hooksOf(claim.run))
    })
  }

  #enqueue(claims: readonly Claim[]): void {
    this.#waiting.push(...claims)
    for (const claim of claims)
      this.#chain = this.#track(
        this.#chain.then(() => {
          this.#waiting.splice(this.#waiting.indexOf(claim), 1)
          return this.#begin(claim)
        }),
      )
  }

  /** Checks the clock once. Never rejects; the runs it starts continue in the background. */
  async tick(): Promise<void> {
    if (this.#stopping.signal.aborted) return
    const at = this.#options.clock.now()
    if (this.#lastTick === null || at - this.#lastTick > MAX_TICK_GAP_MS || at < this.#lastTick)
      this.#aliveSince = at
    this.#lastTick = at
    // Reported elsewhere; nothing can be claimed in a file that cannot be written.
    if (this.#options.file.problem() !== null) return
    try {
      // The next minute may begin while another process holds the lock: nothing is claimed before.
      const isFirst = this.#recovery === null
      this.#recovery ??= recoverRuns(this.#options).then(claims => this.#enqueue(claims))
      await (isFirst ? this.#recovery : this.#recovery.catch(() => undefined))
      // Most minutes nothing is due: no lock is taken for them.
      if (decideAll(this.#options.file.read(), () => this.#contextOf()).length === 0) return
      this.#enqueue(await claimDue(this.#options, () => this.#contextOf()))
    } catch (error) {
      // Another process holds the lock and does the same work; everything else is logged.
      const isHeld = error instanceof UserError && error.kind === 'unavailable'
      if (!isHeld) this.#options.log('could not check scheduled tasks', { error: messageOf(error) })
    }
  }

  /**
   * Takes over the run of a turn that continues after a restart, before the first tick. Null when there is none, or its
   * job was deleted. The jobs behind it wait for its end.
   */
  adopt(jobId: string, sessionId: string): AdoptedRun | null {
    const run = findOpenRun(this.#options.history, jobId, sessionId)
    const job = this.#options.file.read().find(each => isJob(each) && each.id === jobId)
    if (!run || !isJob(job)) return null
    const { run_id: id } = run
    this.#options.history.resumed(id)
    if (run.session_id === null) this.#options.history.session(id, sessionId)
    const plan = toJobPlan(job, this.#options.clock.now(), this.#options.zone())
    const { promise, resolve } = Promise.withResolvers<() => Promise<RunResult | null>>()
    const startedAt = fromSeconds(run.started_at ?? run.claimed_at)
    const completion = this.#track(
      this.#execute({ run: id, plan }, async () => (await promise)(), startedAt, sessionId),
    )
    this.#chain = this.#chain.then(() => completion)
    return { plan, run, hooks: this.#hooksOf(id), follow: resolve }
  }

  /** Runs a job now, in parallel with running ones. A job that is already running is not started again. */
  runNow(id: string): { status: 'triggered' | 'running'; elapsed: number } {
    const job = this.#options.file.read().find(each => each.id === id)
    if (!isJob(job)) throw missing('Job not found', { code: 'job_not_found' })
    const running = this.#active.get(id)
    if (running)
      return {
        status: 'running',
        elapsed: toSeconds(this.#options.clock.now() - running.startedAt),
      }
    if (this.isBusy(id)) return { status: 'running', elapsed: 0 }
    if (this.#active.size >= MAX_MANUAL_RUNS)
      throw conflict(`${this.#active.size} tasks are running already; wait for one to end.`, {
        code: 'too_many_jobs_running',
      })
    const plan = toJobPlan(job, this.#options.clock.now(), this.#options.zone())
    const run = this.#options.history.claimed(plan, 'manual', this.#options.clock.now())
    void this.#track(this.#begin({ run, plan }))
    return { status: 'triggered', elapsed: 0 }
  }

  running(): {
    job_id: string
    name: string
    started_at: number
    elapsed: number
    session_id: string | null
  }[] {
    return [...this.#active.values()].map(({ plan, startedAt, sessionId }) => ({
      job_id: plan.id,
      name: plan.name,
      started_at: toSeconds(startedAt),
      elapsed: toSeconds(this.#options.clock.now() - startedAt),
      session_id: sessionId,
    }))
  }

  /** The first due time of all jobs; null when there is none. */
  nextDue(): number | null {
    const jobs =
      this.#options.file.problem() === null ? this.#options.file.read().filter(isJob) : []
    if (jobs.length === 0) return null
    const context = this.#contextOf()
    const times = jobs.flatMap(job => {
      const due = nextDue(toJobPlan(job, context.now, context.zone), context)
      return due === null ? [] : [due]
    })
    return times.length === 0 ? null : Math.min(...times)
  }

  queued(): string[] {
    return this.#waiting.map(({ plan }) => plan.id)
  }

  /** No further runs; running ones are aborted. */
  stop(): void {
    this.#stopping.abort(new Error('The server is shutting down.'))
  }

  /** Resolves when everything that was running has been recorded. */
  async whenIdle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled([...this.#pending])
  }
}
