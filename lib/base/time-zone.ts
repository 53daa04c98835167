/**
 * Local times of a named time zone, over Intl: offsets, and the date formats of the host agent's files. Not luxon, which
 * cron-parser brings along: the texts and the reading of skipped and repeated hours are the host agent's. No Node.
 */

/** The configured zone when it exists; undefined when it is the machine's own. */
const namedZone = (configured: unknown): string | undefined => {
  const name = typeof configured === 'string' ? configured.trim() : ''
  return name !== '' && isZone(name) ? name : undefined
}

/** The configured zone when it exists, else the machine's own. */
export const zoneOf = (configured: unknown): string =>
  namedZone(configured) ?? (Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC')

/** The zone's name as the time zone database writes it (`europe/berlin` → `Europe/Berlin`); undefined for an unknown zone. */
export const canonicalZone = (name: string): string | undefined => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    // RangeError: no such zone.
    return undefined
  }
}

export const isZone = (name: string): boolean => canonicalZone(name) !== undefined

/** Creating a format costs a hundred times as much as using it. */
const formats = new Map<string, Intl.DateTimeFormat>()
const MAX_FORMATS = 50

const formatOf = (zone: string): Intl.DateTimeFormat => {
  const cached = formats.get(zone)
  if (cached) return cached
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  if (formats.size >= MAX_FORMATS) formats.clear()
  formats.set(zone, format)
  return format
}

/** The local time at `ms`, as the milliseconds of a UTC time with the same digits. */
export const toWall = (ms: number, zone: string): number => {
  const parts = formatOf(zone).formatToParts(ms)
  const at = (type: string): number =>
    Number(parts.find(part => part.type === type)?.value ?? Number.NaN)
  const wall = Date.UTC(
    at('year'),
    at('month') - 1,
    at('day'),
    at('hour'),
    at('minute'),
    at('second'),
  )
  return wall + (((ms % 1_000) + 1_000) % 1_000)
}

/** Minutes east of Greenwich at that moment. */
export const offsetMinutes = (ms: number, zone: string): number =>
  Math.round((toWall(ms, zone) - ms) / 60_000)

/**
 * The instant of a local time; the inverse of `toWall`. A skipped local time (clocks go forward) is read with the offset
 * before the change, so the result is after the gap. `pass`: which instant of a repeated one.
 */
export const fromWall = (wall: number, zone: string, pass: 'first' | 'last' = 'first'): number => {
  const day = 86_400_000
  const before = wall - offsetMinutes(wall - day, zone) * 60_000
  const after = wall - offsetMinutes(wall + day, zone) * 60_000
  const [one, other] = pass === 'first' ? [before, after] : [after, before]
  if (toWall(one, zone) === wall) return one
  return toWall(other, zone) === wall ? other : before
}

const two = (value: number): string => String(value).padStart(2, '0')

/** `2026-08-01T09:00:00+02:00`, with milliseconds only when they are not 0: the format of the host agent. */
export const toIso = (ms: number, zone: string): string => {
  const offset = offsetMinutes(ms, zone)
  const text = new Date(ms + offset * 60_000).toISOString().replace(/(?:\.000)?Z$/, '')
  const east = Math.abs(offset)
  return `${text}${offset < 0 ? '-' : '+'}${two(Math.floor(east / 60))}:${two(east % 60)}`
}

/** `2026-08-01_09-00-00`: the name of an output file. */
export const toStamp = (ms: number, zone: string): string =>
  toIso(ms, zone).slice(0, 19).replace('T', '_').replaceAll(':', '-')

/** The date at `ms` in the configured zone, else in the machine's own: `2026-08-01`. */
export const dayOf = (ms: number, configured: unknown): string => {
  const zone = namedZone(configured)
  if (zone !== undefined) return toIso(ms, zone).slice(0, 10)
  // Every turn asks, and the first format of Intl reads the data of all languages: 7 MB that stay.
  const offset = new Date(ms).getTimezoneOffset()
  return new Date(ms - offset * 60_000).toISOString().slice(0, 10)
}

/** `2026-08-01 09:00` */
export const toMinute = (ms: number, zone: string): string =>
  toIso(ms, zone).slice(0, 16).replace('T', ' ')

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?$/i

/** The offset in a text of this form, in minutes east of Greenwich; null where it has none, or only `Z`. */
export const offsetIn = (text: unknown): number | null => {
  const [, sign, hours = '0', minutes = '0'] =
    /T.*([+-])(\d{2}):?(\d{2})?$/.exec(typeof text === 'string' ? text.trim() : '') ?? []
  if (sign === undefined) return null
  const east = Number(hours) * 60 + Number(minutes)
  return sign === '-' ? -east : east
}

/** Milliseconds of an ISO 8601 date or date and time; without an offset it is local to `zone`. Undefined for other texts. */
export const parseInstant = (text: unknown, zone: string): number | undefined => {
  if (typeof text !== 'string') return undefined
  const match = ISO.exec(text.trim())
  if (!match) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(part => Number(part ?? 0))
  const fraction = Math.floor(Number(`0.${match[7] ?? 0}`) * 1_000)
  const wall = Date.UTC(year, month - 1, day, hour, minute, second, fraction)
  const date = new Date(wall)
  const isReal =
    date.getUTCFullYear() === year &&
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    hour < 24 &&
    minute < 60 &&
    second < 60
  if (!isReal) return undefined
  const offset = match[8]
  if (!offset) return fromWall(wall, zone)
  if (/z/i.test(offset)) return wall
  const [, hours = '0', minutes = '0'] = /^[+-](\d{2}):?(\d{2})?$/.exec(offset) ?? []
  const east = Number(hours) * 60 + Number(minutes)
  if (east > 18 * 60) return undefined
  return wall - (offset.startsWith('-') ? -east : east) * 60_000
}
