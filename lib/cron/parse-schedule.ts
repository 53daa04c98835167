/** Parses schedules (interval, cron, date, delay) and describes them in words. Pure: `now` is milliseconds since 1970. */
import { CronExpressionParser } from 'cron-parser'
import cronstrue from 'cronstrue'
import { isObject } from '../base/json.ts'
import { invalid, messageOf } from '../errors.ts'
import type { Schedule } from '../schema/cron.ts'
import {
  fromWall,
  offsetMinutes,
  parseInstant,
  toIso,
  toMinute,
  toWall,
} from '../base/time-zone.ts'

const FORMS =
  'Enter an interval ("every 30m", "every 2h", "every 1d"), a cron expression ("0 9 * * 1-5"), a date and time ("2026-02-03T14:00"), a delay ("30m", "2h", "1d"), or plain words ("weekdays at 9", "tomorrow at 18:30").'

const UNITS: Readonly<Record<string, number>> = { m: 1, h: 60, d: 1_440 }
const DURATION = /^(\d{1,9})\s*(m|min|mins|minutes?|h|hrs?|hours?|d|days?)$/i
/** Ten years: more is a typo. */
const MAX_MINUTES = 3_653 * 1_440

/** Minutes of `30m`, `2 hours`, `1d`; undefined when it is not a duration. */
const minutesOf = (text: string): number | undefined => {
  const match = DURATION.exec(text.trim())
  if (!match) return undefined
  const minutes = Number(match[1]) * (UNITS[match[2]!.charAt(0).toLowerCase()] ?? 0)
  if (minutes < 1)
    throw invalid('The interval must be at least one minute.', { code: 'interval_too_short' })
  if (minutes > MAX_MINUTES)
    throw invalid('The interval must be at most ten years.', { code: 'interval_too_long' })
  return minutes
}

/** How late a one-shot may still run; see `graceMs`. */
export const ONCE_GRACE_MS = 120_000

/** Whether the fields are a cron expression. Names are allowed for months and weekdays only. */
const isCronText = (fields: readonly string[]): boolean =>
  fields.length >= 5 &&
  fields.every((field, at) =>
    (at === 3 || at === 4 ? /^[\d*\-,/A-Za-z]+$/ : /^[\d*\-,/]+$/).test(field),
  )

/** The host agent puts seconds last in six fields; the parsers here expect them first. */
const secondFirst = (expr: string): string => {
  const fields = expr.trim().split(/\s+/)
  return fields.length === 6 ? [fields[5], ...fields.slice(0, 5)].join(' ') : fields.join(' ')
}

/** The longest change of the clocks but for those that skip a day. */
const CHANGE_MS = 3 * 3_600_000

/** The first match after `ms`, by local times: `pass` says which instant is taken of one that is repeated. */
const inPass = (expr: string, ms: number, zone: string, pass: 'first' | 'last'): number => {
  // Shortly before and after a change, times of both sides are due.
  const starts = [-CHANGE_MS, 0, CHANGE_MS].map(
    near => ms + offsetMinutes(ms + near, zone) * 60_000,
  )
  const times = CronExpressionParser.parse(secondFirst(expr), {
    tz: 'UTC',
    currentDate: new Date(Math.min(...starts)),
  })
  for (let best = Number.POSITIVE_INFINITY; ; ) {
    const wall = times.next().getTime()
    const at = fromWall(wall, zone, pass)
    if (at <= ms) continue
    best = Math.min(best, at)
    // A skipped time may be due after later ones.
    if (toWall(at, zone) === wall) return best
  }
}

/**
 * The first match after `ms`. Throws the parser's Error. A time that a change of the clocks skips is due after the gap. One that
 * is repeated is due once, and twice where every hour is meant. The parser knows only changes by an hour, and answers otherwise
 * when it is asked within one.
 */
export const cronAfter = (expr: string, ms: number, zone: string): number => {
  const first = inPass(expr, ms, zone, 'first')
  const isHourly = /^(?:\*(?:\/1)?|0-23)$/.test(expr.trim().split(/\s+/)[1] ?? '')
  return isHourly ? Math.min(first, inPass(expr, ms, zone, 'last')) : first
}

