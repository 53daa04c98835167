/** The wire form of a session: its row, its messages, and the live state of its running turn. */
import type { Clock } from '../base/clock.ts'
import type { Hub } from '../http/hub.ts'
import { missing } from '../errors.ts'
import { secretsVersion } from '../base/redact/redact.ts'
import type { Message } from '../schema/message.ts'
import type { Session, SessionRow } from '../schema/session.ts'
import { activeSpans } from '../sessions/fold.ts'
import { isEmptyRow } from '../sessions/list-row.ts'
import { RecentReads } from '../sessions/recent-reads.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { toolSummaries, withShownSummaries } from '../sessions/tool-call-summaries.ts'
import { queuedOf } from '../sessions/queued.ts'
import { withVersions } from '../sessions/versions.ts'
import type { Turns } from './turns.ts'
import { elide } from './to-stream-event.ts'

export type SessionViewsOptions = {
  sessions: Sessions
  turns: Pick<Turns, 'live' | 'questions'>
  hub: Pick<Hub, 'cursor'>
  clock: Clock
  redactValue: <T>(value: T) => T
  /** The model to show: computed, never stored. */
  shownModel: (model: string | null, profile: string) => string | null
  /** Undefined for a text that is too long. */
  etagOf: (text: string) => string | undefined
}

type Parts = Pick<Session, 'messages' | 'tool_calls'> & { offset: number; truncated: boolean }

/** What is asked for of a session: with neither, all messages. `messages: '0'` leaves them out. */
export type Asked = {
  limit?: number | undefined
  before?: string | undefined
  messages?: string | undefined
}

/** `{"session": …}` and its ETag, if it has one. */
export type SessionJson = { parts: readonly Buffer[]; etag?: string | undefined }

type Kept = {
  json: SessionJson
  model: Pick<SessionRow, 'model' | 'profile'>
  shown: string | null
}

const KEPT_REPLY_BYTES = 2 * 1024 * 1024
const KEPT_REPLY_MS = 10_000

const TOOL_CALLS_BYTES = 4 * 1024 * 1024
const TOOL_CALLS_MS = 60_000

/** Estimated, in memory. */
const sizeOf = (calls: Session['tool_calls']): number =>
  calls.reduce(
    (sum, { snippet, args }) =>
      sum + 200 + snippet.length + Object.values(args).reduce((all, arg) => all + arg.length, 0),
    0,
  )

/** Texts of the client come with their length or last, so that no two requests have the same key. */
const keyOf = (id: string, { limit, before, messages }: Asked): string => {
  const left = messages === undefined ? '' : `${messages.length}:${messages}`
  return `${id} ${limit ?? ''} ${left} ${before === undefined ? '' : `:${before}`}`
}

/** The number in a message id, `m<n>`; 0 for ids of other programs, whose messages have no usage here. */
const lineOf = (id = ''): number => Number(/^m(\d+)$/.exec(id)?.[1] ?? 0)

export type SessionViews = ReturnType<typeof createSessionViews>

