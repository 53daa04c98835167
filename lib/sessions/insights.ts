/** Usage reports: the catalog's 15-minute buckets, grouped by day, model, profile and source. */
import { toSeconds } from '../base/clock.ts'
import { canonicalZone, toWall } from '../base/time-zone.ts'
import { invalid } from '../errors.ts'
import type { UsageBucket } from './catalog.ts'

export const MAX_DAYS = 365

type Amount = {
  turns: number
  input_tokens: number
  output_tokens: number
  total_tokens: number
  estimated_cost: number
  /** Parts of `input_tokens`: read from and written to the provider's prompt cache. */
  cache_read_tokens: number
  cache_write_tokens: number
}

const zeroUsage = (): Amount => ({
  turns: 0,
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  estimated_cost: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
})

const add = (sum: Amount, bucket: UsageBucket): void => {
  const { turns, input_tokens, output_tokens, cost } = bucket
  sum.turns += turns
  sum.input_tokens += input_tokens
  sum.output_tokens += output_tokens
  sum.total_tokens += input_tokens + output_tokens
  sum.estimated_cost += cost
  sum.cache_read_tokens += bucket.cache_read_tokens
  sum.cache_write_tokens += bucket.cache_write_tokens
}

/** Local time of an instant, both in milliseconds. */
const createWallClock = (zone: string) => (at: number) => {
  const wall = toWall(at, zone)
  return { wall, hour: Math.floor(wall / 3_600_000) % 24 }
}

/** The time zone to count days in. */
export const requireZone = (zone: string): string => {
  const name = canonicalZone(zone)
  if (name === undefined) throw invalid('timezone must be a name like Europe/Berlin')
  return name
}

const DAY_MS = 86_400_000
const dateOf = (wall: number): string => new Date(wall).toISOString().slice(0, 10)

/** The last days up to today, oldest first, and the instant the first one begins; milliseconds since 1970. */
export const daysUpTo = (
  now: number,
  { days, zone }: { days: number; zone: string },
): { dates: string[]; since: number } => {
  const wallAt = createWallClock(zone)
  const today = Math.floor(wallAt(now).wall / DAY_MS) * DAY_MS
  const dates = Array.from({ length: days }, (_, at) => dateOf(today - (days - 1 - at) * DAY_MS))
  const first = today - (days - 1) * DAY_MS
  // The offset at the day's beginning may be another than now; the second look settles it.
  let since = first
  for (let look = 0; look < 2; look += 1) since -= wallAt(since).wall - first
  return { dates, since }
}

const groupBy = <K extends string, B extends UsageBucket>(
  buckets: readonly B[],
  keyOf: (bucket: B) => Record<K, string>,
): (Record<K, string> & Amount)[] => {
  const rows = new Map<string, Record<K, string> & Amount>()
  for (const bucket of buckets) {
    const key = keyOf(bucket)
    const name = JSON.stringify(key)
    const row = rows.get(name) ?? { ...key, ...zeroUsage() }
    add(row, bucket)
    rows.set(name, row)
  }
  return [...rows.values()].sort((a, b) => b.total_tokens - a.total_tokens || b.turns - a.turns)
}

/** `now`: milliseconds since 1970. */
export const toReport = (
  buckets: readonly UsageBucket[],
  { days, zone, now, sessions }: { days: number; zone: string; now: number; sessions: number },
) => {
  const { dates, since } = daysUpTo(now, { days, zone })
  const wallAt = createWallClock(zone)
  const totals = { ...zeroUsage(), sessions }
  const daily = new Map(dates.map(date => [date, { date, ...zeroUsage() }]))
  const weekdays = Array.from({ length: 7 }, (_, weekday) => ({ weekday, ...zeroUsage() }))
  const hours = Array.from({ length: 24 }, (_, hour) => ({ hour, ...zeroUsage() }))
  const inside: (UsageBucket & { date: string })[] = []
  for (const bucket of buckets) {
    const { wall, hour } = wallAt(bucket.at)
    const day = daily.get(dateOf(wall))
    if (!day) continue
    inside.push({ ...bucket, date: day.date })
    for (const sum of [totals, day, weekdays[new Date(wall).getUTCDay()], hours[hour]]) {
      if (sum) add(sum, bucket)
    }
  }
  return {
    days,
    timezone: zone,
    since: toSeconds(since),
    generated_at: toSeconds(now),
    totals,
    daily: [...daily.values()],
    models: groupBy(inside, ({ model, provider }) => ({ model, provider })),
    profiles: groupBy(inside, ({ profile }) => ({ profile })),
    sources: groupBy(inside, ({ source }) => ({ source })),
    /** 0 is Sunday. */
    by_weekday: weekdays,
    by_hour: hours,
    rows: groupBy(inside, ({ date, model, provider, profile, source }) => ({
      date,
      model,
      provider,
      profile,
      source,
    })).sort((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : 0)),
  }
}
export type Report = ReturnType<typeof toReport>

const COLUMNS = [
  'date',
  'model',
  'provider',
  'profile',
  'source',
  'turns',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'estimated_cost',
  'cache_read_tokens',
  'cache_write_tokens',
] as const

/** A spreadsheet takes text that begins like a formula for one: a quote in front keeps it text. */
const cell = (value: string | number): string => {
  if (typeof value === 'number') return String(value)
  const text = /^\s*[=+\-@\t\r\n|%]/.test(value) ? `'${value}` : value
  return /[",\r\n\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export const toCsv = (rows: Report['rows']): string =>
  [COLUMNS, ...rows.map(row => COLUMNS.map(name => row[name]))]
    .map(line => `${line.map(cell).join(',')}\r\n`)
    .join('')
