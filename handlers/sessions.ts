/** Sessions: listed, read, searched, named, flagged, edited, thrown away and brought back. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { invalid, missing } from '../lib/errors.ts'
import { jsonText } from '../lib/http/reply.ts'
import { SESSION_ID, PROFILE_NAME, SessionId } from '../lib/schema/ids.ts'
import { Message } from '../lib/schema/message.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { Draft, Session, SessionRow } from '../lib/schema/session.ts'
import { isEmptyRow } from '../lib/sessions/list-row.ts'
import { toBoolean } from '../lib/settings.ts'

const One = z.object({ session_id: SessionId })
const Row = z.object({ ok: z.literal(true), session: SessionRow })
const Flag = z
  .unknown()
  .optional()
  .transform(value => toBoolean(value ?? true))

export const list = endpoint({
  summary: 'Compact rows, newest first; the whole list without `limit`, a page of it with',
  input: z.object({
    limit: z.coerce.number().int().min(1).max(500).optional(),
    cursor: z.string().max(200).optional(),
    profile: z.string().regex(PROFILE_NAME, 'Invalid profile name').optional(),
    /** `0` leaves the runs of scheduled tasks out of a page, but for those that wait for a person or are pinned. */
    scheduled: z
      .string()
      .optional()
      .transform(value => !value?.trim() || toBoolean(value)),
  }),
  output: z.object({
    sessions: z.array(SessionRow),
    /** With `limit` and more pages to come: pinned rows of those pages, which stand at the top. */
    pinned: z.array(SessionRow).optional(),
    cli_count: z.number(),
    next: z.string().nullable().optional(),
    cursor: z.string().optional(),
  }),
  run: async (ctx, { limit, cursor, profile, scheduled }) => {
    await ctx.app.sessions.catchUp()
    const shown = ctx.app.settings.get().show_cli_sessions
    const page = ctx.app.sessions.list({
      foreign: shown ? ctx.app.hostSessions.rows(ctx.home) : undefined,
      limit,
      cursor,
      profile,
      scheduled,
    })
    // Clients that know no paging know no cursor either: without it their copy stays valid while turns run.
    const place = limit === undefined && scheduled ? '' : ctx.app.hub.cursor()
    const tail = place ? `,"next":${JSON.stringify(page.next)},"cursor":"${place}"` : ''
    return jsonText(
      [
        Buffer.from('{"sessions":'),
        page.body,
        ...(page.pinned ? [Buffer.from(',"pinned":'), page.pinned] : []),
        Buffer.from(`,"cli_count":${page.foreign}${tail}}`),
      ],
      { etag: place ? `"${page.etag}-${place}"` : `"${page.etag}"` },
    )
  },
})

export const get = endpoint({
  summary: 'A session with its messages: whole, or the last `limit` of them, or those before one',
  input: z.object({
    session_id: z.string().default(''),
    limit: z.coerce.number().int().min(1).max(500).optional(),
    before: z.string().max(140).optional(),
    /** `0` leaves the messages out. */
    messages: z.string().optional(),
  }),
  output: z.object({ session: Session }),
  run: async (ctx, { session_id, limit, before, messages }) => {
    if (!session_id) throw invalid('session_id is required', { code: 'missing_fields' })
    if (!SESSION_ID.test(session_id))
      throw missing('Session not found', { code: 'session_not_found' })
    const own = ctx.app.sessions.row(session_id)
    // An empty one of ours hides nothing that the command line has under its id.
    if (!own || isEmptyRow(own)) {
      const found = ctx.app.hostSessions.session(ctx.home, session_id)
      if (!found && !own) throw missing('Session not found', { code: 'session_not_found' })
      if (found)
        return { session: ctx.app.sessionViews.foreign(found, { limit, before, messages }) }
    }
    // Written at the terminal meanwhile: it is there when the conversation is opened.
    const { profile, session_id: id, is_cli_session } = ctx.app.sessions.require(session_id)
    if (is_cli_session && before === undefined)
      ctx.app.hostSessions.refresh(ctx.app.homes.of(profile), id)
    if (messages === '0') return { session: ctx.app.sessionViews.paged(session_id, { limit: 0 }) }
    if (limit === undefined && before === undefined) {
      return jsonText(await ctx.app.sessionViews.wholeJson(session_id))
    }
    return { session: ctx.app.sessionViews.paged(session_id, { limit: limit ?? 50, before }) }
  },
})

