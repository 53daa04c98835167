/** Auto-approve ("yolo"): a session that runs commands without asking. Blocked commands stay blocked. */
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { OneSession } from '../lib/schema/ids.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { toBoolean } from '../lib/settings.ts'
import { isBudgetKey } from '../lib/turn-context/spending-limit.ts'

const isYolo = (ctx: Ctx, id: string): boolean => ctx.app.sessions.head(id).meta.yolo === true

export const get = endpoint({
  summary: 'Whether a session runs commands without asking',
  input: OneSession,
  output: z.object({ yolo_enabled: z.boolean() }),
  run: (ctx, { session_id }) => ({
    yolo_enabled: isYolo(ctx, ctx.app.sessions.require(session_id).session_id),
  }),
})

export const set = endpoint({
  summary: 'Turn auto-approve on or off for a session; blocked commands stay blocked',
  input: OneSession.extend({
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
    // Open approvals are answered too, except budget questions and those that offer no lasting answer.
    for (const open of enabled ? questions.pending(id, 'approval') : []) {
      if (open.kind !== 'approval' || isBudgetKey(open.pattern_key)) continue
      if (open.choices && !open.choices.includes('session')) continue
      questions.respond(id, 'approval', open.approval_id, 'once', 'yolo')
    }
    return { ...ok, yolo_enabled: enabled }
  },
})
