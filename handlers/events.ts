/** The event stream of the page: one connection for everything. */
import { z } from 'zod'
import { endpoint, maySession } from '../lib/context.ts'
import { parseWatch } from '../lib/base/stream-cursor.ts'
import { pushedEvents } from '../lib/http/reply.ts'

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
    // Before the head is written: it may be refused.
    const { home } = ctx
    const last = ctx.req.headers['last-event-id']
    const stream = ctx.app.hub.stream({
      watch: new Map([...parseWatch(watch)].filter(([id]) => maySession(ctx, 'read', id))),
      accepts: profile => (profile === undefined ? ctx.may('own', null) : ctx.may('read', profile)),
      mayAnswer: (question, profile) =>
        question.kind === 'approval' && question.needs_owner
          ? ctx.may('own', null)
          : ctx.may('work', profile ?? null),
      after,
      lastEventId: typeof last === 'string' ? last : undefined,
    })
    return pushedEvents(
      sink => {
        const leave = ctx.app.hostSessionWatcher.watch(home)
        const { resume, close } = stream(sink)
        return {
          resume,
          close() {
            close()
            leave()
          },
        }
      },
      { closeDelimited: true },
    )
  },
})
