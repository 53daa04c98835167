/** Finds the retry delay in headers and error bodies of providers. */

type Headers = Readonly<Record<string, string | string[] | undefined>>

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of a unit's name: `ms`, `s`, `sec`, `minutes`, … */
const unitMs = (unit: string): number =>
  /^(?:ms|milli)/i.test(unit) ? 1 : (UNITS[unit.charAt(0).toLowerCase()] ?? 1_000)

/** The number of digits is limited, because without a unit the search would take quadratic time. */
const PIECE =
  /(\d{1,12}(?:\.\d{1,12})?)\s*(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)(?![a-z])/gi

/** `8.2s`, `6m0s`, `1 minute 30 seconds`; undefined for other text. */
const durationMs = (text: string): number | undefined => {
  const pieces = [...text.matchAll(PIECE)]
  return pieces.length === 0
    ? undefined
    : pieces.reduce((sum, [, figure, unit]) => sum + Number(figure) * unitMs(unit ?? ''), 0)
}

/** `Retry-After` in seconds or as a date, in milliseconds from `now` (milliseconds since 1970); undefined when absent or unreadable. */
export const parseRetryAfter = (header: string | undefined, now: number): number | undefined => {
  if (!header) return undefined
  const seconds = Number(header)
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000)
  const date = Date.parse(header)
  return Number.isNaN(date) ? durationMs(header) : Math.max(0, date - now)
}

/** Accepts a duration, seconds or milliseconds since 1970, or a date. */
const resetMs = (value: string, now: number): number | undefined => {
  const figure = Number(value)
  if (value.trim() === '') return undefined
  if (!Number.isFinite(figure)) {
    const length = /^[\d.\sa-z]+$/i.test(value) ? durationMs(value) : undefined
    return length ?? parseRetryAfter(value, now)
  }
  if (figure > 1e12) return Math.max(0, figure - now)
  return figure > 1e9 ? Math.max(0, figure * 1_000 - now) : figure * 1_000
}

const firstOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value

/** The longest wait among limits that are used up. */
export const rateLimitReset = (headers: Headers, now: number): number | undefined => {
  const waits = Object.entries(headers).flatMap(([name, value]) => {
    if (!/rate-?limit.*reset/.test(name)) return []
    const remaining = firstOf(headers[name.replace('reset', 'remaining').replace(/-after$/, '')])
    if (remaining !== undefined && Number(remaining) > 0) return []
    return resetMs(firstOf(value) ?? '', now) ?? []
  })
  return waits.length > 0 ? Math.max(...waits) : undefined
}

/** The delay requested by response headers, in milliseconds. `now`: milliseconds since 1970. */
export const retryAfterInHeaders = (headers: Headers, now: number): number | undefined => {
  const ms = firstOf(headers['retry-after-ms'])
  if (ms && Number.isFinite(Number(ms))) return Math.max(0, Number(ms))
  return parseRetryAfter(firstOf(headers['retry-after']), now)
}

const RESET_FIELD = /"resets?_(at|in|in_seconds)"\s*:\s*"?([^",}]+)/i
/** `You will regain access on 2026-09-01 at 00:00 UTC.` A time without its zone is not read. */
const RESET_SENTENCE =
  /(?:resets?|regain access|available again) (?:at|on) (\d{4}-\d\d-\d\d)(?:,| at|T)? ?(\d\d:\d\d(?::\d\d)?) ?(?:UTC|GMT|Z)/i

/** When a limit ends, in milliseconds from `now`: a field of an error body, or a date in its sentence. */
export const resetInBody = (text: string, now: number): number | undefined => {
  const [, unit, value = ''] = RESET_FIELD.exec(text) ?? []
  if (unit !== undefined) return resetMs(value, now)
  const [, day, time] = RESET_SENTENCE.exec(text) ?? []
  const date = Date.parse(`${day}T${time}Z`)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

const FIELD = /"retry[-_]?after([-_]ms)?(?:[-_]seconds)?"\s*:\s*"?(\d+(?:\.\d+)?)/i
const SENTENCE =
  /(?:try(?:ing)? again|retry|wait|available(?: again)?|resets?)\b[^.\d"]{0,40}?\b(?:in|after|for)?\s+((?:about |~)?\d[\d.]*\s*[a-z]+(?:(?:\s|,|and)*\d[\d.]*\s*[a-z]+)*)/i

/** The delay in an error body, in milliseconds: a JSON field, or a sentence. */
export const retryAfterInText = (text: string): number | undefined => {
  const delay = /"retryDelay"\s*:\s*"([^"]+)"/.exec(text)
  if (delay?.[1]) return durationMs(delay[1])
  const field = FIELD.exec(text)
  if (field) return Number(field[2]) * (field[1] ? 1 : 1_000)
  const sentence = SENTENCE.exec(text)
  return sentence?.[1] ? durationMs(sentence[1]) : undefined
}