const parseCron = (text: string, now: number, zone: string): Schedule => {
  const expr = text.split(/\s+/).join(' ')
  if (expr.split(' ').length > 6)
    throw invalid('A cron schedule has five fields, or six with the second at the end.', {
      code: 'invalid_schedule',
      values: { text: expr },
    })
  try {
    cronAfter(expr, now, zone)
  } catch (error) {
    throw invalid(`"${expr}" is not a cron schedule: ${messageOf(error)}.`, {
      code: 'invalid_schedule',
      values: { text: expr },
    })
  }
  return { kind: 'cron', expr, display: expr }
}

const parseMoment = (text: string, now: number, zone: string): Schedule => {
  const at = parseInstant(text, zone)
  if (at === undefined)
    throw invalid(`"${text}" is not a date and time; write it like 2026-02-03T14:00.`, {
      code: 'invalid_schedule',
      values: { text },
    })
  if (at < now - ONCE_GRACE_MS)
    throw invalid(`${toMinute(at, zone)} has passed (${zone}).`, { code: 'schedule_passed' })
  return { kind: 'once', run_at: toIso(at, zone), display: `once at ${toMinute(at, zone)}` }
}

/** Throws UserError with the problem or the supported formats. */
export const parseSchedule = (input: string, now: number, zone: string): Schedule => {
  const text = input.trim()
  if (text.length > 200)
    throw invalid(`This schedule is too long. ${FORMS}`, { code: 'schedule_too_long' })
  const every = /^every\s+(.+)$/i.exec(text)
  if (every) {
    const minutes = minutesOf(every[1]!)
    if (minutes === undefined)
      throw invalid(`"${text}" is not an interval. ${FORMS}`, {
        code: 'invalid_schedule',
        values: { text },
      })
    return { kind: 'interval', minutes, display: `every ${minutes}m` }
  }
  if (isCronText(text.split(/\s+/))) return parseCron(text, now, zone)
  if (/^\d{4}-\d{2}-\d{2}/.test(text) || /^\d.*T/.test(text)) return parseMoment(text, now, zone)
  const minutes = minutesOf(text)
  if (minutes === undefined)
    throw invalid(`"${text}" is not a schedule. ${FORMS}`, {
      code: 'invalid_schedule',
      values: { text },
    })
  const at = now + minutes * 60_000
  return { kind: 'once', run_at: toIso(at, zone), display: `once in ${text}` }
}

/** A stored schedule; undefined when it cannot be parsed. Some programs write numbers as text. */
export const readSchedule = (value: unknown, now: number, zone: string): Schedule | undefined => {
  if (typeof value === 'string') return readText(value, now, zone)
  if (!isObject(value)) return undefined
  const { kind, run_at, expr, display } = value
  const minutes = Number(value.minutes)
  const label = typeof display === 'string' ? display : ''
  if (kind === 'once' && typeof run_at === 'string' && parseInstant(run_at, zone) !== undefined)
    return { kind, run_at, display: label || `once at ${run_at}` }
  if (kind === 'interval' && minutes > 0 && minutes <= MAX_MINUTES)
    return { kind, minutes, display: label || `every ${minutes}m` }
  if (kind === 'cron' && typeof expr === 'string') return readText(expr, now, zone, label)
  return undefined
}

/** A string instead of a schedule object (another program wrote one) is parsed as typed now. */
const readText = (text: string, now: number, zone: string, display = ''): Schedule | undefined => {
  try {
    const schedule = parseSchedule(text, now, zone)
    return display ? { ...schedule, display } : schedule
  } catch {
    // Shown verbatim; never runs.
    return undefined
  }
}

const count = (value: number, unit: string): string =>
  value === 1 ? `Every ${unit}` : `Every ${value} ${unit}s`

/** "Every 30 minutes", "At 09:00, Monday through Friday", "Once, on 2026-02-03 at 14:00". */
export const inWords = (schedule: Schedule, zone: string): string => {
  if (schedule.kind === 'interval') {
    const { minutes } = schedule
    if (minutes % 1_440 === 0) return count(minutes / 1_440, 'day')
    if (minutes % 60 === 0) return count(minutes / 60, 'hour')
    return count(minutes, 'minute')
  }
  if (schedule.kind === 'once') {
    const at = parseInstant(schedule.run_at, zone)
    return at === undefined
      ? schedule.display
      : `Once, on ${toMinute(at, zone).replace(' ', ' at ')}`
  }
  try {
    return cronstrue.toString(secondFirst(schedule.expr), { use24HourTimeFormat: true })
  } catch {
    // Valid, but cronstrue cannot describe it: show the expression.
    return schedule.expr
  }
}
