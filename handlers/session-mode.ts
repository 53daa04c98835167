/** What a session may do without its user: plan mode (read-only until a plan is approved), and auto-approve ("yolo"). */
import { z } from 'zod'
import { type Ctx, endpoint, requireOwner } from '../lib/context.ts'
import { OneSession } from '../lib/schema/ids.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { toBoolean } from '../lib/profiles/settings.ts'
import { isBudgetKey } from '../lib/turns/context/spending-limit.ts'
import { APPROVE_PLAN } from '../lib/base/plan-answers.ts'
import { SessionMode } from '../lib/schema/session.ts'
import { outlivesTurn } from '../lib/schema/question.ts'

export const get = endpoint({
  access: 'read',
  summary: 'The mode of a session: `plan` is read-only until the user approves a plan',
  input: OneSession,
  output: z.object({ mode: SessionMode }),
  run: (ctx, { session_id }) => ({
    mode:
      ctx.app.sessions.head(ctx.app.sessions.require(session_id).session_id).meta.mode ?? 'normal',
  }),
})

export const set = endpoint({
  access: 'work',
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

const isYolo = (ctx: Ctx, id: string): boolean => ctx.app.sessions.head(id).meta.yolo === true

export const getYolo = endpoint({
  access: 'read',
  summary: 'Whether a session runs commands without asking',
  input: OneSession,
  output: z.object({ yolo_enabled: z.boolean() }),
  run: (ctx, { session_id }) => ({
    yolo_enabled: isYolo(ctx, ctx.app.sessions.require(session_id).session_id),
  }),
})

export const setYolo = endpoint({
  access: 'work',
  summary: 'Turn auto-approve on or off for a session; blocked commands stay blocked',
  input: OneSession.extend({
    enabled: z
      .unknown()
      .optional()
      .transform(value => toBoolean(value ?? true)),
  }),
  output: Ok.extend({ yolo_enabled: z.boolean() }),
  run: (ctx, { session_id, enabled }) => {
    if (enabled) requireOwner(ctx, 'Only an owner can turn auto-approve on.')
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
