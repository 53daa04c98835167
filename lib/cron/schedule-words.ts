/** Schedules in plain English: "weekdays at 9", "the 1st and 15th of every month at 8:30", "tomorrow at 9:00". */
import { invalid, type UserError } from '../errors.ts'
import { offsetMinutes, toIso } from '../base/time-zone.ts'
import { parseSchedule } from './parse-schedule.ts'

const HOURS = 'one two three four five six seven eight nine ten eleven twelve'.split(' ')
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const DAY = '(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?)(?:day)?s?'
const TIME = /^(?:(noon)|(midnight)|(\d{1,2})(?:[:.](\d{2}))?\s*(?:([ap])\.?m\.?)?)$/

/** The whole text, lower case, with digits for hours in words. */
const normalize = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/\bhalf past (\w+)/, (_, hour: string) => `at ${digitsOf(hour)}:30`)
    .replace(/\bat (?:at )?(\w+)/, (_, hour: string) => `at ${digitsOf(hour)}`)

const digitsOf = (hour: string): string =>
  HOURS.includes(hour) ? String(HOURS.indexOf(hour) + 1) : hour

const partsOf = (list: string): string[] =>
  list.split(/\s*(?:,|&|\band\b)\s*/).filter(part => part !== '')

type Time = { hour: number; minute: number }

const timeOf = (text: string): Time | undefined => {
  const match = TIME.exec(text)
  if (!match) return undefined
  const [, noon, midnight, digits, minutes = '0', half] = match
  if (noon) return { hour: 12, minute: 0 }
  if (midnight) return { hour: 0, minute: 0 }
  const [hour, minute] = [Number(digits), Number(minutes)]
  const isPossible = minute < 60 && (half ? hour >= 1 && hour <= 12 : hour < 24)
  if (!isPossible) return undefined
  return { hour: half ? (hour % 12) + (half === 'p' ? 12 : 0) : hour, minute }
}

/** The cron fields for day of month, month, and weekday. */
const daysOf = (text: string): string | undefined => {
  const days = text.replace(/^(?:on |every |each |the )+/, '')
  if (/^(?:days?|daily|everyday)$/.test(days)) return '* * *'
  if (/^(?:weekdays?|workdays?|business days?)$/.test(days)) return '* * 1-5'
  if (/^weekends?$/.test(days)) return '* * 0,6'
  const range = new RegExp(`^(${DAY}) ?(?:to|through|until|-|–) ?(${DAY})$`).exec(days)
  const numberOf = (day: string): number => DAYS.indexOf(day.slice(0, 3))
  if (range) {
    const [from, to] = [numberOf(range[1]!), numberOf(range[2]!)]
    // Sunday is 7 at the end of a range.
    return from <= (to || 7) ? `* * ${from}-${to || 7}` : `* * ${from}-6,0-${to}`
  }
  const names = partsOf(days)
  if (names.length > 0 && names.every(name => new RegExp(`^${DAY}$`).test(name)))
    return `* * ${[...new Set(names.map(numberOf))].toSorted().join(',')}`
  const month = /^(?:month|monthly) on (?:the )?(.+)$|^(.+) of (?:the|every|each) month$/.exec(days)
  const dates = partsOf(month?.[1] ?? month?.[2] ?? '').map(date =>
    Number(/^(?:the )?(\d{1,2})(?:st|nd|rd|th)?$/.exec(date)?.[1]),
  )
  if (dates.length === 0 || !dates.every(date => date >= 1 && date <= 31)) return undefined
  return `${[...new Set(dates)].toSorted((a, b) => a - b).join(',')} * *`
}

export const needsTime = (): UserError =>
  invalid('Add a time, for example “weekdays at 9:00” or “tomorrow at 18:30”.', {
    code: 'schedule_needs_time',
  })

/** "weekdays at 9" and "at 9 on weekdays" as a cron expression or an interval; undefined when it does not repeat. */
const toRepeated = (text: string): string | undefined => {
  if (/^(?:every hour|hourly)$/.test(text)) return 'every 1h'
  if (/^(?:every )?(?:week|weekly|month|monthly)(?: at .+)?$/.test(text))
    throw invalid(
      'Say on which day, for example “mondays at 9:00” or “the 1st of every month at 9:00”.',
      { code: 'schedule_needs_day' },
    )
  if (/^every other day/.test(text))
    throw invalid('Write it as “every 2d”.', { code: 'invalid_schedule', values: { text } })
  const daysFirst = /^(.+?) at (.+)$/.exec(text)
  const timeFirst = /^(?:at )?(.+?) (?:on |every |each )(.+)$/.exec(text)
  for (const [days, times] of [
    [daysFirst?.[1], daysFirst?.[2]],
    [timeFirst?.[2], timeFirst?.[1]],
  ]) {
    const when = days === undefined ? undefined : daysOf(days)
    const parsedTimes = partsOf(times ?? '').map(timeOf)
    if (when === undefined || parsedTimes.length === 0) continue
    // "on friday at 9" is once, "fridays at 9" and "every friday at 9" are not.
    if (isOneDay(text)) return undefined
    const hours = parsedTimes.map(time => time?.hour)
    const minute = parsedTimes[0]?.minute
    if (parsedTimes.includes(undefined)) return undefined
    if (parsedTimes.some(time => time?.minute !== minute))
      throw invalid('All times must have the same minute. Use one task for each of the others.', {
        code: 'schedule_minutes',
      })
    return `${minute} ${[...new Set(hours)].join(',')} ${when}`
  }
  if (daysOf(text) !== undefined && !isOneDay(text)) throw needsTime()
  return undefined
}

const isOneDay = (text: string): boolean =>
  new RegExp(`\\b${DAY.replace(/s\?$/, '')}\\b`).test(text) &&
  !/\b(?:every|each)\b|,|&|\band\b|\bto\b|\bthrough\b|\buntil\b|[-–]/.test(text)

/** "tomorrow at 9:00", "in two hours", "December 24 at 18:00" as a date and time. */
const toMoment = async (text: string, now: number, zone: string): Promise<string | undefined> => {
  // Loaded when needed: most services never parse such a schedule, and it is large.
  const { parse } = await import('chrono-node/en')
  const reference = { instant: new Date(now), timezone: offsetMinutes(now, zone) }
  const [result, ...others] = parse(text, reference, { forwardDate: true })
  if (!result || others.length > 0 || result.end) return undefined
  const rest = text.replace(result.text, '').replace(/\b(?:on|at|once)\b|[,.\s]/g, '')
  if (rest !== '') return undefined
  const { start } = result
  if (!start.isCertain('hour')) throw needsTime()
  // A duration from now, or a zone in the text.
  if (start.isCertain('timezoneOffset')) return toIso(start.date().getTime(), zone)
  const [year, month, day, hour, minute] = (
    ['year', 'month', 'day', 'hour', 'minute'] as const
  ).map(part => String(start.get(part) ?? 0).padStart(2, '0'))
  return `${year}-${month}-${day}T${hour}:${minute}`
}

/**
 * A schedule in one of the exact forms of `parseSchedule`, for a text in one of them or in plain English. Throws UserError
 * when it is neither, or when it is in the past. `now`: milliseconds since 1970.
 */
export const toExactSchedule = async (
  input: string,
  now: number,
  zone: string,
): Promise<string> => {
  try {
    parseSchedule(input, now, zone)
    return input
  } catch (error) {
    if (input.length > 200) throw error
    const text = normalize(input)
    const exact = toRepeated(text) ?? (await toMoment(text, now, zone))
    if (exact === undefined) throw error
    parseSchedule(exact, now, zone)
    return exact
  }
}
