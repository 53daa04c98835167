/** Side questions: asked without tools, answered as a stream, and not stored in the session. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { MAX_MESSAGE_CHARS } from '../lib/turns/message-input.ts'
import { OneSession } from '../lib/schema/ids.ts'

export const ask = endpoint({
  once: 'disk',
  access: 'work',
  summary: 'Ask a side question: answered as a stream, without tools, and not stored',
  input: OneSession.extend({ question: z.string().max(MAX_MESSAGE_CHARS).default('') }),
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
