/** Usage: a report of the last days, and the totals of one session. */
import { z } from 'zod'
import { zoneOf } from '../lib/base/time-zone.ts'
import { endpoint } from '../lib/context.ts'
import { invalid } from '../lib/errors.ts'
import { daysUpTo, MAX_DAYS, requireZone, toCsv, toReport } from '../lib/sessions/insights.ts'
import { bytes } from '../lib/http/reply.ts'

const Amount = {
  turns: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  total_tokens: z.number(),
  estimated_cost: z.number(),
  cache_read_tokens: z.number(),
  cache_write_tokens: z.number(),
}

export const report = endpoint({
  access: 'read',
  summary: 'Tokens and cost by day, model, profile and source, as JSON or CSV',
  input: z.object({
    days: z.coerce.number().int().min(1).max(MAX_DAYS).default(30),
    format: z.enum(['json', 'csv']).default('json'),
    /** Time zone of the days. Default: the profile's `timezone`, or else the server's. */
    timezone: z.string().max(100).optional(),
  }),
  output: z.object({
    days: z.number(),
    timezone: z.string(),
    since: z.number(),
    generated_at: z.number(),
    totals: z.object({ ...Amount, sessions: z.number() }),
    daily: z.array(z.object({ date: z.string(), ...Amount })),
    models: z.array(z.object({ model: z.string(), provider: z.string(), ...Amount })),
    profiles: z.array(z.object({ profile: z.string(), ...Amount })),
    sources: z.array(z.object({ source: z.string(), ...Amount })),
    by_weekday: z.array(z.object({ weekday: z.number(), ...Amount })),
    by_hour: z.array(z.object({ hour: z.number(), ...Amount })),
  }),
  cache: 'no-store',
  run: async (ctx, { days, format, timezone }) => {
    const own = ctx.home.lenient.config().timezone
    const zone = timezone ? requireZone(timezone) : zoneOf(own)
    const now = ctx.app.clock.now()
    await ctx.app.sessions.catchUp()
    const { buckets, sessions } = ctx.app.sessions.usage(
      daysUpTo(now, { days, zone }).since,
      ctx.person.profiles,
    )
    const { rows, ...totals } = toReport(buckets, { days, zone, now, sessions })
    if (format === 'json') return totals
    const name = `usage-${totals.daily.at(-1)?.date}-${days}d.csv`
    return bytes(toCsv(rows), {
      type: 'text/csv; charset=utf-8',
      headers: { 'Content-Disposition': `attachment; filename="${name}"` },
    })
  },
})

export const session = endpoint({
  access: 'read',
  summary: 'Tokens and cost of a session so far',
  input: z.object({ session_id: z.string().default('') }),
  output: z.object({
    input_tokens: z.number(),
    output_tokens: z.number(),
    total_tokens: z.number(),
    estimated_cost: z.number(),
    cache_read_tokens: z.number(),
    cache_write_tokens: z.number(),
    model: z.string().nullable(),
  }),
  run: (ctx, { session_id }) => {
    if (!session_id) throw invalid('Missing session_id', { code: 'missing_fields' })
    const row = ctx.app.sessions.require(session_id)
    const { input_tokens, output_tokens, estimated_cost, model } = row
    const { cache_read_tokens = 0, cache_write_tokens = 0 } = row
    return {
      input_tokens,
      output_tokens,
      total_tokens: input_tokens + output_tokens,
      estimated_cost,
      cache_read_tokens,
      cache_write_tokens,
      model,
    }
  },
})
