/** The event stream of the page: one connection for everything. */
import { z } from 'zod'
import { endpoint, maySession } from '../lib/context.ts'
import { parseWatch } from '../lib/hub.ts'
import { eventStream } from '../lib/http/reply.ts'

export const events = endpoint({
  access: 'read',
  summary:
    'One event stream for session rows, questions, notices and the turns of the watched sessions',
  input: z.object({
    /** `<id>,<id>@<boot>-<n>,…` */
    watch: z.string().optional(),
    /** `<boot>-<n>`; the header Last-Event-ID takes precedence. */
    after: z.string().optional(),
  }),
  raw: 'text/event-stream',
  run: (ctx, { watch, after }) => {
    ctx.app.hostSessionWatcher.watch(ctx.home, ctx.signal)
    const last = ctx.req.headers['last-event-id']
    return eventStream(
      ctx.app.hub.read({
        watch: new Map([...parseWatch(watch)].filter(([id]) => maySession(ctx, 'read', id))),
        accepts: profile =>
          profile === undefined ? ctx.may('own', null) : ctx.may('read', profile),
        after,
        lastEventId: typeof last === 'string' ? last : undefined,
        signal: ctx.signal,
      }),
      { closeDelimited: true },
    )
  },
})
