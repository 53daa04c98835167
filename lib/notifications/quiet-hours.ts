/** Quiet hours: whether it is quiet at a moment, and until when. */
import { fromWall, toWall } from '../base/time-zone.ts'
import type { QuietHours } from '../schema/notification.ts'

const DAY_MS = 86_400_000

const minutesOf = (time: string): number => {
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  return hours * 60 + minutes
}

/**
 * When the quiet hours at `now` end; null outside them. Both in milliseconds since 1970. Compares instants, not clock times: on
 * the day on which clocks go back, a repeated hour does not begin or end them twice.
 */
export const quietUntil = (now: number, { enabled, from, to, zone }: QuietHours): number | null => {
  if (!enabled || from === to) return null
  const midnight = Math.floor(toWall(now, zone) / DAY_MS) * DAY_MS
  const length = to > from ? 0 : DAY_MS
  for (const day of [midnight - DAY_MS, midnight]) {
    const start = fromWall(day + minutesOf(from) * 60_000, zone)
    const end = fromWall(day + length + minutesOf(to) * 60_000, zone)
    if (start <= now && now < end) return end
  }
  return null
}
