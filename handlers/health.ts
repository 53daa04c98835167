/** Health check and the OpenAPI document. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'

export const health = endpoint({
  summary: 'Health check, with the number of running turns',
  public: true,
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
      uptime_seconds: Math.round((Date.now() - app.startedAt) / 100) / 10,
    }
  },
})

export const openapi = endpoint({
  access: 'read',
  summary: 'Every endpoint as an OpenAPI document',
  output: z.looseObject({ openapi: z.string(), paths: z.looseObject({}) }),
  run: ctx => ctx.describeApi() as { openapi: string; paths: Record<string, unknown> },
})
