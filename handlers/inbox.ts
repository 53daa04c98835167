/** What waits for a person, and what runs, in all sessions of all profiles. */
import { z } from 'zod'
import { type Ctx, endpoint, refusedRoutes } from '../lib/context.ts'
import { redactValue } from '../lib/base/redact/redact.ts'
import { Question } from '../lib/schema/question.ts'
import type { SessionRow } from '../lib/schema/session.ts'
import { Usage } from '../lib/schema/usage.ts'

const OfSession = z.object({ session_id: z.string(), title: z.string(), profile: z.string() })

/** A turn that failed longer ago is no longer news. */
const TROUBLE_MS = 7 * 24 * 3_600_000
const MAX_TROUBLED = 20

const sessionOf = (ctx: Ctx, id: string): z.output<typeof OfSession>[] => {
  const row = ctx.app.sessions.row(id)
  return row && ctx.may('read', row.profile)
    ? [{ session_id: id, title: row.title, profile: row.profile }]
    : []
}

/** All of them are read where some may belong to other profiles. */
const troubledOf = (ctx: Ctx, since: number): SessionRow[] =>
  ctx.app.sessions
    .troubled(since, ctx.may('own', null) ? MAX_TROUBLED : -1)
    .filter(({ profile }) => ctx.may('read', profile))
    .slice(0, MAX_TROUBLED)

export const inbox = endpoint({
  access: 'read',
  summary: 'Open approvals and questions of all sessions, and turns that ended in trouble',
  output: z.object({
    questions: z.array(Question),
    /** The sessions of the questions. */
    sessions: z.array(OfSession),
    /** Sessions whose last turn failed, was interrupted, or reached a limit, newest first. */
    troubled: z.array(
      OfSession.extend({
        /** `steps` and `budget`: it reached that limit before its work was done. */
        how: z.enum(['failed', 'interrupted', 'steps', 'budget']),
        updated_at: z.number(),
        message_count: z.number(),
        /** The turn was a run of a scheduled task. */
        scheduled: z.boolean(),
      }),
    ),
    /** Routes that the role of the person refuses, for those who show the inbox of several services. */
    refused: z.array(z.string()),
    cursor: z.string(),
  }),
  run(ctx) {
    const questions = ctx.app.turns.questions
      .all()
      .filter(({ session_id }) => sessionOf(ctx, session_id).length > 0 || ctx.may('own', null))
    const ids = new Set(questions.map(({ session_id }) => session_id))
    const since = ctx.app.clock.now() - TROUBLE_MS
    return {
      questions,
      sessions: [...ids].flatMap(id => sessionOf(ctx, id)),
      troubled: troubledOf(ctx, since).map(row => ({
        session_id: row.session_id,
        title: row.title,
        profile: row.profile,
        how:
          row.last_turn_limit ??
          (row.last_turn === 'failed' ? ('failed' as const) : ('interrupted' as const)),
        updated_at: row.updated_at,
        message_count: row.message_count,
        scheduled: row.source_tag === 'cron',
      })),
      refused: refusedRoutes(ctx),
      cursor: ctx.app.hub.cursor(),
    }
  },
})

const Doing = z.discriminatedUnion('kind', [
  /** The call that was started last, with shortened arguments. */
  z.object({
    kind: z.literal('tool'),
    name: z.string(),
    args: z.record(z.string(), z.string()),
    /** Calls that run beside it. */
    more: z.number(),
  }),
  z.object({ kind: z.enum(['waiting', 'retrying', 'answering', 'thinking']) }),
])

export const running = endpoint({
  access: 'read',
  summary: 'The running turns of all sessions, and what each is doing now',
  cache: 'no-store',
  output: z.object({
    turns: z.array(
      OfSession.extend({
        stream_id: z.string(),
        started_at: z.number(),
        model: z.string(),
        doing: Doing,
        subagents: z.number(),
        /** Absent until a model call has reported it. */
        usage: Usage.optional(),
      }),
    ),
  }),
  run(ctx) {
    const { turns } = ctx.app
    const list = turns.running().flatMap(({ sessionId }) => {
      const live = turns.live(sessionId)
      const [session] = sessionOf(ctx, sessionId)
      return live && session ? [{ live, session }] : []
    })
    return {
      turns: list
        .sort((a, b) => a.live.started_at - b.live.started_at)
        .map(({ live, session }) => ({
          ...session,
          stream_id: live.stream_id,
          started_at: live.started_at,
          model: live.model,
          doing: doingOf(live, turns.questions.pending(session.session_id).length > 0),
          subagents: live.subagents?.length ?? 0,
          ...(live.usage && { usage: live.usage }),
        })),
    }
  },
})

type Live = NonNullable<ReturnType<Ctx['app']['turns']['live']>>

const doingOf = ({ tools, retry, text }: Live, isWaiting: boolean): z.input<typeof Doing> => {
  const last = tools.at(-1)
  if (isWaiting) return { kind: 'waiting' }
  if (retry) return { kind: 'retrying' }
  if (last)
    return { kind: 'tool', name: last.name, args: redactValue(last.args), more: tools.length - 1 }
  return { kind: text === '' ? 'thinking' : 'answering' }
}
