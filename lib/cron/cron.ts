/** Scheduled jobs of every profile: one clock for all homes, one scheduler and one set of verbs for each. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Home } from '../profiles/home.ts'
import { completionsSince } from './completions.ts'
import { openHistory } from './history.ts'
import { createJobs } from './jobs.ts'
import { jobsFile } from './jobs-file.ts'
import { readReports } from './outputs.ts'
import { createJobRunner, type RunJobOptions } from './run-job.ts'
import { createScheduler } from './scheduler.ts'
import { toIso, zoneOf } from '../base/time-zone.ts'

export type CronOptions = {
  homes: () => readonly Home[]
  start: (
    home: Home,
    input: Parameters<RunJobOptions['start']>[0],
  ) => ReturnType<RunJobOptions['start']>
  stop: RunJobOptions['stop']
  skill: (home: Home, name: string) => string | null
  /** Why the home forbids every command, or null. */
  forbids: (home: Home) => string | null
  redact: (text: string) => string
  log: (line: string, extra?: Record<string, unknown>) => void
  /** Milliseconds since 1970. */
  now?: () => number
  /** Calls back each minute; answers how to stop it. Tests turn the clock by hand. */
  ticker?: (tick: () => void) => () => void
}

const START_MS = 1_000

const minutely = (log: CronOptions['log']) => (tick: () => void) => {
  const say = (message: string | Error) => log('clock', { message: String(message) })
  const stopped = new AbortController()
  const start = async () => {
    const { schedule } = await import('node-cron')
    if (stopped.signal.aborted) return
    const task = schedule('* * * * *', tick, {
      unref: true,
      // A late tick looks at the same clock: nothing is missed by it.
      suppressMissedWarning: true,
      logger: { info: () => undefined, debug: () => undefined, warn: say, error: say },
    })
    stopped.signal.addEventListener('abort', () => void task.destroy(), { once: true })
  }
  // Behind the start of the service, which looks at all due times itself: the first look at a clock of cron is dear.
  const later = setTimeout(() => void start().catch(say), START_MS)
  later.unref()
  stopped.signal.addEventListener('abort', () => clearTimeout(later), { once: true })
  return () => stopped.abort()
}

export type Cron = ReturnType<typeof createCron>

export const createCron = (deps: CronOptions) => {
  const { log, now = Date.now } = deps
  const by = { pid: process.pid, boot: randomBytes(6).toString('hex') }
  const rooms = new Map<Home, ReturnType<typeof open>>()

  const open = (home: Home) => {
    const dir = join(home.dir, 'cron')
    const zone = () => zoneOf(home.lenient.settings().timezone)
    const file = jobsFile(dir, () => toIso(now(), zone()))
    const history = openHistory(dir, by, now)
    const jobs = createJobs({ file, home: home.dir, now, zone })
    const run = createJobRunner({
      home,
      dir,
      start: input => deps.start(home, input),
      stop: deps.stop,
      skill: name => deps.skill(home, name),
      forbids: () => deps.forbids(home),
      redact: deps.redact,
      now,
      zone,
      log,
    })
    const scheduler = createScheduler({ file, history, run, now, zone, log })
    return {
      zone,
      now,
      jobs,
      history,
      scheduler,
      reports: (id: string, limit: number) => readReports(dir, id, limit),
      completions: (since: number) =>
        completionsSince(since, { jobs: jobs.list(), runs: history.list(), zone: zone() }),
    }
  }

  /** A profile that was deleted and made again is another home, with a room of its own. */
  const of = ({ strict: home }: Home) => {
    const room = rooms.get(home) ?? open(home)
    rooms.set(home, room)
    return room
  }

  const tick = async (): Promise<void> => {
    const homes = new Set(deps.homes())
    for (const [home, { scheduler }] of rooms)
      if (!homes.has(home) && scheduler.running().length === 0) rooms.delete(home)
    await Promise.all([...homes].map(home => of(home).scheduler.tick()))
  }
  const stopTicking = (deps.ticker ?? minutely(log))(() => void tick())
  const all = () => [...rooms.values()].map(room => room.scheduler)

  return {
    of,
    tick,
    /** Jobs that run now, in all homes: while there are any, no profile is switched or deleted. */
    count: (): number => all().reduce((sum, each) => sum + each.running().length, 0),
    /** No further runs; those that go on end as interrupted. Resolves when that is recorded. */
    async close(): Promise<void> {
      stopTicking()
      for (const each of all()) each.stop()
      await Promise.all(all().map(each => each.settled()))
    },
  }
}
