/** The wire form of a session: its row, its messages, and the live state of its running turn. */
import type { Clock } from '../base/clock.ts'
import type { Hub } from '../http/hub.ts'
import { missing } from '../errors.ts'
import { redactValue, secretsVersion } from '../base/redact/redact.ts'
import { etagOf } from '../http/etag.ts'
import type { ModelServices } from '../models/models.ts'
import type { Homes } from '../profiles/homes.ts'
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

type MessagePage = Pick<Session, 'messages' | 'tool_calls'> & { offset: number; truncated: boolean }

/** What is asked for of a session: with neither, all messages. `messages: '0'` leaves them out. */
export type MessageRange = {
  limit?: number | undefined
  before?: string | undefined
  messages?: string | undefined
}

/** `{"session": …}` and its ETag, if it has one. */
export type SessionJson = { parts: readonly Buffer[]; etag?: string | undefined }

type CachedReply = {
  json: SessionJson
  model: SessionRow
  modelLabel: string | null
}

/** One long session fits. */
const KEPT_REPLY_BYTES = 4 * 1024 * 1024
const KEPT_REPLY_MS = 10_000

const TOOL_CALLS_BYTES = 4 * 1024 * 1024
const TOOL_CALLS_MS = 60_000

/** Estimated, in memory. */
const callBytes = (calls: Session['tool_calls']): number =>
  calls.reduce(
    (sum, { snippet, args }) =>
      sum + 200 + snippet.length + Object.values(args).reduce((all, arg) => all + arg.length, 0),
    0,
  )

/** What a session without a draft and a turn has. */
const NOTHING_LIVE = {
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
}

/** Texts of the client come with their length or last, so that no two requests have the same key. */
const keyOf = (id: string, { limit, before, messages }: MessageRange): string => {
  const part = messages === undefined ? '' : `${messages.length}:${messages}`
  return `${id} ${limit ?? ''} ${part} ${before === undefined ? '' : `:${before}`}`
}

/** The number in a message id, `m<n>`; 0 for ids of other programs, whose messages have no usage here. */
const lineOf = (id = ''): number => Number(/^m(\d+)$/.exec(id)?.[1] ?? 0)

export class SessionViews {
  readonly #sessions: Sessions
  readonly #turns: Turns
  readonly #hub: Hub
  readonly #homes: Homes
  readonly #models: ModelServices
  readonly #toolCalls: RecentReads
  /** Replies to the same request are the same bytes while no session, event, secret, or shown model has changed. */
  readonly #replies: RecentReads

