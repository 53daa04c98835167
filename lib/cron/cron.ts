/** Scheduled jobs of every profile: one clock for all homes, one scheduler and job store per home. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import type { Home } from '../profiles/home.ts'
import { type EndedRun, History, type Run, type Runner, passedId } from './history.ts'
import { Jobs } from './jobs.ts'
import { JobsFile, type RawJob } from './jobs-file.ts'
import { readReports } from './outputs.ts'
import type { ContinuedWork } from '../turns/continued-turns.ts'
import { JobRunner } from './run-job.ts'
import type { CommandRunner } from '../agent/tool-services.ts'
import type { Failure } from '../agent/types.ts'
import type { UnattendedInput } from '../turns/start-turn.ts'
import type { RunOutcome, StartedTurn } from './until-end.ts'
import { type AdoptedRun, Scheduler } from './scheduler.ts'
import { parseInstant, toIso, zoneOf } from '../base/time-zone.ts'
import type { Completion } from '../schema/cron.ts'

const textOr = (value: unknown, otherwise: string): string =>
  typeof value === 'string' && value !== '' ? value : otherwise

/** `since` is in seconds, as clients send it. From the jobs' records, which other processes write too; finished one-shots are no longer listed and come from the history. */
const completionsSince = (
  since: number,
  { jobs, runs, zone }: { jobs: readonly RawJob[]; runs: readonly Run[]; zone: string },
): Completion[] => {
  const seen = new Set(jobs.map(job => job.id))
  const completions = jobs.flatMap((job): Completion[] => {
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
  return [...completions, ...deleted]
}

export type ContinuedTasks = {
  /** The model of a task whose turn continues. */
  endpoint: (
    home: Home,
    of: { model: string; baseUrl: string },
  ) => ReturnType<ContinuedWork['endpoint']>
  /** The task of a session, and how its turn ended; null for a session that is not here or was not begun by a task. */
  taskOf: (
    sessionId: string,
  ) => { home: Home; jobId: string; ended: () => RunOutcome | null } | null
}

export type CronServices = {
  homes: () => readonly Home[]
  /** Starts a turn. */
  start: (home: Home, input: UnattendedInput) => Promise<StartedTurn>
  /** False when the turn has already ended. */
  stop: (streamId: string, failure: Failure) => boolean
  /** No other process has these tasks, as in a cell of a cluster: runs of others have ended, on whichever machine they were. */
  isSole?: boolean | undefined
  /** Absent: no turn continues after a restart. */
  continued?: ContinuedTasks
  /** SKILL.md of a skill; null when there is no such skill. */
  skill: (home: Home, name: string) => string | null
  /** Why the home blocks all commands, or null. */
  forbids: (home: Home, script: string) => string | null
  /** Where the script of a job of this home runs; absent: directly on this computer. */
  runnerFor?: (home: Home, jobId: string) => CommandRunner | undefined
  log: (line: string, extra?: Record<string, unknown>) => void
  /** A run has ended, or a due time was missed or skipped, as the history records it. Must not throw. */
  onRun?: ((home: Home, run: EndedRun) => void) | undefined
  clock: Clock
}

/** The jobs of one home, with their scheduler and the history of their runs. */
export class HomeCron {
  readonly jobs: Jobs
  readonly history: History
  readonly scheduler: Scheduler
  readonly #home: Home
  readonly #dir: string
  readonly #runner: JobRunner

  constructor(home: Home, by: Runner, services: CronServices) {
    const { clock, log } = services
    this.#home = home
    this.#dir = join(home.dir, 'cron')
    const zone = () => this.zone()
    const file = new JobsFile(this.#dir, () => toIso(clock.now(), zone()))
    const report = (run: EndedRun) => services.onRun?.(home, run)
    this.history = new History(this.#dir, by, clock, report, services.isSole)
    this.jobs = new Jobs(file, home.dir, clock, zone)
    this.#runner = new JobRunner(home, this.#dir, zone, services)
    this.scheduler = new Scheduler({
      file,
      history: this.history,
      run: (job, hooks) => this.#runner.run(job, hooks),
      endedTurn: (job, run, sessionId) => {
        const ending = services.continued?.taskOf(sessionId)?.ended()
        return ending ? this.#runner.ended(job, run, ending) : null
      },
      knows: id => !services.continued || services.continued.taskOf(id) != null,
      clock,
      zone,
      log,
    })
  }

  /** The time zone of the schedules. */
  zone(): string {
    return zoneOf(this.#home.lenient.config().timezone)
  }

  /** What the turn of a run that this process takes over continues with. */
  resume(run: AdoptedRun) {
    return this.#runner.resume(run)
  }

  /** The newest output files of a job. */
  reports(id: string, limit: number) {
    return readReports(this.#dir, id, limit)
  }

  /** `since` is in seconds, as clients send it. */
  completions(since: number) {
    const [jobs, runs] = [this.jobs.list(), this.history.list()]
    return completionsSince(since, { jobs, runs, zone: this.zone() })
  }
}

const MINUTE_MS = 60_000

/**
 * Calls `tick` when a minute of the wall clock begins, until the returned function is called. A tick may come late, or twice when
 * the clock is set: it reads the current time, so nothing is missed or repeated. Does not keep the process alive.
 */
export const everyMinute = (clock: Clock, tick: () => void): (() => void) => {
  const wait = () =>
    clock.timer(MINUTE_MS - (clock.now() % MINUTE_MS), () => {
      cancel = wait()
      tick()
    })
  let cancel = wait()
  return () => cancel()
}

/** The scheduled jobs of all homes. */
export class Cron {
  readonly #services: CronServices
  /** Identifies this process in the histories. */
  readonly #by = { pid: process.pid, boot: randomBytes(6).toString('hex') }
  readonly #byHome = new Map<Home, HomeCron>()
  #stopTicking = (): void => {}

  constructor(services: CronServices) {
    this.#services = services
  }

  /** A profile that was deleted and recreated is another home. */
  of({ strict: home }: Home): HomeCron {
    const homeCron = this.#byHome.get(home) ?? new HomeCron(home, this.#by, this.#services)
    this.#byHome.set(home, homeCron)
    return homeCron
  }

  async tick(): Promise<void> {
    const homes = new Set(this.#services.homes())
    for (const [home, { scheduler }] of this.#byHome)
      if (!homes.has(home) && scheduler.running().length === 0) this.#byHome.delete(home)
    await Promise.all([...homes].map(home => this.of(home).scheduler.tick()))
  }

  #all() {
    return [...this.#byHome.values()].map(homeCron => homeCron.scheduler)
  }

  /** Checks what is due, now and every minute. */
  start(): void {
    this.#stopTicking = everyMinute(this.#services.clock, () => void this.tick())
    void this.tick()
  }

  /** What the turn of a task continues with after a restart, which this process then follows to its end. Call it before the first tick. */
  resume(sessionId: string): ContinuedWork | null {
    const { continued } = this.#services
    const task = continued?.taskOf(sessionId)
    if (!continued || !task) return null
    const cron = this.of(task.home)
    const adopted = cron.scheduler.adopt(task.jobId, sessionId)
    if (!adopted) return null
    const { unattended, onRun, ...model } = cron.resume(adopted)
    return {
      unattended,
      client: null,
      onRun,
      endpoint: () => continued.endpoint(task.home, model),
    }
  }

  /** Reports what ended since then, in milliseconds: the process may have been killed between recording and reporting it. */
  reportSince(since: number): void {
    for (const home of this.#services.homes())
      for (const run of this.of(home).history.list().toReversed()) {
        if (run.ended_at === null || fromSeconds(run.ended_at) < since) continue
        const isPassed = run.how === 'missed' || run.how === 'skipped'
        const due = Math.round(fromSeconds(run.due_at))
        this.#services.onRun?.(home, isPassed ? { ...run, run_id: passedId(run.job_id, due) } : run)
      }
  }

  /** Running jobs in all homes: profiles are not switched or deleted while there are any. */
  count(): number {
    return this.#all().reduce((sum, each) => sum + each.running().length, 0)
  }

  /** The first due time in all homes, in milliseconds since 1970; null when there is none. */
  nextDue(): number | null {
    const times = this.#services.homes().flatMap(home => this.of(home).scheduler.nextDue() ?? [])
    return times.length === 0 ? null : Math.min(...times)
  }

  /** Starts no further runs. Resolves when running ones have ended, or are parked with their turns. */
  async close(): Promise<void> {
    this.#stopTicking()
    for (const each of this.#all()) each.stop()
    await Promise.all(this.#all().map(each => each.whenIdle()))
  }
}
