/** Sessions: list, read, search, create, rename, flag, edit, delete and restore. */
import { z } from 'zod'
import { MAX_DRAFT_CHARS } from '../lib/base/draft-limit.ts'
import { type Ctx, endpoint, readableProfiles, requireOwner } from '../lib/context.ts'
import { invalid, missing, UserError } from '../lib/errors.ts'
import { jsonText } from '../lib/http/reply.ts'
import { SESSION_ID, PROFILE_NAME, SessionId } from '../lib/schema/ids.ts'
import { Message } from '../lib/schema/message.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import type { SessionJson } from '../lib/turns/session-view.ts'
import { Draft, Session, SessionRow } from '../lib/schema/session.ts'
import { isEmptyRow } from '../lib/sessions/list-row.ts'
import { toBoolean } from '../lib/profiles/settings.ts'

const One = z.object({ session_id: SessionId })
const Row = z.object({ ok: z.literal(true), session: SessionRow })
const Flag = z
  .unknown()
  .optional()
  .transform(value => toBoolean(value ?? true))

export const list = endpoint({
  access: 'read',
  summary: 'Session rows, newest first: all of them, or a page with `limit`',
  input: z.object({
    limit: z.coerce.number().int().min(1).max(500).optional(),
    cursor: z.string().max(200).optional(),
    profile: z.string().regex(PROFILE_NAME, 'Invalid profile name').optional(),
    /** `0` leaves runs of scheduled jobs out, except those that are pinned or need input. */
    scheduled: z
      .string()
      .optional()
      .transform(value => !value?.trim() || toBoolean(value)),
  }),
  output: z.object({
    sessions: z.array(SessionRow),
    /** With `limit` and a next page: the pinned rows of later pages, which are listed at the top. */
    pinned: z.array(SessionRow).optional(),
    cli_count: z.number(),
    next: z.string().nullable().optional(),
    cursor: z.string().optional(),
  }),
  run: async (ctx, { limit, cursor, profile, scheduled }) => {
    await ctx.app.sessions.catchUp()
    const withForeign = ctx.app.settings.get().show_cli_sessions
    const page = ctx.app.sessions.list({
      foreign: withForeign ? ctx.app.hostSessions.rows(ctx.home) : undefined,
      limit,
      cursor,
      profile: readableProfiles(ctx, profile),
      scheduled,
    })
    // Clients without paging use no cursor. Leaving it out keeps their cached copy valid while turns run.
    const place = limit === undefined && scheduled ? '' : ctx.app.hub.cursor()
    const tail = place ? `,"next":${JSON.stringify(page.next)},"cursor":"${place}"` : ''
    return jsonText(
      [
        Buffer.from('{"sessions":'),
        ...page.body,
        ...(page.pinned ? [Buffer.from(',"pinned":'), page.pinned] : []),
        Buffer.from(`,"cli_count":${page.foreign}${tail}}`),
      ],
      { etag: place ? `"${page.etag}-${place}"` : `"${page.etag}"` },
    )
  },
})

const sessionReply = ({ parts, etag }: SessionJson) => jsonText(parts, etag ? { etag } : {})

/** A session of the agent's database. One that cannot be read does not hide an empty session of ours. */
const foreignSession = (ctx: Ctx, id: string, isOwn: boolean) => {
  try {
    return ctx.app.hostSessions.session(ctx.home, id)
  } catch (error) {
    if (isOwn && error instanceof UserError) return undefined
    throw error
  }
}

export const get = endpoint({
  access: 'read',
  summary: 'A session with all messages, the last `limit`, or those before a message',
  input: z.object({
    session_id: z.string().default(''),
    limit: z.coerce.number().int().min(1).max(500).optional(),
    before: z.string().max(140).optional(),
    /** `0` omits the messages. */
    messages: z.string().optional(),
  }),
  output: z.object({ session: Session }),
  run: (ctx, { session_id, ...query }) => {
    if (!session_id) throw invalid('session_id is required', { code: 'missing_fields' })
    if (!SESSION_ID.test(session_id))
      throw missing('Session not found', { code: 'session_not_found' })
    const cached = ctx.app.sessionViews.recentReply(session_id, query)
    if (cached) return sessionReply(cached)
    const own = ctx.app.sessions.row(session_id)
    // An empty session of ours does not hide a command-line session with the same id.
    if (!own || isEmptyRow(own)) {
      const foreign = foreignSession(ctx, session_id, own !== undefined)
      if (!foreign && !own) throw missing('Session not found', { code: 'session_not_found' })
      if (foreign) return { session: ctx.app.sessionViews.foreign(foreign, query) }
    }
    // Load what was written at the terminal since the import.
    const isFollowed = own?.is_cli_session && query.before === undefined
    if (isFollowed) ctx.app.hostSessions.refresh(ctx.app.homes.of(own.profile), own.session_id)
    const row = isFollowed || !own ? ctx.app.sessions.require(session_id) : own
    return ctx.app.sessionViews.json(row, query).then(sessionReply)
  },
})