  constructor(
    { sessions, hub, homes, clock }: { sessions: Sessions; hub: Hub; homes: Homes; clock: Clock },
    turns: Turns,
    models: ModelServices,
  ) {
    this.#sessions = sessions
    this.#turns = turns
    this.#hub = hub
    this.#homes = homes
    this.#models = models
    this.#toolCalls = new RecentReads(clock, {
      maxBytes: TOOL_CALLS_BYTES,
      keptMs: TOOL_CALLS_MS,
    })
    this.#replies = new RecentReads(clock, {
      maxBytes: KEPT_REPLY_BYTES,
      maxOne: KEPT_REPLY_BYTES,
      keptMs: KEPT_REPLY_MS,
    })
  }

  /** The whole session as an object. */
  async full(id: string): Promise<Session> {
    const { head, messages } = await this.#whole(this.#sessions.require(id))
    return { ...head, messages: JSON.parse(messages.toString()) as Message[] }
  }

  /** The whole session as JSON, without parsing its messages. */
  async recordJson(id: string): Promise<Buffer[]> {
    return (await this.#record(this.#sessions.require(id))).parts
  }

  /** What was sent a moment ago, while it is still the same. */
  recentReply(id: string, range: MessageRange): SessionJson | undefined {
    const real = this.#sessions.resolve(id)
    if (real === undefined) return undefined
    const reply = this.#replies.find<CachedReply>(keyOf(real, range), this.#version())
    return reply && this.#shownModel(reply.model) === reply.modelLabel ? reply.json : undefined
  }

  /** The row is that of this tick. */
  async json(row: SessionRow, range: MessageRange): Promise<SessionJson> {
    const version = this.#version()
    const { head, ...reply } = await this.#json(row, range)
    // What runs or waits changes without an event for each of its bytes, and sessions of the command line are looked up at every request.
    const isSettled = head.live === null && head.questions.length === 0
    if (!isSettled || row.is_cli_session || isEmptyRow(row)) return reply
    const size = reply.parts.reduce((sum, part) => sum + part.length, 0)
    const key = keyOf(row.session_id, range)
    // Of a whole session, because hashing it would take longer than sending it.
    const etag = reply.etag ?? etagOf(`${key} ${version} ${head.model}`)
    if (size > KEPT_REPLY_BYTES) return { ...reply, etag }
    const json = { etag, parts: [Buffer.concat(reply.parts, size)] }
    const entry: CachedReply = { json, model: row, modelLabel: head.model }
    this.#replies.keep(key, version, entry, size)
    return json
  }

  /** A session of the host agent in the same form; it has no live state. */
  foreign(
    { row, messages }: { row: SessionRow; messages: Message[] },
    range: MessageRange,
  ): Session {
    const { before, limit } = range
    const at = before ? messages.findIndex(({ id }) => id === before) : messages.length
    if (at < 0) throw missing('Message not found', { code: 'message_not_found' })
    const whole = limit === undefined && before === undefined
    const size = range.messages === '0' ? 0 : whole ? at : (limit ?? 50)
    const offset = Math.max(0, at - size)
    return {
      ...row,
      ...NOTHING_LIVE,
      messages: messages.slice(offset, at),
      cursor: this.#hub.cursor(),
      _messages_truncated: offset > 0,
      _messages_offset: offset,
    }
  }

  /** One whole message, for a truncated tool result. */
  message(id: string, messageId: string): Message {
    const whole = this.#sessions.load(id).messages.find(message => message.id === messageId)
    if (!whole) throw missing('Message not found', { code: 'message_not_found' })
    return withVersions(redactValue(whole), this.#sessions.head(id).versions)
  }

  /** The model to show: computed, never stored. */
  #shownModel({ model, profile }: CachedReply['model']): string | null {
    return model === null ? null : this.#models.compatible(this.#homes.of(profile), model).model
  }

  #version(): string {
    return `${this.#sessions.version} ${this.#hub.cursor()} ${secretsVersion()}`
  }

  /** Everything but the messages. Must be called in the tick that reads them: `cursor` is the stream position they match. */
  #assemble(row: SessionRow, { offset, truncated, ...parts }: MessagePage): Session {
    const { meta, spans } = this.#sessions.head(row.session_id)
    return {
      ...row,
      ...NOTHING_LIVE,
      model: this.#shownModel(row),
      ...parts,
      ...(meta.composer_draft && { composer_draft: meta.composer_draft }),
      questions: this.#turns.questions.pending(row.session_id),
      queued: queuedOf(meta),
      live: redactValue(this.#turns.live(row.session_id)),
      enabled_toolsets: meta.enabled_toolsets ?? null,
      last_usage: (meta.last_usage as Session['last_usage']) ?? null,
      summaries: activeSpans(spans).map(({ n, last }) => ({ n, last })),
      cursor: this.#hub.cursor(),
      _messages_truncated: truncated,
      _messages_offset: offset,
    }
  }

  /** The session without its messages, and the messages as JSON; both read in one tick, because reading starts with the call. */
  async #whole(row: SessionRow): Promise<{ head: Session; messages: Buffer }> {
    const { session_id } = row
    const version = `${this.#sessions.stamp(session_id)} ${secretsVersion()}`
    const text = this.#sessions.wholeJson(session_id)
    const head = this.#assemble(row, { messages: [], tool_calls: [], offset: 0, truncated: false })
    const messages = await text
    // Parsing a long session takes longer than reading it.
    const recent = this.#toolCalls.find<Session['tool_calls']>(session_id, version)
    const tool_calls = recent ?? toolSummaries(JSON.parse(messages.toString()) as Message[])
    if (!recent) this.#toolCalls.keep(session_id, version, tool_calls, callBytes(tool_calls))
    return { head: { ...head, tool_calls }, messages }
  }

  async #record(row: SessionRow): Promise<{ head: Session; parts: Buffer[] }> {
    const { head, messages } = await this.#whole(row)
    const { messages: _, ...rest } = head
    const before = Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"messages":`)
    return { head, parts: [before, messages, Buffer.from('}')] }
  }

  /** The last `limit` messages, or those before one; long tool results are truncated. */
  #paged(row: SessionRow, limit: number, before: string | undefined): Session {
    const { messages, ...page } = this.#sessions.tail(row.session_id, { limit, before })
    const visible = messages.map(message => elide(withShownSummaries(message)))
    const session = this.#assemble(row, { ...page, messages: visible, tool_calls: [] })
    const end = before === undefined ? Number.MAX_SAFE_INTEGER : lineOf(before)
    const turn_usage = this.#sessions.turnUsage(row.session_id, lineOf(messages[0]?.id), end)
    return { ...session, turn_usage }
  }

  async #json(row: SessionRow, range: MessageRange): Promise<SessionJson & { head: Session }> {
    const { limit, before, messages } = range
    if (limit === undefined && before === undefined && messages !== '0') {
      const { head, parts } = await this.#record(row)
      return { head, parts: [Buffer.from('{"session":'), ...parts, Buffer.from('}')] }
    }
    const head =
      messages === '0' ? this.#paged(row, 0, undefined) : this.#paged(row, limit ?? 50, before)
    const text = JSON.stringify({ session: head })
    return { head, parts: [Buffer.from(text)], etag: etagOf(text) }
  }
}
