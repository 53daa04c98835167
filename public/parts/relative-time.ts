/** Relative times, and the date groups of the session list. */
import { pageLocale, t, withoutMarks } from '../strings/t.ts'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const startOfDay = (seconds: number): number => new Date(seconds * 1000).setHours(0, 0, 0, 0) / 1000

/** Short relative time: now, 5m, 3h, 2d, then the date. */
export const formatAgo = (seconds: number, now: number, locale = pageLocale()): string => {
  const age = now - seconds
  if (age < MINUTE) return t('time.now')
  if (age < HOUR) return t('time.minutes', { count: Math.floor(age / MINUTE) })
  if (age < DAY) return t('time.hours', { count: Math.floor(age / HOUR) })
  if (age < 7 * DAY) return t('time.days', { count: Math.floor(age / DAY) })
  const then = new Date(seconds * 1000)
  const sameYear = then.getFullYear() === new Date(now * 1000).getFullYear()
  return then.toLocaleDateString(locale, {
    day: 'numeric',
    month: 'short',
    ...(sameYear ? {} : { year: 'numeric' }),
  })
}

export const formatFull = (seconds: number, locale = pageLocale()): string =>
  withoutMarks(
    new Date(seconds * 1000).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' }),
  )

/** Heading of the session's date group; older sessions are grouped by month. */
export const groupOf = (seconds: number, now: number, locale = pageLocale()): string => {
  const today = startOfDay(now)
  if (seconds >= today) return t('list.today')
  // Not today − 24 h: a day may have 23 or 25 hours.
  if (seconds >= startOfDay(today - DAY / 2)) return t('list.yesterday')
  if (seconds >= startOfDay(today - 6.5 * DAY)) return t('list.week')
  if (seconds >= startOfDay(today - 29.5 * DAY)) return t('list.month')
  return new Date(seconds * 1000).toLocaleDateString(locale, { month: 'long', year: 'numeric' })
}
