/** Compares the clock with that of a server, which says the time in every response. */
import { CLOCK, CLOCK_ADVICE } from '../app/start-checks.ts'
import { type Check, ok, warn } from './check.ts'

/** One-time codes are refused half a minute off, sign-ins with OpenID Connect a few minutes. */
const MAX_MS = 120_000

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const

const lengthOf = (ms: number): string => {
  const [name, unit] = UNITS.find(([, each]) => ms >= each) ?? UNITS[2]
  const count = Math.round(ms / unit)
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

/** What the `Date` header of a response says about this clock, which shows `now`: milliseconds since 1970. */
export const clockAgainst = (host: string, header: string | undefined, now: number): Check[] => {
  const theirs = Date.parse(header ?? '')
  if (Number.isNaN(theirs)) return []
  const ahead = now - theirs
  if (Math.abs(ahead) <= MAX_MS) return [ok(CLOCK, `agrees with ${host}`)]
  const said = `The clock is ${lengthOf(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'} that of ${host}`
  return [warn('clock_differs', CLOCK, said, CLOCK_ADVICE)]
}
