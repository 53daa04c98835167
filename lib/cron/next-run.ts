/** When a job is due: its next run, its grace period, and past due times. Pure: moments are milliseconds since 1970. */
import type { Schedule } from '../schema/cron.ts'
import { cronAfter, ONCE_GRACE_MS } from './parse-schedule.ts'
import { parseInstant } from '../base/time-zone.ts'

const MIN_GRACE_MS = 120_000
const MAX_GRACE_MS = 7_200_000
/** Past due times are counted up to this number. */
const MAX_COUNTED = 10_000

const cronNext = (expr: string, ms: number, zone: string): number | null => {
  try {
    return cronAfter(expr, ms, zone)
  } catch {
    // Invalid fields, or a date that never occurs: no next run.
    return null
  }
}

/**
 * The first due time after `now`, or null when there is none.
 * `from`: a past due time; intervals stay aligned with it instead of restarting at `now`.
 */
export const nextRun = (
  schedule: Schedule,
  { now, zone, from }: { now: number; zone: string; from?: number | undefined },
): number | null => {
  if (schedule.kind === 'cron') return cronNext(schedule.expr, now, zone)
  if (schedule.kind === 'once') {
    const at = parseInstant(schedule.run_at, zone)
    return at !== undefined && at >= now - ONCE_GRACE_MS ? at : null
  }
  const step = schedule.minutes * 60_000
  if (from === undefined || from > now) return now + step
  return from + Math.max(1, Math.floor((now - from) / step) + 1) * step
}

/** The next `limit` runs, for display. */
export const nextRuns = (schedule: Schedule, now: number, zone: string, limit = 3): number[] => {
  const runs: number[] = []
  let at: number | null = schedule.kind === 'once' ? now + ONCE_GRACE_MS : now
  for (let i = 0; i < (schedule.kind === 'once' ? 1 : limit) && at !== null; i++) {
    at = nextRun(schedule, { now: at, zone, from: schedule.kind === 'interval' ? at : undefined })
    if (at !== null) runs.push(at)
  }
  return runs
}

/** How late a run may start: half the period, between two minutes and two hours; two minutes for a one-shot. */
export const graceMs = (schedule: Schedule, due: number, zone: string): number => {
  if (schedule.kind === 'once') return ONCE_GRACE_MS
  const next =
    schedule.kind === 'interval'
      ? due + schedule.minutes * 60_000
      : cronNext(schedule.expr, due, zone)
  const period = next === null ? 0 : next - due
  return Math.min(MAX_GRACE_MS, Math.max(MIN_GRACE_MS, period / 2))
}

/** The due times from `due` up to `now`: first, last and count. */
export const dueTimes = (
  schedule: Schedule,
  due: number,
  now: number,
  zone: string,
): { first: number; last: number; count: number } => {
  if (schedule.kind === 'once') return { first: due, last: due, count: 1 }
  if (schedule.kind === 'interval') {
    const step = schedule.minutes * 60_000
    const more = Math.max(0, Math.floor((now - due) / step))
    return { first: due, last: due + more * step, count: more + 1 }
  }
  let [last, count] = [due, 1]
  for (
    let at = cronNext(schedule.expr, due, zone);
    at !== null && at <= now && count < MAX_COUNTED;
  ) {
    last = at
    count += 1
    at = cronNext(schedule.expr, at, zone)
  }
  return { first: due, last, count }
}
