/** Compaction of a session: summarize earlier messages, read a summary, undo one. */
import { z } from 'zod'
import { formatTokens } from '../lib/agent/tokens.ts'
import { endpoint } from '../lib/context.ts'
import { SessionId } from '../lib/schema/ids.ts'
import { Session } from '../lib/schema/session.ts'

const TOPIC_CHARS = 500
const Topic = z
  .string()
  .transform(text => text.trim().slice(0, TOPIC_CHARS))
  .optional()

export const compress = endpoint({
  once: 'memory',
  access: 'work',
  summary: 'Summarize earlier messages for the model; the messages are kept, and it can be undone',
  input: z.object({ session_id: SessionId, focus_topic: Topic, topic: Topic }),
  output: z.object({
    ok: z.literal(true),
    session: Session,
    summary: z.object({
      headline: z.string(),
      token_line: z.string(),
      note: z.string().nullable(),
      reference_message: z.string(),
    }),
    focus_topic: z.string().nullable(),
  }),
  run: async (ctx, { session_id, focus_topic, topic }) => {
    const { compressions, sessionViews: views } = ctx.app
    const focus = focus_topic || topic || ''
    const result = await compressions.compress(session_id, focus, ctx.signal)
    const [before, after] = result.tokens.map(formatTokens)
    return {
      ok: true as const,
      session: await views.full(result.session_id),
      summary: {
        headline: `Compressed: ${result.messages[0]} → ${result.messages[1]} messages`,
        token_line: `Rough transcript estimate: ~${before} → ~${after} tokens`,
        note: focus ? `Focus: ${focus}` : null,
        reference_message: compressions.reference(result.text),
      },
      focus_topic: focus || null,
    }
  },
})

export const uncompress = endpoint({
  access: 'work',
  summary: 'Undo a summary, or stop the one in progress',
  input: z.object({ session_id: SessionId, n: z.int().optional() }),
  output: z.object({ ok: z.literal(true), session: Session }),
  run: async (ctx, { session_id, n }) => {
    ctx.app.compressions.undo(session_id, n)
    return { ok: true as const, session: await ctx.app.sessionViews.full(session_id) }
  },
})

export const text = endpoint({
  access: 'read',
  summary: 'The text of a summary',
  input: z.object({ session_id: SessionId, n: z.coerce.number().int() }),
  output: z.object({ text: z.string() }),
  run: (ctx, { session_id, n }) => ({ text: ctx.app.compressions.text(session_id, n) }),
})
