/** Times in files of other programs. */

/** Seconds since 1970 from seconds, milliseconds, nanoseconds, a number in quotes or a date string; undefined for anything else. */
export const toTime = (value: unknown): number | undefined => {
  if (typeof value === 'number') {
    if (!Number.isFinite(value) || value < 0) return undefined
    return value > 1e16 ? value / 1e9 : value > 1e11 ? value / 1000 : value
  }
  if (typeof value !== 'string' || value.trim() === '') return undefined
  const number = Number(value)
  if (Number.isFinite(number)) return toTime(number)
  const time = Date.parse(value)
  return Number.isNaN(time) ? undefined : toTime(time / 1000)
}
