/** The wire form of a session: its row, its messages, and the live state of its running turn. */
import type { Hub } from '../hub.ts'
import { missing } from '../errors.ts'
import type { Message } from '../schema/message.ts'
import type { Session, SessionRow } from '../schema/session.ts'
import { activeSpans } from '../sessions/fold.ts'
import type { Sessions } from '../sessions/types.ts'
import { toolSummaries } from '../sessions/tool-call-summaries.ts'
import { queuedOf } from '../sessions/queued.ts'
import type { Turns } from '../turns/runner.ts'
import { elide } from '../turns/to-stream-event.ts'

export type SessionViewsOptions = {
  sessions: Sessions
  turns: Pick<Turns, 'live' | 'questions'>
  hub: Pick<Hub, 'cursor'>
  redactValue: <T>(value: T) => T
  /** The model to show: computed, never stored. */
  shownModel: (model: string | null, profile: string) => string | null
}

type Parts = Pick<Session, 'messages' | 'tool_calls'> & { offset: number; truncated: boolean }

/** The number in a message id, `m<n>`; 0 for ids of other programs, whose messages have no usage here. */
const lineOf = (id = ''): number => Number(/^m(\d+)$/.exec(id)?.[1] ?? 0)

export type SessionViews = ReturnType<typeof createSessionViews>

export const createSessionViews = ({
  sessions,
  turns,
  hub,
  redactValue,
  shownModel,
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

  const toolCalls = new WeakMap<Buffer, Session['tool_calls']>()
  /** Reading a session again gives the same bytes while it is the same. */
  const toolCallsOf = (messages: Buffer): Session['tool_calls'] => {
    const known = toolCalls.get(messages)
    if (known) return known
    const made = toolSummaries(JSON.parse(messages.toString()) as Message[])
    toolCalls.set(messages, made)
    return made
  }

  /** The session without its messages, and the messages as JSON; both read in one tick, because reading starts with the call. */
  const whole = async (
    id: string,
    row = sessions.require(id),
  ): Promise<{ head: Session; messages: Buffer }> => {
    const text = sessions.wholeJson(row.session_id)
    const head = assemble(row, { messages: [], tool_calls: [], offset: 0, truncated: false })
    const messages = await text
    return { head: { ...head, tool_calls: toolCallsOf(messages) }, messages }
  }

  /** The whole session as JSON, without parsing its messages. */
  const recordJson = async (id: string, row?: SessionRow): Promise<Buffer[]> => {
    const { head, messages } = await whole(id, row)
    const { messages: _, ...rest } = head
    return [
      Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"messages":`),
      messages,
      Buffer.from('}'),
    ]
  }

  return {
    /** The whole session as an object. */
    async full(id: string): Promise<Session> {
      const { head, messages } = await whole(id)
      return { ...head, messages: JSON.parse(messages.toString()) as Message[] }
    },

    recordJson,

    /** `{"session": …}` as JSON. The row is that of this tick. */
    async wholeJson(row: SessionRow): Promise<Buffer[]> {
      const record = await recordJson(row.session_id, row)
      return [Buffer.from('{"session":'), ...record, Buffer.from('}')]
    },

    /** The last `limit` messages, or those before one; long tool results are truncated. */
    paged(
      id: string,
      { limit, before }: { limit: number; before?: string },
      row = sessions.require(id),
    ): Session {
      const { messages, ...page } = sessions.tail(row.session_id, { limit, before })
      const session = assemble(row, { ...page, messages: messages.map(elide), tool_calls: [] })
      const end = before === undefined ? Number.MAX_SAFE_INTEGER : lineOf(before)
      const turn_usage = sessions.turnUsage(row.session_id, lineOf(messages[0]?.id), end)
      return { ...session, turn_usage }
    },

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
      return redactValue(found)
    },
  }
}
