/** The sessions of a profile, as MCP tools see them: those of the server, and those of command-line programs in state.db. */
import { fromSeconds } from '../../base/clock.ts'
import type { HostSessions } from '../../sessions/host-db/host-sessions.ts'
import { missing } from '../../errors.ts'
import type { Home } from '../../profiles/home.ts'
import { redact } from '../../base/redact/redact.ts'
import { decisionSentence } from '../../schema/decision-words.ts'
import type { Message } from '../../schema/message.ts'
import type { SessionRow } from '../../schema/session.ts'
import type { StoredSessions } from '../../sessions/stored-sessions.ts'

export type SessionLibraryOptions = {
  home: Home
  /** Those of the server. */
  stored: StoredSessions
  /** Those in state.db. */
  hostSessions: HostSessions
  /** Where sessions of command-line programs worked, by id. */
  recordedPlaces: () => ReadonlyMap<string, string>
}

export type SessionEntry = {
  session_id: string
  title: string
  /** ISO 8601. */
  updated_at: string
  messages: number
  model: string | null
  /** Null when it is not recorded. */
  workspace: string | null
  /** Which program the session belongs to. */
  source: string
}

export type MessageEntry = {
  role: string
  text: string
  tool_calls?: string[]
  /** What was asked after the message, and how it was answered. */
  decisions?: string[]
  at?: string
}

const MAX_TEXT_CHARS = 4_000

const isoTime = (seconds: number): string => new Date(fromSeconds(seconds)).toISOString()

const toEntry = (row: SessionRow): SessionEntry => ({
  session_id: row.session_id,
  title: redact(row.title),
  updated_at: isoTime(row.updated_at),
  messages: row.message_count,
  model: row.model,
  workspace: row.workspace || null,
  source: typeof row.source_tag === 'string' && row.source_tag ? row.source_tag : 'webui',
})

const textOf = ({ content }: Message): string =>
  typeof content === 'string'
    ? content
    : content.map(part => (typeof part.text === 'string' ? part.text : `[${part.type}]`)).join('\n')

const shorten = (text: string): string =>
  text.length <= MAX_TEXT_CHARS
    ? text
    : `${text.slice(0, MAX_TEXT_CHARS)}\n[… ${text.length - MAX_TEXT_CHARS} more characters]`

const toMessage = (message: Message): MessageEntry => ({
  role: message.role,
  // Masked before it is cut: half a secret would not be recognized.
  text: shorten(redact(textOf(message))),
  ...(message.tool_calls && {
    tool_calls: message.tool_calls.map(({ function: { name, arguments: given } }) =>
      shorten(redact(`${name} ${given}`)),
    ),
  }),
  ...(message._decisions && {
    decisions: message._decisions.map(decision => {
      const { lead, what, end } = decisionSentence(decision)
      return shorten(redact([lead, what, end].filter(Boolean).join(' ')))
    }),
  }),
  ...(message.timestamp !== undefined && { at: isoTime(message.timestamp) }),
})

export const createSessionLibrary = ({
  home,
  stored,
  hostSessions,
  recordedPlaces,
}: SessionLibraryOptions) => {
  /** Rows of state.db have the workspace in which the page would continue, not the one of the program. */
  const withPlaces = () => {
    const places = recordedPlaces()
    return (row: SessionRow): SessionRow => ({
      ...row,
      workspace: places.get(row.session_id) ?? '',
    })
  }

  /** A session that the server imported from state.db is one of the server's. */
  const rows = (): SessionRow[] => {
    const own = stored.rows(home.name)
    const known = new Set(own.map(({ session_id }) => session_id))
    const others = hostSessions.rows(home).filter(({ session_id }) => !known.has(session_id))
    return [...own, ...others.map(withPlaces())].sort((a, b) => b.updated_at - a.updated_at)
  }

  return {
    list(limit: number, offset: number): { sessions: SessionEntry[]; total: number } {
      const all = rows()
      return { sessions: all.slice(offset, offset + limit).map(toEntry), total: all.length }
    },

    /** The last messages before the index `before`, oldest first. Throws a 404. */
    read(id: string, limit: number, before: number | undefined) {
      const own = stored.session(id, home.name)
      const found = own ?? hostSessions.session(home, id)
      if (!found) throw missing(`There is no session "${id}".`)
      const end = Math.min(before ?? found.messages.length, found.messages.length)
      const from = Math.max(0, end - limit)
      return {
        session: toEntry(own ? own.row : withPlaces()(found.row)),
        messages: found.messages.slice(from, end).map(toMessage),
        /** Pass it as `before` for older messages; null: there are none. */
        older: from > 0 ? from : null,
      }
    },

    /** Best first: the server's sessions are ranked, others follow by time. */
    async search(
      query: string,
      limit: number,
    ): Promise<{ hits: (SessionEntry & { snippet: string })[] }> {
      const own = await stored.search(query, home.name, limit)
      const known = new Set(stored.rows(home.name).map(({ session_id }) => session_id))
      const words = query.replaceAll('"', ' ').split(/\s+/).filter(Boolean)
      // Those that ask_agent continues are in the transcripts of the engine, too.
      const options = { words, roles: [], maxMessages: 1, limit, imported: true }
      const found = await hostSessions.find(home, options)
      const placed = withPlaces()
      const hits = [
        ...own.map(({ row, snippet }) => ({
          ...toEntry(row),
          snippet: snippet.map(({ text }) => text).join(''),
        })),
        ...found
          .filter(({ row }) => !known.has(row.session_id))
          .map(({ row, messages }) => ({
            ...toEntry(placed(row)),
            snippet: shorten(redact(messages[0]?.text ?? '')).slice(0, 300),
          })),
      ]
      return { hits: hits.slice(0, limit) }
    },
  }
}
