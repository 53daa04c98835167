/** Approvals and questions of the agent: list, answer, stream, and inject (for tests, loopback only). */
import { frame, withHeartbeats } from '../lib/base/sse.ts'
import { z } from 'zod'
import { type Ctx, endpoint, requireOwner } from '../lib/context.ts'
import { invalid } from '../lib/errors.ts'
import { eventStream } from '../lib/http/reply.ts'
import { Grant } from '../lib/turns/context/grants.ts'
import { visibleText } from '../lib/base/visible.ts'
import {
  RuleScope,
  Approval,
  ApprovalChoice,
  Clarify,
  type Question,
  Unanswered,
} from '../lib/schema/question.ts'
import { readRule } from '../lib/turns/context/allow-rules.ts'
import { OneSession, SessionId } from '../lib/schema/ids.ts'
import { rolePatch } from '../lib/turns/context/role-guards.ts'
import { recorded } from '../lib/people/audit.ts'

export const pending = endpoint({
  access: 'read',
  summary: 'The oldest open approval of a session',
  input: OneSession,
  output: z.object({ pending: Approval.nullable(), pending_count: z.number() }),
  run: (ctx, { session_id }) => {
    const open = ctx.app.turns.questions.pending(session_id, 'approval') as Approval[]
    return { pending: open[0] ?? null, pending_count: open.length }
  },
})

/** A member may allow what a chat does, but not what an owner decides about: what lasts, and what the profile keeps the agent from. */
const requireDecision = (
  ctx: Ctx,
  sessionId: string,
  id: string | undefined,
  choice: ApprovalChoice,
  scope: RuleScope | undefined,
): void => {
  if (choice === 'deny' || ctx.may('own', null)) return
  const { questions } = ctx.app.turns
  const question = id ? questions.find(id) : questions.pending(sessionId, 'approval')[0]
  if (question?.kind === 'approval' && question.needs_owner)
    requireOwner(ctx, 'Only an owner can allow this.')
  if (choice === 'always' || (scope !== undefined && scope !== 'session'))
    requireOwner(ctx, 'Only an owner can allow this for more than one chat.')
}

const noteMember = ({ app: { sessions } }: Ctx, sessionId: string): void => {
  const { session_id: id } = sessions.require(sessionId)
  const patch = rolePatch(sessions.head(id).meta, 'member')
  if (Object.keys(patch).length > 0) sessions.append(id, [{ t: 'meta', patch }])
}

/** The address, and the name where several people may have answered. */
const answeredBy = ({ app, client, person }: Ctx): string =>
  person.id === '' && !app.people.hasOthers()
    ? client.address
    : `${app.people.nameOf(person)} (${client.address})`

export const respond = endpoint({
  access: 'work',
  audit: recorded('approval', ({ choice, session_id }) => `${choice} ${session_id}`),
  summary: 'Answer an approval; the first answer counts, and a later one gets it back',
  input: z.object({
    session_id: SessionId,
    choice: z.string().default('deny'),
    approval_id: z.string().optional(),
    /** With `session` or `always`: the exact command, or its first words followed by ` *`. */
    rule: z.string().max(10_000).optional(),
    scope: RuleScope.optional(),
    /** With `session` or `always`: every call of the tool, every change of the files; see the approval's `any`. */
    any: z.boolean().optional(),
  }),
  output: z.object({
    ok: z.literal(true),
    choice: ApprovalChoice,
    accepted: z.boolean(),
    answer: z.string().nullable(),
    /** With an answer that is too late: no one had answered. */
    reason: Unanswered.optional(),
  }),
  run: (ctx, { session_id, choice, approval_id, rule, scope, any }) => {
    const valid = ApprovalChoice.safeParse(choice)
    if (!valid.success) throw invalid(`Invalid choice: ${choice.slice(0, 40)}`)
    const { questions } = ctx.app.turns
    requireDecision(ctx, session_id, approval_id, valid.data, scope)
    const by = answeredBy(ctx)
    const answered = questions.respond(
      session_id,
      'approval',
      approval_id,
      valid.data,
      by,
      question =>
        question.kind === 'approval' && (valid.data === 'always' || valid.data === 'session')
          ? readRule(question, rule, scope, any)
          : undefined,
    )
    return { ok: true as const, choice: valid.data, ...answered }
  },
})

export const grants = endpoint({
  access: 'own',
  summary: 'Commands that are always allowed in the current profile',
  output: z.object({ grants: z.array(Grant) }),
  run: ctx => ({
    grants: ctx.app.grants
      .list(ctx.home.name)
      .map(grant => ({ ...grant, cwd: visibleText(grant.cwd) })),
  }),
})