export const message = endpoint({
  summary: 'One whole message, for what a paged read has cut',
  input: z.object({ session_id: SessionId, id: z.string().max(140) }),
  output: z.object({ message: Message }),
  run: (ctx, { session_id, id }) => ({ message: ctx.app.sessionViews.message(session_id, id) }),
})

export const status = endpoint({
  summary: 'What a session is doing',
  input: z.object({ session_id: z.string().default('') }),
  output: z.looseObject({ session_id: z.string(), agent_running: z.boolean() }),
  run: (ctx, { session_id }) => {
    if (!session_id) throw invalid('Missing session_id', { code: 'missing_fields' })
    const row = ctx.app.sessions.require(session_id)
    return {
      session_id: row.session_id,
      title: row.title,
      model: row.model,
      workspace: row.workspace,
      personality: row.personality,
      message_count: row.message_count,
      created_at: row.created_at,
      updated_at: row.updated_at,
      agent_running: ctx.app.turns.isActive(row.session_id),
    }
  },
})

export const usage = endpoint({
  summary: 'Tokens and cost of a session so far',
  input: z.object({ session_id: z.string().default('') }),
  output: z.object({
    input_tokens: z.number(),
    output_tokens: z.number(),
    total_tokens: z.number(),
    estimated_cost: z.number(),
    model: z.string().nullable(),
  }),
  run: (ctx, { session_id }) => {
    if (!session_id) throw invalid('Missing session_id', { code: 'missing_fields' })
    const row = ctx.app.sessions.require(session_id)
    const { input_tokens, output_tokens, estimated_cost, model } = row
    return {
      input_tokens,
      output_tokens,
      total_tokens: input_tokens + output_tokens,
      estimated_cost,
      model,
    }
  },
})

const SEARCH_LIMIT = 50

export const search = endpoint({
  summary: 'Sessions whose title or text matches, best first, with the matching line',
  input: z.object({
    q: z.string().max(1_000).default(''),
    content: z.string().default('1'),
    /** Of clients that scanned messages one by one; here the index answers, so it only has to be a number. */
    depth: z.coerce.number().int().min(0).default(5),
    limit: z.coerce.number().int().min(1).max(200).default(SEARCH_LIMIT),
    profile: z.string().regex(PROFILE_NAME, 'Invalid profile name').optional(),
  }),
  output: z.looseObject({ sessions: z.array(z.looseObject({ session_id: z.string() })) }),
  run: async (ctx, { q, content, limit, profile }) => {
    await ctx.app.sessions.catchUp()
    if (!q.trim()) {
      return {
        sessions: JSON.parse(ctx.app.sessions.list({ profile }).body.toString()) as SessionRow[],
      }
    }
    const hits = await ctx.app.sessions.search({ q, content: toBoolean(content), limit, profile })
    return { sessions: hits, query: q, count: hits.length }
  },
})

export const create = endpoint({
  summary: 'A new session',
  input: z.object({
    workspace: z.string().optional(),
    model: z.string().optional(),
    profile: z.string().regex(PROFILE_NAME, 'Invalid profile name').optional(),
  }),
  output: z.object({ session: SessionRow }),
  run: (ctx, input) => ({
    session: { ...ctx.app.turnStarter.create(ctx.home, input), messages: [] },
  }),
})

export const rename = endpoint({
  summary: 'Give a session a new title',
  input: z.object({ session_id: SessionId, title: z.string() }),
  output: z.object({ session: SessionRow }),
  run: (ctx, { session_id, title }) => {
    const { session_id: id } = ctx.app.sessions.require(session_id)
    const patch = { title: [...title.trim()].slice(0, 80).join('') || 'Untitled' }
    ctx.app.sessions.append(id, [{ t: 'meta', patch: { ...patch, llm_title_generated: true } }])
    return { session: ctx.app.sessions.require(id) }
  },
})

