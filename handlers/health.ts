/** Health, readiness, metrics, and the OpenAPI document. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { missing } from '../lib/errors.ts'
import { bytes, reply } from '../lib/http/reply.ts'

export const health = endpoint({
  summary: 'Health check, with the number of running turns',
  public: true,
  quiet: true,
  cache: 'no-store',
  output: z.object({
    status: z.literal('ok'),
    /** Sessions with a running turn. */
    sessions: z.number(),
    active_streams: z.number(),
    uptime_seconds: z.number(),
  }),
  run({ app }) {
    const running = app.turns.count()
    return {
      status: 'ok' as const,
      sessions: running,
      active_streams: running,
      uptime_seconds: Math.round((app.clock.now() - app.startedAt) / 100) / 10,
    }
  },
})

export const ready = endpoint({
  summary: 'Whether requests can be served: 200, or 503 with the reasons',
  public: true,
  quiet: true,
  cache: 'no-store',
  output: z.object({
    status: z.enum(['ready', 'unavailable']),
    reasons: z.array(z.object({ code: z.string(), message: z.string() })),
  }),
  run({ app }) {
    const reasons = app.readiness.reasons()
    return reasons.length === 0
      ? { status: 'ready' as const, reasons }
      : reply({ status: 'unavailable', reasons }, { status: 503 })
  },
})

/** Not a sign-in: a collector gets numbers with it, and nothing else. */
export const metrics = endpoint({
  summary: 'Metrics for Prometheus, with a token of their own',
  public: true,
  quiet: true,
  raw: 'text/plain',
  cache: 'no-store',
  async run(ctx) {
    const { metrics } = ctx.app
    if (!metrics) throw missing('not found')
    const { authorization = '', accept = '' } = ctx.req.headers
    const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
    if (token === undefined || !metrics.isToken(token))
      return reply(
        { error: 'The token of the metrics is missing or wrong.', code: 'unauthorized' },
        { status: 401, headers: { 'WWW-Authenticate': 'Bearer' } },
      )
    const { type, text } = await metrics.text(accept)
    return bytes(text, { type })
  },
})

export const openapi = endpoint({
  access: 'read',
  summary: 'Every endpoint as an OpenAPI document',
  output: z.looseObject({ openapi: z.string(), paths: z.looseObject({}) }),
  run: ctx => ctx.describeApi() as { openapi: string; paths: Record<string, unknown> },
})
