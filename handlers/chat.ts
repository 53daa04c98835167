/** Turns: start, stream, cancel, or run one and wait for the result. */
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { claimSession } from '../lib/turns/claim-session.ts'
import { DraftId } from '../lib/turns/message-input.ts'
import type { TurnInput } from '../lib/turns/start-turn.ts'
import { invalid } from '../lib/errors.ts'
import { eventStream } from '../lib/http/reply.ts'
import { Attachments } from '../lib/schema/attachments.ts'
import { ClientMessageId, SessionId } from '../lib/schema/ids.ts'
import { Session } from '../lib/schema/session.ts'
import { chatFrames } from '../lib/turns/chat-frames.ts'

const Turn = z.object({
  session_id: SessionId,
  message: z.string(),
  attachments: Attachments.default([]),
  workspace: z.string().optional(),
  model: z.string().optional(),
})

/**
 * Throws a 400 with the sentence `whenEmpty`, except for a message that repeats the one it replaces. `ids`: those of the
 * draft that was sent.
 */
const toTurnInput = (
  { person: { role } }: Ctx,
  input: z.output<typeof Turn> & { replace?: string | undefined },
  whenEmpty: string,
  ids: readonly (string | undefined)[] = [],
): TurnInput => {
  const text = input.message.trim()
  const { attachments, replace } = input
  if (!text && replace === undefined) throw invalid(whenEmpty, { code: 'missing_fields' })
  return {
    sessionId: input.session_id,
    role,
    text,
    attachments,
    replace,
    // Another version of a message was not written in the composer.
    ...(replace === undefined && { composed: { text, attachments, ids } }),
    ...(input.workspace === undefined ? {} : { workspace: input.workspace }),
    ...(input.model === undefined ? {} : { model: input.model }),
  }
}

/** The message to replace, in our store: a session of the command line is imported for that. */
const ownMessage = (ctx: Ctx, sessionId: string, message: string): string => {
  const { homes, hostSessions, hub, sessions } = ctx.app
  const row = sessions.row(sessionId)
  const home = row ? homes.of(row.profile) : ctx.home
  const { id, imported } = hostSessions.ownMessage(home, sessionId, message)
  // Its messages have other ids now, whatever becomes of the start.
  if (imported) hub.publish(`session:${sessionId}`, { type: 'reset', data: {} })
  return id
}

export const start = endpoint({
  once: 'disk',
  recognizes: true,
  access: 'work',
  summary: 'Start a turn; the message is on disk before the reply',
  input: Turn.extend({
    message: z.string().default(''),
    /** A message that was sent before with this id is not sent again; the reply then has `repeated`. */
    client_message_id: ClientMessageId.optional(),
    /**
     * The id of a user message: this one takes its place and that of all that follow, which stay in the file. With an empty
     * `message`, its text and files are sent again.
     */
    replace: z.string().min(1).max(140).optional(),
    draft: DraftId,
  }),
  output: z.object({
    /** Empty for a repeated message that was queued. */
    stream_id: z.string(),
    session_id: z.string(),
    effective_model: z.string().optional(),
    repeated: z.literal(true).optional(),
  }),
  run: async (ctx, { client_message_id: messageId, draft, ...message }) => {
    const clientMessageId = messageId ?? ctx.requestKey
    const { replace, session_id: id } = message
    const own = replace === undefined ? {} : { replace: ownMessage(ctx, id, replace) }
    claimSession(ctx.app, ctx.home, id)
    const input = toTurnInput(ctx, { ...message, ...own }, 'message is required', [
      messageId,
      draft,
    ])
    const { turnStarter } = ctx.app
    const started =
      clientMessageId === undefined
        ? await turnStarter.turn(input)
        : await turnStarter.turnOnce({ ...input, clientMessageId })
    if ('repeatOf' in started) {
      const { repeatOf: stream_id, sessionId: session_id } = started
      return { stream_id, session_id, repeated: true as const }
    }
    const { turn, effectiveModel } = started
    return {
      stream_id: turn.streamId,
      session_id: turn.sessionId,
      ...(effectiveModel === undefined ? {} : { effective_model: effectiveModel }),
    }
  },
})