export const update = endpoint({
  summary: 'Choose the model, the workspace, or a profile in place of a deleted one',
  input: z.object({
    session_id: SessionId,
    workspace: z.string().optional(),
    model: z.string().optional(),
    profile: z.string().regex(PROFILE_NAME, 'Invalid profile name').optional(),
  }),
  output: z.object({ session: Session }),
  run: async (ctx, { session_id, ...patch }) => {
    ctx.app.turnStarter.update(session_id, patch)
    return { session: await ctx.app.sessionViews.full(session_id) }
  },
})

export const remove = endpoint({
  summary: 'Delete a session; it can be restored for 24 hours unless `permanent`',
  input: z.object({ session_id: z.string().default(''), permanent: z.boolean().default(false) }),
  output: Ok,
  run: async (ctx, { session_id, permanent }) => {
    if (!session_id) throw invalid('session_id is required', { code: 'missing_fields' })
    if (!SESSION_ID.test(session_id)) throw invalid('Invalid session_id')
    const { checkpoints, homes, hub, processes, sessions, toolOutput, turns } = ctx.app
    const row = sessions.row(session_id)
    if (row?.active_stream_id) turns.cancel(row.active_stream_id)
    if (row) {
      // A summary or a side question would be paid for and read by nobody.
      turns.interrupt(row.session_id)
      ctx.app.sideQuestions.endSession(row.session_id)
    }
    await processes.endSession(row?.session_id ?? session_id)
    // A question of a deleted session could never be answered.
    if (row) turns.questions.denyAll(row.session_id, 'delete')
    const id = row?.session_id ?? session_id
    const home = row ? homes.of(row.profile) : ctx.home
    if (permanent) {
      await sessions.erase(id)
      toolOutput.remove(id)
      await checkpoints.remove(home, id)
    } else if (row) sessions.trash(id)
    // Afterwards: what is left by a kill in between is a row of the command line, and can be deleted once more.
    const removed = await ctx.app.hostSessions.remove(home, id, { permanent })
    if (removed && !row) hub.publish('list', { type: 'gone', data: { session_id: id } })
    return ok
  },
})

export const restore = endpoint({
  summary: 'Bring a deleted session back',
  input: One,
  output: Row,
  run: async (ctx, { session_id }) => {
    const { hostSessions, homes, sessions } = ctx.app
    const home = await hostSessions.restore(homes.of, session_id)
    if (!home || sessions.inTrash(session_id)) {
      return { ok: true as const, session: sessions.restore(session_id) }
    }
    hostSessions.removeFromTrash(session_id)
    const found = hostSessions.session(home, session_id)
    if (!found) throw missing('Session not found', { code: 'session_not_found' })
    return { ok: true as const, session: found.row }
  },
})

export const purge = endpoint({
  summary: 'Rewrite a session so that cleared and undone text is really gone',
  input: One,
  output: Row,
  run: async (ctx, { session_id }) => {
    const { session_id: id } = ctx.app.sessions.require(session_id)
    ctx.app.turns.requireIdle(id)
    const session = await ctx.app.sessions.purge(id)
    const kept = (await ctx.app.sessions.wholeJson(id)).toString()
    ctx.app.toolOutput.retain(id, path => kept.includes(path))
    return { ok: true as const, session }
  },
})

export const clear = endpoint({
  summary: 'Empty a session; the text stays in its file until it is purged',
  input: One,
  output: Row,
  run: (ctx, { session_id }) => ({ ok: true as const, session: ctx.app.edits.clear(session_id) }),
})

export const truncate = endpoint({
  summary: 'Keep the first messages of a session',
  input: z.object({
    session_id: SessionId,
    keep_count: z
      .int('keep_count must be a whole number')
      .min(0, 'keep_count must not be negative'),
  }),
  output: z.object({ ok: z.literal(true), session: Session }),
  run: async (ctx, { session_id, keep_count }) => {
    const row = ctx.app.edits.truncate(session_id, keep_count)
    return { ok: true as const, session: await ctx.app.sessionViews.full(row.session_id) }
  },
})

