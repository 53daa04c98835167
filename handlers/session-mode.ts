/** Plan mode of a session: read-only until the user approves a plan. */
import { z } from 'zod'
import { APPROVE_PLAN } from '../lib/base/plan-answers.ts'
import { endpoint } from '../lib/context.ts'
import { OneSession } from '../lib/schema/ids.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { SessionMode } from '../lib/schema/session.ts'
import { outlivesTurn } from '../lib/turns/questions.ts'

export const get = endpoint({
  summary: 'The mode of a session: `plan` is read-only until the user approves a plan',
  input: OneSession,
  output: z.object({ mode: SessionMode }),
  run: (ctx, { session_id }) => ({
    mode:
      ctx.app.sessions.head(ctx.app.sessions.require(session_id).session_id).meta.mode ?? 'normal',
  }),
})

export const set = endpoint({
  summary:
    'Set the mode of a session; `normal` also approves a plan that its running turn presented',
  input: OneSession.extend({ mode: SessionMode }),
  output: Ok.extend({ mode: SessionMode }),
  run: (ctx, { session_id, mode }) => {
    const { sessions, turns } = ctx.app
    const { session_id: id } = sessions.require(session_id)
    const before = sessions.head(id).meta.mode ?? 'normal'
    if (before !== mode) sessions.append(id, [{ t: 'meta', patch: { mode } }])
    if (mode === 'normal')
      for (const open of turns.questions.pending(id, 'clarify').filter(outlivesTurn)) {
        const isRunning = turns.isActive(id)
        if (isRunning && open.kind === 'clarify')
          turns.questions.respond(id, 'clarify', open.clarify_id, APPROVE_PLAN, 'mode')
        else turns.questions.denyAll(id, 'mode', question => question !== open)
      }
    return { ...ok, mode }
  },
})
