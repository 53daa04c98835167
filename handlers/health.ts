/** Is it alive, and what can be called. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'

export const health = endpoint({
  summary: 'Whether the service answers, and how busy it is',
  public: true,
  cache: 'no-store',
  output: z.object({
    status: z.literal('ok'),
    /** Held in memory: those with a running turn. */
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
  summary: 'Every endpoint of the service as an OpenAPI document',
  output: z.looseObject({ openapi: z.string(), paths: z.looseObject({}) }),
  run: ctx => ctx.describeApi() as { openapi: string; paths: Record<string, unknown> },
})
