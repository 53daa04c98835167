/** Compares the clock with that of the model's server, which says the time in every response. Nothing is sent but the request. */
import type { Dispatcher } from 'undici'
import { createProxyDispatcher } from '../agent/providers/registry.ts'
import { CLOCK, CLOCK_ADVICE } from '../app/start-checks.ts'
import { UserError } from '../errors.ts'
import { type Check, type CheckContext, ok, warn } from './check.ts'

const ANSWER_MS = 3_000
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

/** What the `Date` header of a response says about this clock. */
export const clockAgainst = (host: string, header: string | undefined, now: number): Check[] => {
  const theirs = Date.parse(header ?? '')
  if (Number.isNaN(theirs)) return []
  const ahead = now - theirs
  if (Math.abs(ahead) <= MAX_MS) return [ok(CLOCK, `agrees with ${host}`)]
  const said = `The clock is ${lengthOf(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'} that of ${host}`
  return [warn(CLOCK, said, CLOCK_ADVICE)]
}

/** The certificate is not verified, because a wrong clock makes every one invalid; the request has no key. */
const anyCertificate = async (): Promise<Dispatcher> => {
  const { Agent } = await import('undici')
  return new Agent({ connect: { rejectUnauthorized: false } })
}

const addressOf = ({ home, models }: CheckContext): URL | null => {
  try {
    const { model } = models.compatible(home, null)
    const { baseUrl } = models.endpoint(home, model)
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
    return url && /^https?:$/.test(url.protocol) ? url : null
  } catch (error) {
    // The check of the model says why there is none.
    if (error instanceof UserError) return null
    throw error
  }
}

export const clockChecks = async (looked: CheckContext): Promise<Check[]> => {
  const url = addressOf(looked)
  if (url === null) return []
  const dispatcher = (await createProxyDispatcher(looked.config.env)) ?? (await anyCertificate())
  const { request } = await import('undici')
  try {
    const signal = AbortSignal.timeout(ANSWER_MS)
    const { headers, body } = await request(url.origin, { method: 'HEAD', dispatcher, signal })
    await body.dump()
    const { date } = headers
    return clockAgainst(url.host, typeof date === 'string' ? date : undefined, looked.machine.now())
  } catch {
    // Without a network, nothing can be compared.
    return []
  } finally {
    await dispatcher.destroy()
  }
}
