/** Everything a page needs over one event stream. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { parseWatch } from '../lib/hub.ts'
import { eventStream } from '../lib/http/reply.ts'

export const events = endpoint({
  summary:
    'Session rows, questions, notices and the turns of the watched sessions, over one stream',
  input: z.object({
    /** `<id>,<id>@<boot>-<n>,…` */
    watch: z.string().optional(),
    /** `<boot>-<n>`; the header Last-Event-ID beats it. */
    after: z.string().optional(),
  }),
  raw: 'text/event-stream',
  run: (ctx, { watch, after }) => {
    ctx.app.hostSessionWatcher.watch(ctx.home, ctx.signal)
    const last = ctx.req.headers['last-event-id']
    return eventStream(
      ctx.app.hub.read({
        watch: parseWatch(watch),
        after,
        lastEventId: typeof last === 'string' ? last : undefined,
        signal: ctx.signal,
      }),
    )
  },
})
