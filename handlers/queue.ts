/** The queue of a session: messages that are sent when the running turn ends. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { claimSession } from '../lib/turns/claim-session.ts'
import { DraftId, MessageInput, requireText } from '../lib/turns/message-input.ts'
import { Attachments } from '../lib/schema/attachments.ts'
import { ClientMessageId, OneSession } from '../lib/schema/ids.ts'
import { ok } from '../lib/schema/ok.ts'
import { Queued, QueuedId } from '../lib/schema/queue.ts'

const Queue = z.object({ ok: z.literal(true), queued: z.array(Queued) })

export const list = endpoint({
  access: 'read',
  summary: 'Queued messages of a session, in order',
  input: OneSession,
  output: z.object({ queued: z.array(Queued) }),
  run: (ctx, { session_id }) => ({ queued: ctx.app.queue.list(session_id) }),
})

export const add = endpoint({
  once: 'memory',
  recognizes: true,
  access: 'work',
  summary:
    'Queue a message; it is sent at once when no turn is running and the last one did not fail',
  input: MessageInput.extend({
    client_message_id: ClientMessageId.optional(),
    draft: DraftId,
  }),
  output: Queue.extend({ item: Queued, stream_id: z.string().nullable() }),
  run: async (ctx, input) => {
    claimSession(ctx.app, ctx.home, input.session_id)
    const { item, queued, streamId } = await ctx.app.queue.add(input.session_id, {
      text: requireText(input),
      attachments: input.attachments,
      clientMessageId: input.client_message_id ?? ctx.requestKey,
      draft: input.draft,
      role: ctx.person.role,
    })
    return { ...ok, item, queued, stream_id: streamId }
  },
})

export const edit = endpoint({
  access: 'work',
  summary: 'Change the text or the attachments of a queued message',
  input: MessageInput.extend({ id: QueuedId, attachments: Attachments.optional() }),
  output: Queue,
  run: async (ctx, { attachments, ...input }) => ({
    ...ok,
    queued: await ctx.app.queue.edit(input.session_id, input.id, {
      text: requireText(input),
      role: ctx.person.role,
      ...(attachments && { attachments }),
    }),
  }),
})

export const remove = endpoint({
  access: 'work',
  summary: 'Remove a message from the queue',
  input: OneSession.extend({ id: QueuedId }),
  output: Queue.extend({ removed: Queued }),
  run: async (ctx, { session_id, id }) => ({
    ...ok,
    ...(await ctx.app.queue.remove(session_id, id)),
  }),
})

export const reorder = endpoint({
  access: 'work',
  summary: 'Reorder the queue',
  input: OneSession.extend({ ids: z.array(QueuedId).max(100) }),
  output: Queue,
  run: async (ctx, { session_id, ids }) => ({
    ...ok,
    queued: await ctx.app.queue.reorder(session_id, ids),
  }),
})

export const send = endpoint({
  once: 'disk',
  access: 'work',
  summary: 'Send a queued message now: the given one, or the first',
  input: OneSession.extend({ id: QueuedId.optional() }),
  output: z.object({ ok: z.literal(true), stream_id: z.string() }),
  run: async (ctx, { session_id, id }) => {
    const { streamId } = await ctx.app.queue.send(session_id, id)
    return { ...ok, stream_id: streamId }
  },
})
