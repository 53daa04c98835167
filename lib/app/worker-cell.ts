/** What is different where a worker runs this process: only forwarders reach it, it ends with its worker, and it ends when there is nothing to do. */
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { type Clock, every } from '../base/clock.ts'
import type { Config } from '../config.ts'
import { ForwardedOnly } from '../http/forwarded-only.ts'
import type { App } from './app.ts'

/** Rows change often while a turn runs. */
const STATUS_MS = 1_000
/** The time of the last activity need not be newer. */
const ACTIVE_MS = 30_000

/** What the process does without a request. Tells the cluster what lists of several cells show. */
export class Activity {
  readonly #app: App
  #reported = { running: -1, waiting: -1, activeAt: 0 }

  constructor(app: App) {
    this.#app = app
    if (app.cell.epoch === 0) return
    let isDue = false
    const changed = (): void => {
      if (isDue) return
      isDue = true
      app.clock.timer(STATUS_MS, () => {
        isDue = false
        this.#report(app.clock.now())
      })
    }
    app.hub.tap('list', changed)
    app.hub.tap('inbox', changed)
    this.#report(null)
  }

  isBusy(): boolean {
    const { turns, cron, processes, terminals, backups, imports } = this.#app
    return (
      turns.count() > 0 ||
      cron.count() > 0 ||
      processes.isAnyRunning() ||
      terminals.isAnyOpen() ||
      backups.isRunning() ||
      imports.isRunning()
    )
  }

  /** When it has something to do by itself, in milliseconds since 1970. */
  nextDue(): number | null {
    const { cron, notifications } = this.#app
    const times = [cron.nextDue(), notifications.nextDue()].filter(time => time !== null)
    return times.length === 0 ? null : Math.min(...times)
  }

  #report(activeAt: number | null): void {
    const { turns, cell } = this.#app
    const before = this.#reported
    const [running, waiting] = [turns.count(), turns.questions.all().length]
    const isSame = running === before.running && waiting === before.waiting
    if (isSame && (activeAt ?? 0) - before.activeAt < ACTIVE_MS) return
    this.#reported = { running, waiting, activeAt: activeAt ?? 0 }
    cell.report({ running, waiting, activeAt })
  }
}

/** A cell that waits for another owner longer than that is served elsewhere. */
const WAIT_MS = 30_000
const MAX_CHECK_MS = 30_000

/** The process of a cell that a worker runs. */
export class WorkerCell {
  readonly place: { token: string; signal: AbortSignal }
  /** Refuses requests that do not come from a forwarder. */
  readonly guard: ForwardedOnly
  readonly #clock: Clock
  readonly #idleMs: number
  #open = 0
  #since: number
  #end = (): void => process.exit(0)

  /** Undefined where no worker runs this process. */
  static of({ authHeader, cluster }: Config, clock: Clock): WorkerCell | undefined {
    return cluster === null || cluster.runBy === null
      ? undefined
      : new WorkerCell(authHeader, cluster.idleMs, clock)
  }

  private constructor(userHeader: string | null, idleMs: number, clock: Clock) {
    const token = randomBytes(24).toString('base64url')
    this.#clock = clock
    this.#idleMs = idleMs
    this.#since = clock.monotonic()
    this.place = { token, signal: AbortSignal.timeout(WAIT_MS) }
    this.guard = new ForwardedOnly(token, userHeader, res => this.#count(res))
    // The worker holds the other end of standard input, and the system closes it however the worker ends.
    process.stdin.on('error', () => this.#end())
    process.stdin.on('close', () => this.#end())
    process.stdin.resume()
  }

  /** `stop` is called once the worker has ended, or there was nothing to do for long enough. */
  begin(activity: Activity, stop: (why: string) => void): void {
    this.#end = () => stop('The worker has ended')
    if (this.#idleMs === 0) return
    every(this.#clock, Math.min(MAX_CHECK_MS, this.#idleMs / 4), () => {
      const at = this.#clock.monotonic()
      if (this.#open > 0 || activity.isBusy()) this.#since = at
      else if (at - this.#since >= this.#idleMs) stop('There is nothing to do')
    })
  }

  /** When a worker shall start the cell again: at once for what is under way, such as turns that are parked. */
  wakeAt(activity: Activity): number | null {
    return activity.isBusy() ? this.#clock.now() : activity.nextDue()
  }

  #count(res: ServerResponse): void {
    this.#open += 1
    res.once('close', () => {
      this.#open -= 1
      this.#since = this.#clock.monotonic()
    })
  }
}
