/** Times in exports: seconds, milliseconds, or nanoseconds since 1970, as a number or in quotes, or a date. */

/** Seconds since 1970; undefined for anything else. */
export const timeOf = (value: unknown): number | undefined => {
  if (typeof value === 'number') {
    if (!Number.isFinite(value) || value <= 0) return undefined
    return value > 1e16 ? value / 1e9 : value > 1e11 ? value / 1000 : value
  }
  if (typeof value !== 'string' || value.trim() === '') return undefined
  const number = Number(value)
  if (Number.isFinite(number)) return timeOf(number)
  const time = Date.parse(value)
  return Number.isNaN(time) || time <= 0 ? undefined : time / 1000
}
