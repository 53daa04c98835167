/** Decides per tick what happens to each job: nothing, a run, or missed due times. Pure: moments are milliseconds since 1970. */
import { type JobPlan, repeatOf } from './job.ts'
import type { RawJob } from './jobs-file.ts'
import { dueTimes, graceMs, nextRun } from './next-run.ts'
import type { RunResult } from './run-job.ts'
import { sentence, type Words } from '../base/sentences.ts'
import { offsetMinutes, parseInstant, toIso, toMinute } from '../base/time-zone.ts'

export type PassedTimes = {
  how: 'missed' | 'skipped'
  due: number
  until: number
  count: number
  error: Words
}
export type Decision = {
  /** Changes to the job's record, written before the run. */
  patch: RawJob
  run: { due: number } | null
  passed: PassedTimes[]
}

export type DecisionContext = {
  now: number
  zone: string
  /** Since when the clock has been checked every minute. A job that became due later is late because of other runs, and not missed. */
  aliveSince: number
  isBusy: (id: string) => boolean
}

/** Nothing runs. */
const only = (patch: RawJob, ...passed: PassedTimes[]): Decision => ({ patch, run: null, passed })

/** The due time of a job. A one-shot without `next_run_at` that never ran is due at its own time. */
const dueOf = (plan: JobPlan, { zone }: DecisionContext): number | null => {
  if (plan.nextRunAt !== null || !plan.schedule) return plan.nextRunAt
  if (plan.schedule.kind !== 'once') return null
  if (plan.lastRunAt !== null) return null
  return parseInstant(plan.schedule.run_at, zone) ?? null
}

/** When the job is due; null: it is not, or that is not known yet. */
export const nextDue = (plan: JobPlan, look: DecisionContext): number | null =>
  plan.enabled && plan.schedule ? dueOf(plan, look) : null

/** Completed: kept in the list, so that it can be shown and rescheduled. */
const completedPatch = (error: Words | null): RawJob => ({
  next_run_at: null,
  enabled: false,
  state: 'completed',
  ...(error === null ? {} : { last_status: 'error', last_error: `${error}` }),
})

/** Other programs and rounding may put a due time this far beyond the one computed here. */
const TOLERANCE_MS = 60_000
const SET_BACK_MS = 300_000

/** Of a job that was created in the future: its delay, from now on. A date that was entered stays. */
const delayAgain = ({ schedule, createdAt, display }: JobPlan, now: number, zone: string) => {
  if (schedule?.kind !== 'once' || createdAt === null || createdAt <= now + TOLERANCE_MS)
    return null
  const at = parseInstant(schedule.run_at, zone)
  if (at === undefined || at < createdAt || !/^once in /.test(display)) return null
  const next = now + (at - createdAt)
  const patch = {
    schedule: { ...schedule, run_at: toIso(next, zone) },
    created_at: toIso(now, zone),
  }
  return { next, patch }
}

/**
 * What a stored due time should be that cannot be right: later than the schedule allows, as after a clock that was ahead, or
 * computed in another time zone. Null: it may be right. An earlier one is: other programs ask for a run at once so.
 */
const correctedDue = (
  plan: JobPlan,
  now: number,
  zone: string,
): { next: number; patch: RawJob } | null => {
  const { schedule, nextRunAt: due, nextRunOffset: offset } = plan
  if (due === null || !schedule) return null
  if (schedule.kind === 'once') return delayAgain(plan, now, zone)
  const last = plan.lastRunAt ?? undefined
  // A clock that was set back by less is corrected often: what has just run is not due again.
  const isJustAhead = last !== undefined && last > now && last <= now + SET_BACK_MS
  const next = nextRun(schedule, { now: isJustAhead ? last : now, zone, from: last })
  if (next === null || next === due) return null
  // An interval that was changed or resumed begins at that moment, whenever its last run was.
  const latest = schedule.kind === 'interval' ? now + schedule.minutes * 60_000 : next
  const isLate = due > latest + TOLERANCE_MS
  const isOfOtherZone =
    schedule.kind === 'cron' &&
    offset !== null &&
    offset !== offsetMinutes(due, zone) &&
    nextRun(schedule, { now: due - 1, zone }) !== due
  return isLate || isOfOtherZone ? { next, patch: {} } : null
}

/** Null when there is nothing to do. */
export const decide = (plan: JobPlan, look: DecisionContext): Decision | null => {
  const { now, zone, aliveSince } = look
  const { schedule } = plan
  if (!plan.enabled || !schedule) return null
  const due = dueOf(plan, look)
  const iso = (ms: number | null): string | null => (ms === null ? null : toIso(ms, zone))
  if (due === null) {
    if (schedule.kind === 'once') return only(completedPatch(null))
    const next = nextRun(schedule, { now, zone, from: plan.lastRunAt ?? undefined })
    return next === null ? null : only({ next_run_at: iso(next) })
  }
  const right = correctedDue(plan, now, zone)
  if (right) {
    const error = sentence('task.rescheduled', {
      next: toMinute(right.next, zone),
      time: toMinute(due, zone),
    })
    const passed: PassedTimes = { how: 'skipped', due: now, until: now, count: 1, error }
    return only({ ...right.patch, next_run_at: iso(right.next) }, passed)
  }
  if (due > now) return plan.nextRunAt === null ? only({ next_run_at: iso(due) }) : null
  const next = schedule.kind === 'once' ? null : nextRun(schedule, { now, zone, from: due })
  const times = dueTimes(schedule, due, now, zone)
  const range = { due: times.first, until: times.last, count: times.count }
  const passBy = (how: PassedTimes['how'], error: Words): Decision =>
    only(next === null ? completedPatch(error) : { next_run_at: iso(next) }, {
      how,
      ...range,
      error,
    })
  if (now - due > graceMs(schedule, due, zone) && due < aliveSince)
    return passBy('missed', sentence('task.missed', { time: toMinute(times.last, zone) }))
  if (look.isBusy(plan.id)) return passBy('skipped', sentence('task.busy'))
  // Several past due times are one run.
  const before = times.count - 1
  const error = sentence('task.once')
  return {
    patch: { next_run_at: iso(next), ...(next === null ? { enabled: false } : {}) },
    run: { due: times.last },
    passed: before > 0 ? [{ how: 'skipped', ...range, count: before, error }] : [],
  }
}

/** The changes after a run that ended `at`; null when the job has completed its runs and is deleted. One that was interrupted does not count. */
export const completed = (
  job: RawJob,
  plan: JobPlan,
  { status, error, deliveryError, interrupted }: RunResult,
  at: number,
  zone: string,
): RawJob | null => {
  const { times, completed: before } = repeatOf(job)
  const count = interrupted ? before : before + 1
  if (times !== null && count >= times && !interrupted) return null
  const { schedule } = plan
  const isOver = schedule?.kind === 'once' && (plan.nextRunAt === null || plan.nextRunAt <= at)
  const next =
    schedule && !isOver && plan.enabled && plan.nextRunAt === null
      ? nextRun(schedule, { now: at, zone })
      : null
  return {
    last_run_at: toIso(at, zone),
    last_status: status,
    last_error: error && `${error}`,
    last_delivery_error: deliveryError && `${deliveryError}`,
    repeat: { times, completed: count },
    ...(isOver ? { enabled: false, state: 'completed', next_run_at: null } : {}),
    ...(next === null ? {} : { next_run_at: toIso(next, zone) }),
  }
}
