/** Steering a running turn, and interrupting it with another message. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { DraftId, MessageInput, requireText } from '../lib/turns/message-input.ts'
import { ClientMessageId } from '../lib/schema/ids.ts'
import { ok } from '../lib/schema/ok.ts'
import { Queued, QueuedId } from '../lib/schema/queue.ts'

export const steer = endpoint({
  once: 'memory',
  access: 'work',
  summary:
    'Steer the running turn: it reads the message before its next step, or the next turn does',
  input: MessageInput.extend({
    /** A queued message to send instead of a new one. */
    id: QueuedId.optional(),
    client_message_id: ClientMessageId.optional(),
    draft: DraftId,
  }),
  output: z.object({
    ok: z.literal(true),
    accepted: z.literal(true),
    fallback: z.string().nullable(),
    stream_id: z.string(),
    item: Queued,
  }),
  run: async (ctx, input) => {
    const { queue } = ctx.app
    const { session_id: id } = input
    const { item, streamId } =
      input.id === undefined
        ? await queue.steer(id, {
            text: requireText(input),
            attachments: input.attachments,
            clientMessageId: input.client_message_id,
            draft: input.draft,
            role: ctx.person.role,
          })
        : await queue.steerQueued(id, input.id)
    return { ...ok, accepted: true as const, fallback: null, stream_id: streamId, item }
  },
})

export const interrupt = endpoint({
  once: 'disk',
  access: 'work',
  summary: 'Stop the running turn, if there is one, and send this message',
  input: MessageInput,
  output: z.object({ ok: z.literal(true), stream_id: z.string(), session_id: z.string() }),
  run: async (ctx, input) => {
    const message = { text: requireText(input), attachments: input.attachments }
    const { session_id: sessionId } = ctx.app.sessions.require(input.session_id)
    const running = ctx.app.turns.streamOf(sessionId)
    if (running) ctx.app.turns.cancel(running)
    const { turn } = await ctx.app.turnStarter.turn({
      sessionId,
      role: ctx.person.role,
      ...message,
      composed: { ...message, ids: [] },
    })
    return { ...ok, stream_id: turn.streamId, session_id: sessionId }
  },
})
