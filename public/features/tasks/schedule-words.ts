/** Common schedules in words of the page's language; others are described by the server, in English. */
import { asObject } from '../../../lib/base/json.ts'
import { pageLocale, withoutMarks } from '../../strings/t.ts'
import { t } from './strings.ts'

/** Of the server's zone; formatted in UTC, so that it does not shift. */
const format = (ms: number, options: Intl.DateTimeFormatOptions): string =>
  withoutMarks(new Date(ms).toLocaleString(pageLocale(), { ...options, timeZone: 'UTC' }))

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const dayOf = (text: string): number => {
  const index = DAYS.indexOf(text.toLowerCase())
  return index >= 0 ? index : /^[0-7]$/.test(text) ? Number(text) % 7 : Number.NaN
}

/** Weekdays of a cron field such as `1-5` or `MON,FRI`, Monday first; null when it has another form. */
const weekdaysOf = (field: string): number[] | null => {
  const days = field.split(',').flatMap(part => {
    const [from = Number.NaN, to = from, ...more] = part.split('-').map(dayOf)
    const length = (to - from + 7) % 7
    return more.length > 0 || Number.isNaN(length)
      ? [Number.NaN]
      : Array.from({ length: length + 1 }, (_, at) => (from + at) % 7)
  })
  return days.some(Number.isNaN)
    ? null
    : [...new Set(days)].toSorted((a, b) => ((a + 6) % 7) - ((b + 6) % 7))
}

/** January 2, 2000 was a Sunday. */
const weekdayName = (day: number): string => format(Date.UTC(2000, 0, 2 + day), { weekday: 'long' })

const everyMinutes = (minutes: number): string => {
  if (minutes % 1_440 === 0) return t('every.days', { count: minutes / 1_440 })
  if (minutes % 60 === 0) return t('every.hours', { count: minutes / 60 })
  return t('every.minutes', { count: minutes })
}

const cronWords = (expr: string): string | null => {
  const [minute = '', hour = '', date = '', month = '', day = '', ...more] = expr.split(/\s+/)
  if (more.length > 0 || month !== '*') return null
  const isDaily = date === '*' && day === '*'
  const [, step] = /^\*\/(\d+)$/.exec(minute) ?? []
  // Steps that do not divide 60 are uneven: each hour starts at minute 0.
  if (step && 60 % Number(step) === 0 && hour === '*' && isDaily) return everyMinutes(Number(step))
  if (!/^\d+$/.test(minute)) return null
  if (hour === '*' && isDaily)
    return Number(minute) === 0 ? t('every.hours', { count: 1 }) : t('hourly', { minute })
  if (!/^\d+(?:,\d+)*$/.test(hour)) return null
  const times = hour
    .split(',')
    .map(each => format(Date.UTC(2000, 0, 1, Number(each), Number(minute)), { timeStyle: 'short' }))
  if (isDaily) return t('daily', { times })
  if (day === '*') return /^\d+$/.test(date) ? t('monthly', { day: date, times }) : null
  const days = date === '*' ? weekdaysOf(day) : null
  if (days === null) return null
  return days.join('') === '12345'
    ? t('weekdays', { times })
    : t('weekly', { days: days.map(weekdayName), times })
}

/** `schedule`: as stored, so its values may be invalid. */
export const scheduleWords = (schedule: unknown, ofServer: string): string => {
  const { kind, expr, minutes, run_at } = asObject(schedule)
  if (kind === 'cron' && typeof expr === 'string') return cronWords(expr) ?? ofServer
  if (kind === 'interval' && Number.isInteger(minutes) && Number(minutes) > 0)
    return everyMinutes(Number(minutes))
  const at = kind === 'once' ? Date.parse(`${String(run_at).slice(0, 16)}Z`) : Number.NaN
  return Number.isNaN(at)
    ? ofServer
    : t('once', { time: format(at, { dateStyle: 'medium', timeStyle: 'short' }) })
}