/** "Nothing to do" is no failure: clients read the sentence from a 200 (contract §9.1, row 20). */
const Nothing = z.object({ error: z.string() })

export const retry = endpoint({
  summary: 'Take back the last message and its answer, so that it can be sent again',
  input: One,
  output: z.union([
    z.object({ ok: z.literal(true), last_user_text: z.string(), removed_count: z.number() }),
    Nothing,
  ]),
  run: (ctx, { session_id }) => {
    const taken = ctx.app.edits.undoLast(session_id)
    if (!taken) return { error: 'No previous message to retry.' }
    return { ok: true as const, last_user_text: taken.text, removed_count: taken.count }
  },
})

export const undo = endpoint({
  summary: 'Take back the last message and its answer',
  input: One,
  output: z.union([
    z.object({ ok: z.literal(true), removed_count: z.number(), removed_preview: z.string() }),
    Nothing,
  ]),
  run: (ctx, { session_id }) => {
    const taken = ctx.app.edits.undoLast(session_id)
    if (!taken) return { error: 'Nothing to undo.' }
    const preview = taken.text.length > 40 ? `${taken.text.slice(0, 40)}...` : taken.text
    return { ok: true as const, removed_count: taken.count, removed_preview: preview }
  },
})

const flag = (key: 'pinned' | 'archived', summary: string) =>
  endpoint({
    summary,
    input: z.object({ session_id: SessionId, [key]: Flag }),
    output: Row,
    run: (ctx, input) => {
      const { session_id: id } = ctx.app.sessions.require(String(input.session_id))
      ctx.app.sessions.append(id, [{ t: 'meta', patch: { [key]: input[key] } }])
      return { ok: true as const, session: ctx.app.sessions.require(id) }
    },
  })

export const pin = flag('pinned', 'Pin a session, or unpin it')
export const archive = flag('archived', 'Archive a session, or bring it back')

export const duplicate = endpoint({
  summary: 'An independent copy with all messages',
  input: One,
  output: z.object({ session: SessionRow }),
  run: (ctx, { session_id }) => ({
    session: ctx.app.sessions.duplicate(ctx.app.sessions.require(session_id).session_id),
  }),
})

export const branch = endpoint({
  summary: 'A new session that begins with the first messages of this one',
  input: z.object({
    session_id: SessionId,
    keep_count: z.int('keep_count must be a whole number').min(0).optional(),
    title: z.string().max(80).optional(),
  }),
  output: z.object({
    session_id: z.string(),
    title: z.string(),
    parent_session_id: z.string(),
    session: SessionRow,
  }),
  run: (ctx, { session_id, keep_count, title }) => {
    const parent = ctx.app.sessions.require(session_id).session_id
    const session = ctx.app.sessions.branch(parent, {
      ...(keep_count === undefined ? {} : { keep_count }),
      ...(title === undefined ? {} : { title }),
    })
    const { session_id: id, title: name } = session
    return { session_id: id, title: name, parent_session_id: parent, session }
  },
})

export const draft = endpoint({
  summary: 'Keep what is being written, for every device',
  input: z.object({
    session_id: SessionId,
    text: z.string().max(50_000).optional(),
    files: z.array(z.string()).max(50).optional(),
  }),
  output: z.object({ ok: z.literal(true), draft: Draft, unchanged: z.boolean().optional() }),
  run: (ctx, { session_id, text, files }) => ctx.app.edits.draft(session_id, text, files),
})

const cleanupEndpoint = (anyTitle: boolean, summary: string) =>
  endpoint({
    summary,
    output: z.object({ ok: z.literal(true), cleaned: z.number() }),
    run: ctx => ({ ok: true as const, cleaned: ctx.app.sessions.cleanup({ anyTitle }) }),
  })

export const cleanup = cleanupEndpoint(false, 'Delete untitled sessions without messages')
export const cleanupEmpty = cleanupEndpoint(true, 'Delete all sessions without messages')