export const message = endpoint({
  access: 'read',
  summary: 'One message in full, for messages that a paged read has truncated',
  input: z.object({ session_id: SessionId, id: z.string().max(140) }),
  output: z.object({ message: Message }),
  run: (ctx, { session_id, id }) => ({ message: ctx.app.sessionViews.message(session_id, id) }),
})

export const status = endpoint({
  access: 'read',
  summary: 'Status of a session',
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
      profile: row.profile,
      message_count: row.message_count,
      created_at: row.created_at,
      updated_at: row.updated_at,
      agent_running: ctx.app.turns.isActive(row.session_id),
    }
  },
})

export const create = endpoint({
  once: 'disk',
  recognizes: true,
  access: 'work',
  summary: 'Create a session',
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
  access: 'work',
  summary: 'Rename a session',
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
  access: 'work',
  summary: 'Set the model or workspace, or replace a deleted profile',
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
  access: 'work',
  summary: 'Delete a session; it can be restored for 24 hours unless `permanent`',
  input: z.object({ session_id: z.string().default(''), permanent: z.boolean().default(false) }),
  output: Ok,
  run: async (ctx, { session_id, permanent }) => {
    if (!session_id) throw invalid('session_id is required', { code: 'missing_fields' })
    if (!SESSION_ID.test(session_id)) throw invalid('Invalid session_id')
    if (permanent) requireOwner(ctx, 'Only an owner can delete a chat permanently.')
    const { checkpoints, homes, hub, processes, sessions, toolOutput, turns } = ctx.app
    const row = sessions.row(session_id)
    if (row?.active_stream_id) turns.cancel(row.active_stream_id)
    if (row) {
      // Abort a running summary or side question: its result would be discarded, but paid for.
      turns.interrupt(row.session_id)
      ctx.app.sideQuestions.endSession(row.session_id)
    }
    await processes.endSession(row?.session_id ?? session_id)
    // Open questions of a deleted session can no longer be answered.
    if (row) turns.questions.denyAll(row.session_id, 'delete')
    const id = row?.session_id ?? session_id
    const home = row ? homes.of(row.profile) : ctx.home
    if (permanent) {
      await sessions.erase(id)
      toolOutput.remove(id)
      await checkpoints.remove(home, id)
    } else if (row) sessions.trash(id)
    // Last: if the process is killed before this, the remaining command-line row can be deleted again.
    const result = await ctx.app.hostSessions.remove(home, id, { permanent }).catch(error => {
      // A chat of ours is deleted. What was mirrored of its usage into a database that cannot be used is no message.
      if (row && !row.is_cli_session && error instanceof UserError) return false
      throw error
    })
    if (result && !row)
      hub.publish('list', { type: 'gone', data: { session_id: id } }, {}, home.name)
    return ok
  },
})

export const restore = endpoint({
  access: 'work',
  summary: 'Restore a deleted session',
  input: One,
  output: Row,
  run: async (ctx, { session_id }) => {
    const { hostSessions, homes, sessions } = ctx.app
    const home = await hostSessions.restore(name => homes.of(name), session_id)
    if (!home || sessions.inTrash(session_id)) {
      return { ok: true as const, session: sessions.restore(session_id) }
    }
    hostSessions.removeFromTrash(session_id)
    const session = hostSessions.session(home, session_id)
    if (!session) throw missing('Session not found', { code: 'session_not_found' })
    return { ok: true as const, session: session.row }
  },
})

