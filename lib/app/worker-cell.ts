/** Composition: what is different where a worker runs this process: only forwarders reach it, it ends with its worker, and it ends when there is nothing to do. */
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { type Clock, every } from '../base/clock.ts'
import type { Backups } from '../operations/backups/backups.ts'
import type { Config } from '../config.ts'
import type { Cron } from '../cron/cron.ts'
import { createForwardedOnly } from '../http/forwarded-only.ts'
import type { ImportJobs } from '../sessions/imports/import-jobs.ts'
import type { Notifications } from '../notifications/notifications.ts'
import type { ProcessRegistry } from '../commands/processes.ts'
import type { Terminals } from '../workspaces/terminals/terminals.ts'
import type { Turns } from '../turns/turns.ts'
import type { Composition } from './data.ts'

/** What the process does without a request. */
export type Activity = {
  isBusy(): boolean
  /** When it has something to do by itself, in milliseconds since 1970. */
  nextDue(): number | null
}

/** Rows change often while a turn runs. */
const STATUS_MS = 1_000
/** The time of the last activity need not be newer. */
const ACTIVE_MS = 30_000

/** Tells the cluster what lists of several cells show. */
const reportStatus = ({ clock, data, cell }: Composition, turns: Turns): void => {
  if (cell.epoch === 0) return
  let reported = { running: -1, waiting: -1, activeAt: 0 }
  let isDue = false
  const report = (activeAt: number | null): void => {
    isDue = false
    const [running, waiting] = [turns.count(), turns.questions.all().length]
    const isSame = running === reported.running && waiting === reported.waiting
    if (isSame && (activeAt ?? 0) - reported.activeAt < ACTIVE_MS) return
    reported = { running, waiting, activeAt: activeAt ?? 0 }
    cell.report({ running, waiting, activeAt })
  }
  const changed = (): void => {
    if (isDue) return
    isDue = true
    clock.timer(STATUS_MS, () => report(clock.now()))
  }
  data.hub.tap('list', changed)
  data.hub.tap('inbox', changed)
  report(null)
}

/** Also reports it to the cluster. */
export const composeActivity = (
  composition: Composition,
  of: {
    turns: Turns
    cron: Pick<Cron, 'count' | 'nextDue'>
    processes: Pick<ProcessRegistry, 'isAnyRunning'>
    terminals: Pick<Terminals, 'isAnyOpen'>
    backups: Pick<Backups, 'isRunning'>
    imports: Pick<ImportJobs, 'isRunning'>
    notifications: Pick<Notifications, 'nextDue'>
  },
): Activity => {
  reportStatus(composition, of.turns)
  return {
    isBusy: () =>
      of.turns.count() > 0 ||
      of.cron.count() > 0 ||
      of.processes.isAnyRunning() ||
      of.terminals.isAnyOpen() ||
      of.backups.isRunning() ||
      of.imports.isRunning(),
    nextDue() {
      const times = [of.cron.nextDue(), of.notifications.nextDue()].filter(time => time !== null)
      return times.length === 0 ? null : Math.min(...times)
    },
  }
}

/** A cell that waits for another owner longer than that is served elsewhere. */
const WAIT_MS = 30_000
const MAX_CHECK_MS = 30_000

export type WorkerCell = ReturnType<typeof startWorkerCell>

const startWorkerCell = (
  { authHeader, cluster }: Config & { cluster: { idleMs: number } },
  clock: Clock,
) => {
  const token = randomBytes(24).toString('base64url')
  const idle = { open: 0, since: clock.monotonic() }
  let end = (): void => process.exit(0)
  // The worker holds the other end of standard input, and the system closes it however the worker ends.
  process.stdin.on('error', () => end())
  process.stdin.on('close', () => end())
  process.stdin.resume()

  const count = (res: ServerResponse): void => {
    idle.open += 1
    res.once('close', () => {
      idle.open -= 1
      idle.since = clock.monotonic()
    })
  }
  return {
    place: { token, signal: AbortSignal.timeout(WAIT_MS) },

    guard: createForwardedOnly({ token, userHeader: authHeader, onRequest: count }),

    /** `stop` is called once the worker has ended, or there was nothing to do for long enough. */
    begin(activity: Activity, stop: (why: string) => void): void {
      end = () => stop('The worker has ended')
      const { idleMs } = cluster
      if (idleMs === 0) return
      const check = (): void => {
        if (idle.open > 0 || activity.isBusy()) idle.since = clock.monotonic()
        else if (clock.monotonic() - idle.since >= idleMs) stop('There is nothing to do')
      }
      every(clock, Math.min(MAX_CHECK_MS, idleMs / 4), check)
    },

    /** When a worker shall start the cell again: at once for what is under way, such as turns that are parked. */
    wakeAt: (activity: Activity): number | null =>
      activity.isBusy() ? clock.now() : activity.nextDue(),
  }
}

/** Null where no worker runs this process. */
export const createWorkerCell = (config: Config, clock: Clock): WorkerCell | null => {
  const { cluster } = config
  return cluster === null || cluster.runBy === null
    ? null
    : startWorkerCell({ ...config, cluster }, clock)
}
