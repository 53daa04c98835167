/** Prompts that run in a new session in the background, and their results. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { MAX_MESSAGE_CHARS } from '../lib/turns/message-input.ts'
import { invalid } from '../lib/errors.ts'
import { OneSession } from '../lib/schema/ids.ts'

export const start = endpoint({
  once: 'disk',
  access: 'work',
  summary: 'Run a prompt in a new session in the background',
  input: OneSession.extend({ prompt: z.string().max(MAX_MESSAGE_CHARS).default('') }),
  output: z.object({ task_id: z.string(), stream_id: z.string(), session_id: z.string() }),
  run: async (ctx, { session_id, prompt }) => {
    if (!prompt.trim()) throw invalid('prompt is required', { code: 'missing_fields' })
    const { streamId, sessionId } = await ctx.app.backgroundPrompts.start(
      session_id,
      prompt.trim(),
      ctx.person.role,
    )
    return { task_id: sessionId, stream_id: streamId, session_id: sessionId }
  },
})

export const status = endpoint({
  access: 'read',
  summary: 'Status and answers of the background prompts of a session',
  input: OneSession,
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