export const purge = endpoint({
  access: 'own',
  summary: 'Rewrite the file of a session without cleared and undone messages',
  input: One,
  output: Row,
  run: async (ctx, { session_id }) => {
    const { session_id: id } = ctx.app.sessions.require(session_id)
    ctx.app.turns.requireIdle(id)
    const session = await ctx.app.sessions.purge(id)
    const messages = (await ctx.app.sessions.wholeJson(id)).toString()
    ctx.app.toolOutput.retain(id, messages + JSON.stringify(ctx.app.sessions.load(id).sent))
    return { ok: true as const, session }
  },
})

export const clear = endpoint({
  access: 'work',
  summary: 'Clear a session; the messages stay in its file until it is purged',
  input: One,
  output: Row,
  run: (ctx, { session_id }) => ({ ok: true as const, session: ctx.app.edits.clear(session_id) }),
})

export const truncate = endpoint({
  access: 'work',
  summary: 'Keep only the first messages of a session',
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

export const version = endpoint({
  access: 'work',
  summary: 'Show another version of a message with everything that followed it',
  input: z.object({ session_id: SessionId, message_id: z.string().min(1).max(140) }),
  output: Row,
  run: (ctx, { session_id, message_id }) => ({
    ok: true as const,
    session: ctx.app.edits.showVersion(session_id, message_id),
  }),
})

/** "Nothing to do" is a 200 with `error`. */
const Nothing = z.object({ error: z.string() })

export const retry = endpoint({
  once: 'memory',
  access: 'work',
  summary: 'Remove the last message and its response, and return the text to send again',
  input: One,
  output: z.union([
    z.object({ ok: z.literal(true), last_user_text: z.string(), removed_count: z.number() }),
    Nothing,
  ]),
  run: (ctx, { session_id }) => {
    const message = ctx.app.edits.undoLast(session_id)
    if (!message) return { error: 'No previous message to retry.' }
    return { ok: true as const, last_user_text: message.text, removed_count: message.count }
  },
})

export const undo = endpoint({
  once: 'memory',
  access: 'work',
  summary: 'Remove the last message and its response',
  input: One,
  output: z.union([
    z.object({ ok: z.literal(true), removed_count: z.number(), removed_preview: z.string() }),
    Nothing,
  ]),
  run: (ctx, { session_id }) => {
    const message = ctx.app.edits.undoLast(session_id)
    if (!message) return { error: 'Nothing to undo.' }
    const preview = message.text.length > 40 ? `${message.text.slice(0, 40)}...` : message.text
    return { ok: true as const, removed_count: message.count, removed_preview: preview }
  },
})

const flag = (key: 'pinned' | 'archived', summary: string) =>
  endpoint({
    access: 'work',
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
export const archive = flag('archived', 'Archive a session, or unarchive it')

export const duplicate = endpoint({
  once: 'memory',
  access: 'work',
  summary: 'Copy a session with all messages',
  input: One,
  output: z.object({ session: SessionRow }),
  run: (ctx, { session_id }) => ({
    session: ctx.app.sessions.duplicate(ctx.app.sessions.require(session_id).session_id),
  }),
})

export const branch = endpoint({
  once: 'memory',
  access: 'work',
  summary: 'Create a session from the first messages of this one',
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
  access: 'work',
  summary: 'Save the draft of a session, for all devices',
  input: z.object({
    session_id: SessionId,
    text: z.string().max(MAX_DRAFT_CHARS).optional(),
    files: z.array(z.string()).max(50).optional(),
    comments: Draft.shape.comments,
    client_message_id: Draft.shape.client_message_id,
  }),
  output: z.object({ ok: z.literal(true), draft: Draft, unchanged: z.boolean().optional() }),
  run: (ctx, { session_id, ...draft }) => ctx.app.edits.draft(session_id, draft),
})

const cleanupEndpoint = (anyTitle: boolean, summary: string) =>
  endpoint({
    // In all profiles.
    access: 'own',
    summary,
    output: z.object({ ok: z.literal(true), cleaned: z.number() }),
    run: ctx => ({ ok: true as const, cleaned: ctx.app.sessions.cleanup({ anyTitle }) }),
  })

export const cleanup = cleanupEndpoint(false, 'Delete untitled sessions without messages')
export const cleanupEmpty = cleanupEndpoint(true, 'Delete all sessions without messages')