export const revokeGrant = endpoint({
  access: 'own',
  summary: 'Revoke a permission: ask about this command again',
  input: z.object({ id: z.string() }),
  output: z.object({ ok: z.literal(true), removed: z.boolean() }),
  run: (ctx, { id }) => ({
    ok: true as const,
    removed: ctx.app.grants.remove(ctx.home.name, id),
  }),
})

export const clarifyPending = endpoint({
  access: 'read',
  summary: 'The oldest open question of a session',
  input: OneSession,
  output: z.object({ pending: Clarify.nullable() }),
  run: (ctx, { session_id }) => ({
    pending: (ctx.app.turns.questions.pending(session_id, 'clarify')[0] ?? null) as Clarify | null,
  }),
})

export const clarifyRespond = endpoint({
  access: 'work',
  summary: 'Answer a question of the agent',
  input: z.object({
    session_id: SessionId,
    response: z.string().optional(),
    answer: z.string().optional(),
    choice: z.string().optional(),
    clarify_id: z.string().optional(),
  }),
  output: z.object({
    ok: z.literal(true),
    response: z.string(),
    accepted: z.boolean(),
    answer: z.string().nullable(),
    /** With an answer that is too late: no one had answered. */
    reason: Unanswered.optional(),
  }),
  run: (ctx, { session_id, response, answer, choice, clarify_id }) => {
    const text = (response ?? answer ?? choice ?? '').trim()
    if (!text) throw invalid('response is required', { code: 'missing_fields' })
    const { questions } = ctx.app.turns
    // Their words decide what the turn does from now on.
    if (ctx.person.role !== 'owner') noteMember(ctx, session_id)
    const answered = questions.respond(session_id, 'clarify', clarify_id, text, answeredBy(ctx))
    return { ok: true as const, response: text, ...answered }
  },
})

/** The open questions of a session first, then each new one. */
async function* questionFrames(ctx: Ctx, sessionId: string, kind: Question['kind']) {
  const { hub, turns } = ctx.app
  const queue: string[] = []
  let wake = () => {}
  const push = (text: string) => {
    queue.push(text)
    wake()
  }
  const untap = hub.tap('inbox', event => {
    const data = event.data as { session_id: string; kind?: string }
    if (data.session_id !== sessionId) return
    if (event.type === 'asked' && data.kind === kind) push(frame(kind, data))
    if (event.type === 'settled') push(frame('settled', data))
  })
  const stop = () => wake()
  ctx.signal.addEventListener('abort', stop)
  try {
    const open = turns.questions.pending(sessionId, kind)
    yield frame('initial', { pending: open[0] ?? null, pending_count: open.length })
    while (!ctx.signal.aborted) {
      if (queue.length === 0) {
        const { promise, resolve } = Promise.withResolvers<void>()
        wake = resolve
        await promise
      }
      yield queue.splice(0).join('')
    }
  } finally {
    untap()
    ctx.signal.removeEventListener('abort', stop)
  }
}

const streamOf = (kind: Question['kind'], summary: string) =>
  endpoint({
    access: 'read',
    summary,
    input: OneSession,
    raw: 'text/event-stream',
    run: (ctx, { session_id }) =>
      eventStream(withHeartbeats(questionFrames(ctx, session_id, kind))),
  })

export const approvalStream = streamOf('approval', 'Approvals of a session, as they are requested')
export const clarifyStream = streamOf('clarify', 'Questions of a session, as they are asked')

export const injectApproval = endpoint({
  access: 'own',
  summary: 'Create an approval for tests; loopback only',
  input: z.object({
    session_id: SessionId,
    pattern_key: z.string().default('test_pattern'),
    command: z.string().default('rm -rf /tmp/test'),
  }),
  output: z.object({ ok: z.literal(true), session_id: z.string() }),
  loopback: true,
  effects: true,
  run: (ctx, { session_id, pattern_key, command }) => {
    const { session_id: id, workspace } = ctx.app.sessions.require(session_id)
    void ctx.app.turns.questions.approve(
      {
        session_id: id,
        command,
        pattern_key,
        pattern_keys: [pattern_key],
        description: 'Injected for a test',
        cwd: workspace,
      },
      0,
    )
    return { ok: true as const, session_id: id }
  },
})

export const injectClarify = endpoint({
  access: 'own',
  summary: 'Create a question for tests; loopback only',
  input: z.object({
    session_id: SessionId,
    question: z.string().default('Which option?'),
    choices: z.union([z.array(z.string()), z.string().transform(one => [one])]).default([]),
  }),
  output: z.object({ ok: z.literal(true), session_id: z.string() }),
  loopback: true,
  effects: true,
  run: (ctx, { session_id, question, choices }) => {
    const { session_id: id } = ctx.app.sessions.require(session_id)
    const ask = { session_id: id, question, choices_offered: choices }
    void ctx.app.turns.questions.clarify(ask, 0)
    return { ok: true as const, session_id: id }
  },
})
