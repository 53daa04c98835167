/** Scheduled jobs of every profile: one clock for all homes, one scheduler and job store per home. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Clock, fromSeconds } from '../base/clock.ts'
import type { Home } from '../profiles/home.ts'
import { completionsSince } from './completions.ts'
import { type History, openHistory, type Run } from './history.ts'
import { createJobs } from './jobs.ts'
import { everyMinute } from './every-minute.ts'
import { jobsFile } from './jobs-file.ts'
import { readReports } from './outputs.ts'
import type { ContinuedWork } from '../turns/continued-turns.ts'
import { createJobRunner, type RunJobOptions } from './run-job.ts'
import type { RunOutcome } from './until-end.ts'
import { createScheduler } from './scheduler.ts'
import { toIso, zoneOf } from '../base/time-zone.ts'

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

export type CronOptions = {
  homes: () => readonly Home[]
  start: (
    home: Home,
    input: Parameters<RunJobOptions['start']>[0],
  ) => ReturnType<RunJobOptions['start']>
  stop: RunJobOptions['stop']
  /** No other process has these tasks, as in a cell of a cluster: runs of others have ended, on whichever machine they were. */
  isSole?: boolean | undefined
  /** Absent: no turn continues after a restart. */
  continued?: ContinuedTasks
  skill: (home: Home, name: string) => string | null
  /** Why the home blocks all commands, or null. */
  forbids: (home: Home, script: string) => string | null
  /** Where the script of a job of this home runs; absent: directly on this computer. */
  runnerFor?: (home: Home, jobId: string) => ReturnType<RunJobOptions['runnerFor']>
  redact: (text: string) => string
  log: (line: string, extra?: Record<string, unknown>) => void
  /** A run has ended, or a due time was missed or skipped, as the history records it. Must not throw. */
  onRun?: ((home: Home, run: EndedRun) => void) | undefined
  clock: Clock
}

export type EndedRun = Pick<
  Run,
  'run_id' | 'job_id' | 'name' | 'how' | 'status' | 'error' | 'session_id' | 'count'
>

/** Names what was missed or skipped the same each time it is reported; `due` is in milliseconds. */
const passedId = (job: string, due: number): string => `${job}-${due}`

/** A history that also reports what it records. */
const withReports = (history: History, report: (run: EndedRun) => void): History => ({
  ...history,
  ended(id, ending) {
    history.ended(id, ending)
    const run = history.list().find(each => each.run_id === id)
    if (run) report(run)
  },
  passed(of) {
    history.passed(of)
    const { job: job_id, name, how, error, due, count } = of
    const run_id = passedId(job_id, due)
    report({ run_id, job_id, name, how, status: null, error, session_id: null, count })
  },
})

export type Cron = ReturnType<typeof createCron>

export const createCron = (deps: CronOptions) => {
  const { log, clock } = deps
  const by = { pid: process.pid, boot: randomBytes(6).toString('hex') }
  const byHome = new Map<Home, ReturnType<typeof open>>()

  const open = (home: Home) => {
    const dir = join(home.dir, 'cron')
    const zone = () => zoneOf(home.lenient.settings().timezone)
    const file = jobsFile(dir, () => toIso(clock.now(), zone()))
    const history = withReports(openHistory(dir, by, { clock, isSole: deps.isSole }), run =>
      deps.onRun?.(home, run),
    )
    const jobs = createJobs({ file, home: home.dir, clock, zone })
    const runner = createJobRunner({
      home,
      dir,
      start: input => deps.start(home, input),
      stop: deps.stop,
      skill: name => deps.skill(home, name),
      forbids: script => deps.forbids(home, script),
      runnerFor: jobId => deps.runnerFor?.(home, jobId),
      redact: deps.redact,
      clock,
      zone,
      log,
    })
    const scheduler = createScheduler({
      file,
      history,
      run: runner.run,
      endedTurn(job, run, sessionId) {
        const came = deps.continued?.taskOf(sessionId)?.ended()
        return came ? runner.ended(job, run, came) : null
      },
      ...(deps.continued && { knows: (id: string) => deps.continued?.taskOf(id) != null }),
      clock,
      zone,
      log,
    })
    return {
      resume: runner.resume,
      zone,
      now: clock.now,
      jobs,
      history,
      scheduler,
      reports: (id: string, limit: number) => readReports(dir, id, limit),
      completions: (since: number) =>
        completionsSince(since, { jobs: jobs.list(), runs: history.list(), zone: zone() }),
    }
  }

  /** A profile that was deleted and recreated is another home. */
  const of = ({ strict: home }: Home) => {
    const homeCron = byHome.get(home) ?? open(home)
    byHome.set(home, homeCron)
    return homeCron
  }

  const tick = async (): Promise<void> => {
    const homes = new Set(deps.homes())
    for (const [home, { scheduler }] of byHome)
      if (!homes.has(home) && scheduler.running().length === 0) byHome.delete(home)
    await Promise.all([...homes].map(home => of(home).scheduler.tick()))
  }
  let stopTicking = (): void => {}
  const all = () => [...byHome.values()].map(homeCron => homeCron.scheduler)

  return {
    of,
    tick,
    /** Checks what is due, now and every minute. */
    start(): void {
      stopTicking = everyMinute(clock, () => void tick())
      void tick()
    },
    /** What the turn of a task continues with after a restart, which this process then follows to its end. Call it before the first tick. */
    resume(sessionId: string): ContinuedWork | null {
      const { continued } = deps
      const task = continued?.taskOf(sessionId)
      if (!continued || !task) return null
      const { scheduler, resume } = of(task.home)
      const adopted = scheduler.adopt(task.jobId, sessionId)
      if (!adopted) return null
      const { unattended, onRun, ...model } = resume(adopted)
      return {
        unattended,
        client: null,
        onRun,
        endpoint: () => continued.endpoint(task.home, model),
      }
    },
    /** Reports what ended since then, in milliseconds: the process may have been killed between recording and reporting it. */
    reportSince(since: number): void {
      for (const home of deps.homes())
        for (const run of of(home).history.list().toReversed()) {
          if (run.ended_at === null || fromSeconds(run.ended_at) < since) continue
          const isPassed = run.how === 'missed' || run.how === 'skipped'
          const due = Math.round(fromSeconds(run.due_at))
          deps.onRun?.(home, isPassed ? { ...run, run_id: passedId(run.job_id, due) } : run)
        }
    },
    /** Running jobs in all homes: profiles are not switched or deleted while there are any. */
    count: (): number => all().reduce((sum, each) => sum + each.running().length, 0),
    /** The first due time in all homes, in milliseconds since 1970; null when there is none. */
    nextDue(): number | null {
      const times = deps.homes().flatMap(home => of(home).scheduler.nextDue() ?? [])
      return times.length === 0 ? null : Math.min(...times)
    },
    /** Starts no further runs. Resolves when running ones have ended, or are parked with their turns. */
    async close(): Promise<void> {
      stopTicking()
      for (const each of all()) each.stop()
      await Promise.all(all().map(each => each.settled()))
    },
  }
}
