/** Times of tasks in the browser's time zone: date, distance, and duration. */
import { pageLocale } from '../../strings/t.ts'
import { t } from './strings.ts'

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** "in 2 hours", "5 minutes ago"; "due now" within a minute. */
export const formatDistance = (seconds: number, now: number, locale = pageLocale()): string => {
  const distance = seconds - now
  const size = Math.abs(distance)
  if (size < 60) return t('next.soon')
  const words = new Intl.RelativeTimeFormat(locale, { numeric: 'always', style: 'long' })
  for (const [unit, length] of UNITS)
    if (size >= length) return words.format(Math.round(distance / length), unit)
  return t('next.soon')
}

/** "Tue, Feb 3, 9:00 AM"; with the year only when it is not the current one. */
export const formatMoment = (seconds: number, now: number, locale = pageLocale()): string => {
  const then = new Date(seconds * 1_000)
  const { hour12 } = new Intl.DateTimeFormat(locale, { hour: 'numeric' }).resolvedOptions()
  const isThisYear = then.getFullYear() === new Date(now * 1_000).getFullYear()
  return then.toLocaleString(locale, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    // As a clock of this language shows it: 9:00 AM, 09:00.
    hour: hour12 ? 'numeric' : '2-digit',
    minute: '2-digit',
    ...(isThisYear ? {} : { year: 'numeric' }),
  })
}

export const formatDuration = (seconds: number): string =>
  seconds < 90
    ? t('seconds', { count: Math.max(1, Math.round(seconds)) })
    : t('minutes', { count: Math.round(seconds / 60) })

export const secondsOf = (iso: string | null): number | null => {
  const ms = iso === null ? Number.NaN : Date.parse(iso)
  return Number.isNaN(ms) ? null : ms / 1_000
}