export const createSessionViews = ({
  sessions,
  turns,
  hub,
  clock,
  redactValue,
  shownModel,
  etagOf,
}: SessionViewsOptions) => {
  /** Everything but the messages. Must be called in the tick that reads them: `cursor` is the stream position they match. */
  const assemble = (row: SessionRow, { offset, truncated, ...parts }: Parts): Session => {
    const { meta, spans } = sessions.head(row.session_id)
    return {
      ...row,
      model: shownModel(row.model, row.profile),
      ...parts,
      pending_user_message: null,
      pending_attachments: [],
      pending_started_at: null,
      composer_draft: meta.composer_draft ?? { text: '', files: [] },
      questions: turns.questions.pending(row.session_id),
      queued: queuedOf(meta),
      live: redactValue(turns.live(row.session_id)),
      enabled_toolsets: meta.enabled_toolsets ?? null,
      last_usage: (meta.last_usage as Session['last_usage']) ?? null,
      summaries: activeSpans(spans).map(({ n, last }) => ({ n, last })),
      cursor: hub.cursor(),
      _messages_truncated: truncated,
      _messages_offset: offset,
    }
  }

  const toolCalls = new RecentReads(clock, { maxBytes: TOOL_CALLS_BYTES, keptMs: TOOL_CALLS_MS })

  /** The session without its messages, and the messages as JSON; both read in one tick, because reading starts with the call. */
  const whole = async (
    id: string,
    row = sessions.require(id),
  ): Promise<{ head: Session; messages: Buffer }> => {
    const { session_id } = row
    const version = `${sessions.stamp(session_id)} ${secretsVersion()}`
    const text = sessions.wholeJson(session_id)
    const head = assemble(row, { messages: [], tool_calls: [], offset: 0, truncated: false })
    const messages = await text
    // Parsing a long session takes longer than reading it.
    const kept = toolCalls.find<Session['tool_calls']>(session_id, version)
    const tool_calls = kept ?? toolSummaries(JSON.parse(messages.toString()) as Message[])
    if (!kept) toolCalls.keep(session_id, version, tool_calls, sizeOf(tool_calls))
    return { head: { ...head, tool_calls }, messages }
  }

  /** The whole session as JSON, without parsing its messages. */
  const record = async (
    id: string,
    row?: SessionRow,
  ): Promise<{ head: Session; parts: Buffer[] }> => {
    const { head, messages } = await whole(id, row)
    const { messages: _, ...rest } = head
    const parts = [
      Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"messages":`),
      messages,
      Buffer.from('}'),
    ]
    return { head, parts }
  }

  /** The last `limit` messages, or those before one; long tool results are truncated. */
  const paged = (
    id: string,
    { limit, before }: { limit: number; before?: string | undefined },
    row = sessions.require(id),
  ): Session => {
    const { messages, ...page } = sessions.tail(row.session_id, { limit, before })
    const session = assemble(row, {
      ...page,
      messages: messages.map(message => elide(withShownSummaries(message))),
      tool_calls: [],
    })
    const end = before === undefined ? Number.MAX_SAFE_INTEGER : lineOf(before)
    const turn_usage = sessions.turnUsage(row.session_id, lineOf(messages[0]?.id), end)
    return { ...session, turn_usage }
  }

  const jsonOf = async (
    row: SessionRow,
    { limit, before, messages }: Asked,
  ): Promise<SessionJson & { head: Session }> => {
    if (limit === undefined && before === undefined && messages !== '0') {
      const { head, parts } = await record(row.session_id, row)
      return { head, parts: [Buffer.from('{"session":'), ...parts, Buffer.from('}')] }
    }
    const page = messages === '0' ? { limit: 0 } : { limit: limit ?? 50, before }
    const session = paged(row.session_id, page, row)
    const text = JSON.stringify({ session })
    return { head: session, parts: [Buffer.from(text)], etag: etagOf(text) }
  }

  /** Replies to the same request are the same bytes while no session, event, secret, or shown model has changed. */
  const replies = new RecentReads(clock, { maxBytes: KEPT_REPLY_BYTES, keptMs: KEPT_REPLY_MS })
  const currentVersion = (): string => `${sessions.version} ${hub.cursor()} ${secretsVersion()}`

  return {
    /** The whole session as an object. */
    async full(id: string): Promise<Session> {
      const { head, messages } = await whole(id)
      return { ...head, messages: JSON.parse(messages.toString()) as Message[] }
    },

    recordJson: async (id: string): Promise<Buffer[]> => (await record(id)).parts,

    /** What was sent a moment ago, while it is still the same. */
    kept(id: string, asked: Asked): SessionJson | undefined {
      const real = sessions.resolve(id)
      if (real === undefined) return undefined
      const found = replies.find<Kept>(keyOf(real, asked), currentVersion())
      return found && shownModel(found.model.model, found.model.profile) === found.shown
        ? found.json
        : undefined
    },

    /** The row is that of this tick. */
    async json(row: SessionRow, asked: Asked): Promise<SessionJson> {
      const version = currentVersion()
      const { head, ...made } = await jsonOf(row, asked)
      // What runs or waits changes without an event for each of its bytes, and sessions of the command line are looked up at every request.
      const isSettled = head.live === null && head.questions.length === 0
      if (!isSettled || row.is_cli_session || isEmptyRow(row)) return made
      const size = made.parts.reduce((sum, part) => sum + part.length, 0)
      if (size > KEPT_REPLY_BYTES / 4) return made
      const json = { ...made, parts: [Buffer.concat(made.parts, size)] }
      const kept: Kept = { json, model: row, shown: head.model }
      replies.keep(keyOf(row.session_id, asked), version, kept, size)
      return json
    },

    paged,

    /** A session of the host agent in the same form; it has no live state. */
    foreign(
      { row, messages }: { row: SessionRow; messages: Message[] },
      page: {
        limit?: number | undefined
        before?: string | undefined
        messages?: string | undefined
      },
    ): Session {
      const at = page.before ? messages.findIndex(({ id }) => id === page.before) : messages.length
      if (at < 0) throw missing('Message not found', { code: 'message_not_found' })
      const whole = page.limit === undefined && page.before === undefined
      const size = page.messages === '0' ? 0 : whole ? at : (page.limit ?? 50)
      const offset = Math.max(0, at - size)
      return {
        ...row,
        messages: messages.slice(offset, at),
        tool_calls: [],
        pending_user_message: null,
        pending_attachments: [],
        pending_started_at: null,
        composer_draft: { text: '', files: [] },
        questions: [],
        queued: [],
        live: null,
        last_usage: null,
        summaries: [],
        cursor: hub.cursor(),
        _messages_truncated: offset > 0,
        _messages_offset: offset,
      }
    },

    /** One whole message, for a truncated tool result. */
    message(id: string, messageId: string): Message {
      const found = sessions.load(id).messages.find(message => message.id === messageId)
      if (!found) throw missing('Message not found', { code: 'message_not_found' })
      return withVersions(redactValue(found), sessions.head(id).versions)
    },
  }
}
