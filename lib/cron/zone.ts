/** Times in the zone the agent is configured for: its clock on the wall, and the texts it keeps in its files. */

/** The configured zone when there is such a one; else the machine's own, as the agent does. */
export const zoneOf = (configured: unknown): string => {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
  if (typeof configured !== 'string' || !configured.trim()) return own
  return isZone(configured.trim()) ? configured.trim() : own
}

export const isZone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    // A RangeError is how Intl says that it knows no such zone.
    return false
  }
}

/** Making one costs a hundred times as much as using it: a memory of a pure function, and bounded. */
const clocks = new Map<string, Intl.DateTimeFormat>()
const MOST_CLOCKS = 50

const clockOf = (zone: string): Intl.DateTimeFormat => {
  const known = clocks.get(zone)
  if (known) return known
  const clock = new Intl.DateTimeFormat('en-US', {
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
  if (clocks.size >= MOST_CLOCKS) clocks.clear()
  clocks.set(zone, clock)
  return clock
}

/** What the wall shows at `ms`, written as if it were UTC. */
const wallMs = (ms: number, zone: string): number => {
  const parts = clockOf(zone).formatToParts(ms)
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
  Math.round((wallMs(ms, zone) - ms) / 60_000)

/**
 * The moment a wall clock shows this. A time that does not exist (clocks go forward) is read with the offset before
 * the change, so it lies behind the gap; of a time that comes twice the first is meant.
 */
export const fromWall = (wall: number, zone: string): number => {
  const day = 86_400_000
  const before = wall - offsetMinutes(wall - day, zone) * 60_000
  if (wallMs(before, zone) === wall) return before
  const after = wall - offsetMinutes(wall + day, zone) * 60_000
  return wallMs(after, zone) === wall ? after : before
}

const two = (value: number): string => String(value).padStart(2, '0')

/** `2026-08-01T09:00:00+02:00`, with milliseconds only where there are some: the form the agent writes. */
export const toIso = (ms: number, zone: string): string => {
  const offset = offsetMinutes(ms, zone)
  const text = new Date(ms + offset * 60_000).toISOString().replace(/(?:\.000)?Z$/, '')
  const east = Math.abs(offset)
  return `${text}${offset < 0 ? '-' : '+'}${two(Math.floor(east / 60))}:${two(east % 60)}`
}

/** `2026-08-01_09-00-00`: the name of an output file. */
export const toStamp = (ms: number, zone: string): string =>
  toIso(ms, zone).slice(0, 19).replace('T', '_').replaceAll(':', '-')

/** `2026-08-01 09:00` */
export const toMinute = (ms: number, zone: string): string =>
  toIso(ms, zone).slice(0, 16).replace('T', ' ')

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?$/i

/** A moment in ISO 8601; without an offset it is meant in `zone`. Undefined when it is none. */
export const parseInstant = (text: unknown, zone: string): number | undefined => {
  if (typeof text !== 'string') return undefined
  const match = ISO.exec(text.trim())
  if (!match) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(part => Number(part ?? 0))
  const fraction = Math.floor(Number(`0.${match[7] ?? 0}`) * 1_000)
  const wall = Date.UTC(year, month - 1, day, hour, minute, second, fraction)
  const read = new Date(wall)
  const isReal =
    read.getUTCFullYear() === year &&
    read.getUTCMonth() === month - 1 &&
    read.getUTCDate() === day &&
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