export const sync = endpoint({
  once: 'memory',
  access: 'work',
  summary: 'Run a turn and reply when it ends',
  input: Turn.omit({ attachments: true }).extend({ message: z.string().default('') }),
  output: z.object({
    answer: z.string(),
    status: z.enum(['done', 'partial']),
    session: Session,
    result: z.record(z.string(), z.unknown()),
  }),
  run: async (ctx, input) => {
    claimSession(ctx.app, ctx.home, input.session_id)
    const { turn, result } = await ctx.app.turnStarter.turn(
      toTurnInput(ctx, { ...input, attachments: [] }, 'empty message'),
    )
    const outcome = await result
    const finished = outcome?.status === 'finished'
    return {
      answer: outcome?.text ?? '',
      status: finished ? ('done' as const) : ('partial' as const),
      session: await ctx.app.sessionViews.full(turn.sessionId),
      result: {
        final_response: outcome?.text ?? '',
        completed: finished,
        partial: !finished,
        interrupted: outcome === null,
        api_calls: outcome?.steps ?? 0,
        model: outcome?.model ?? '',
        provider: outcome?.provider ?? '',
        ...outcome?.usage,
        ...(outcome?.failure ? { error: outcome.failure.message } : {}),
      },
    }
  },
})

export const events = endpoint({
  access: 'read',
  summary: 'The events of a turn, from the start or after a position',
  input: z.object({ stream_id: z.string(), after: z.coerce.number().int().min(0).optional() }),
  raw: 'text/event-stream',
  run: (ctx, { stream_id, after }) => {
    const last = Number(ctx.req.headers['last-event-id'] ?? Number.NaN)
    const from = Number.isInteger(last) && last >= 0 ? last : (after ?? 0)
    const log = ctx.app.turns.log(stream_id)
    return eventStream(
      chatFrames(log, from, ctx.signal, () => ctx.app.sessionViews.recordJson(log.session_id)),
    )
  },
})

export const status = endpoint({
  access: 'read',
  summary: 'Whether a turn is running',
  input: z.object({ stream_id: z.string() }),
  output: z.object({ active: z.boolean(), stream_id: z.string() }),
  run: (ctx, { stream_id }) => ({ active: ctx.app.turns.isStreaming(stream_id), stream_id }),
})

export const cancel = endpoint({
  access: 'work',
  summary: 'Stop a turn; what has been streamed is kept',
  input: z.object({ stream_id: z.string() }),
  output: z.object({ ok: z.literal(true), cancelled: z.boolean(), stream_id: z.string() }),
  effects: true,
  run: (ctx, { stream_id }) => ({
    ok: true as const,
    cancelled: ctx.app.turns.cancel(stream_id) || ctx.app.sideQuestions.cancel(stream_id),
    stream_id,
  }),
})

export const retry = endpoint({
  once: 'disk',
  access: 'work',
  summary: 'Repeat the failed model call of a turn now instead of at the end of its wait',
  input: z.object({
    stream_id: z.string(),
    /** Position in the turn's log up to which the client has read: a wait that it has not seen is not ended. */
    pos: z.number().int().min(0).optional(),
  }),
  output: z.object({
    ok: z.literal(true),
    retried: z.boolean(),
    stream_id: z.string(),
    /** Why nothing was retried. */
    message: z.string().optional(),
  }),
  run: (ctx, { stream_id, pos }) => {
    const retried = ctx.app.turns.retryNow(stream_id, pos)
    return {
      ok: true as const,
      retried,
      stream_id,
      ...(retried ? {} : { message: 'No model call of this turn is waiting to be retried.' }),
    }
  },
})
