/** What a person says while a turn runs: into it, behind it, instead of it, or beside it. */
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { invalid } from '../lib/errors.ts'
import { Attachments } from '../lib/schema/attachments.ts'
import { SessionId } from '../lib/schema/ids.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { Queued } from '../lib/schema/queue.ts'
import { toBoolean } from '../lib/settings.ts'
import { isBudgetKey } from '../lib/turn-context/spending-limit.ts'

const MAX_CHARS = 500_000

const ofSession = z.object({ session_id: SessionId })
const Said = ofSession.extend({
  message: z.string().max(MAX_CHARS).optional(),
  /** The word of other clients for the same. */
  text: z.string().max(MAX_CHARS).optional(),
  attachments: Attachments.default([]),
})
const Queue = z.object({ ok: z.literal(true), queued: z.array(Queued) })
const QueuedId = z.string().min(1).max(64)

const said = ({ message, text, attachments }: z.output<typeof Said>) => {
  const words = (message ?? text ?? '').trim()
  if (!words) throw invalid('message is required', { code: 'missing_fields' })
  return { text: words, attachments }
}

export const steer = endpoint({
  summary:
    'Say something into the running turn; it reads it before its next step, or the next turn does',
  input: Said.extend({
    /** A message that waits already, instead of a new one. */
    id: QueuedId.optional(),
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
        ? await queue.steer(id, said(input))
        : await queue.steerQueued(id, input.id)
    return { ...ok, accepted: true as const, fallback: null, stream_id: streamId, item }
  },
})

export const interrupt = endpoint({
  summary: 'Stop the running turn, if one runs, and send this at once',
  input: Said,
  output: z.object({ ok: z.literal(true), stream_id: z.string(), session_id: z.string() }),
  run: async (ctx, input) => {
    const message = said(input)
    const { session_id: sessionId } = ctx.app.sessions.require(input.session_id)
    const running = ctx.app.turns.streamOf(sessionId)
    if (running) ctx.app.turns.cancel(running)
    const { turn } = await ctx.app.turnStarter.turn({ sessionId, ...message })
    return { ...ok, stream_id: turn.streamId, session_id: sessionId }
  },
})

export const list = endpoint({
  summary: 'Messages of a session that wait to be sent, in their order',
  input: ofSession,
  output: z.object({ queued: z.array(Queued) }),
  run: (ctx, { session_id }) => ({ queued: ctx.app.queue.list(session_id) }),
})

export const add = endpoint({
  summary:
    'Put a message behind the running turn; sent at once when nothing runs and nothing went wrong',
  input: Said,
  output: Queue.extend({ item: Queued, stream_id: z.string().nullable() }),
  run: async (ctx, input) => {
    const { item, queued, streamId } = await ctx.app.queue.add(input.session_id, said(input))
    return { ...ok, item, queued, stream_id: streamId }
  },
})

export const edit = endpoint({
  summary: 'Change the text or the files of a waiting message',
  input: Said.extend({ id: QueuedId, attachments: Attachments.optional() }),
  output: Queue,
  run: async (ctx, { attachments, ...input }) => {
    const { text } = said({ ...input, attachments: [] })
    return {
      ...ok,
      queued: await ctx.app.queue.edit(input.session_id, input.id, {
        text,
        ...(attachments && { attachments }),
      }),
    }
  },
})

export const remove = endpoint({
  summary: 'Take a waiting message out of the queue',
  input: ofSession.extend({ id: QueuedId }),
  output: Queue.extend({ removed: Queued }),
  run: async (ctx, { session_id, id }) => ({
    ...ok,
    ...(await ctx.app.queue.remove(session_id, id)),
  }),
})

export const reorder = endpoint({
  summary: 'Put waiting messages in another order',
  input: ofSession.extend({ ids: z.array(QueuedId).max(100) }),
  output: Queue,
  run: async (ctx, { session_id, ids }) => ({
    ...ok,
    queued: await ctx.app.queue.reorder(session_id, ids),
  }),
})

export const send = endpoint({
  summary: 'Send a waiting message now: the named one or the first',
  input: ofSession.extend({ id: QueuedId.optional() }),
  output: z.object({ ok: z.literal(true), stream_id: z.string() }),
  run: async (ctx, { session_id, id }) => {
    const { streamId } = await ctx.app.queue.send(session_id, id)
    return { ...ok, stream_id: streamId }
  },
})

export const aside = endpoint({
  summary: 'Ask beside the conversation: answered as a stream, and kept nowhere',
  input: ofSession.extend({ question: z.string().max(MAX_CHARS).default('') }),
  output: z.object({
    stream_id: z.string(),
    session_id: z.string(),
    parent_session_id: z.string(),
  }),
  run: async (ctx, { session_id, question }) => {
    const { streamId, sessionId } = await ctx.app.sideQuestions.ask(session_id, question)
    return { stream_id: streamId, session_id: sessionId, parent_session_id: sessionId }
  },
})

export const background = endpoint({
  summary: 'Run a prompt in a new session beside this one',
  input: ofSession.extend({ prompt: z.string().max(MAX_CHARS).default('') }),
  output: z.object({ task_id: z.string(), stream_id: z.string(), session_id: z.string() }),
  run: async (ctx, { session_id, prompt }) => {
    if (!prompt.trim()) throw invalid('prompt is required', { code: 'missing_fields' })
    const { streamId, sessionId } = await ctx.app.backgroundPrompts.start(session_id, prompt.trim())
    return { task_id: sessionId, stream_id: streamId, session_id: sessionId }
  },
})

export const backgroundStatus = endpoint({
  summary: 'What became of the prompts a session runs in the background',
  input: ofSession,
  output: z.object({
    results: z.array(
      z.object({
        task_id: z.string(),
        session_id: z.string(),
        title: z.string(),
        status: z.enum(['running', 'done', 'failed', 'cancelled', 'interrupted']),
        answer: z.string(),
      }),
    ),
  }),
  run: (ctx, { session_id }) => ({ results: ctx.app.backgroundPrompts.results(session_id) }),
})

const isYolo = (ctx: Ctx, id: string): boolean => ctx.app.sessions.head(id).meta.yolo === true

export const getYolo = endpoint({
  summary: 'Whether a session runs commands without asking',
  input: ofSession,
  output: z.object({ yolo_enabled: z.boolean() }),
  run: (ctx, { session_id }) => ({
    yolo_enabled: isYolo(ctx, ctx.app.sessions.require(session_id).session_id),
  }),
})

export const setYolo = endpoint({
  summary: 'Let a session run commands without asking, or not; what is never allowed stays refused',
  input: ofSession.extend({
    enabled: z
      .unknown()
      .optional()
      .transform(value => toBoolean(value ?? true)),
  }),
  output: Ok.extend({ yolo_enabled: z.boolean() }),
  run: (ctx, { session_id, enabled }) => {
    const { session_id: id } = ctx.app.sessions.require(session_id)
    if (isYolo(ctx, id) !== enabled) {
      ctx.app.sessions.append(id, [{ t: 'meta', patch: { yolo: enabled || null } }])
    }
    const { questions } = ctx.app.turns
    // What waits already was asked before this answer to all of it.
    for (const open of enabled ? questions.pending(id, 'approval') : []) {
      if (open.kind !== 'approval' || isBudgetKey(open.pattern_key)) continue
      // What offers no longer answer than this once is for a person, each time.
      if (open.choices && !open.choices.includes('session')) continue
      questions.respond(id, 'approval', open.approval_id, 'once', 'yolo')
    }
    return { ...ok, yolo_enabled: enabled }
  },
})
