/** The sessions of a profile, as MCP tools see them: those of the server, and those of command-line programs in state.db. */
import { z } from 'zod'
import { messageText } from '../../agent/tokens.ts'
import { fromSeconds } from '../../base/clock.ts'
import { shortenCounting } from '../../base/shorten.ts'
import type { RecordedEntry } from '../../sessions/host-db/recorded-list.ts'
import type { HostSessions } from '../../sessions/host-db/host-sessions.ts'
import { missing } from '../../errors.ts'
import type { Home } from '../../profiles/home.ts'
import { redact } from '../../base/redact/redact.ts'
import { decisionSentence } from '../../schema/decision-words.ts'
import type { Message } from '../../schema/message.ts'
import type { SessionRow } from '../../schema/session.ts'
import type { StoredSessions } from '../../sessions/stored-sessions.ts'

const SessionEntry = z.object({
  session_id: z.string(),
  title: z.string(),
  /** ISO 8601. */
  updated_at: z.string(),
  messages: z.number(),
  model: z.string().nullable(),
  /** Null when it is not recorded. */
  workspace: z.string().nullable(),
  /** Which program the session belongs to. */
  source: z.string(),
})
type SessionEntry = z.infer<typeof SessionEntry>

export const SessionList = z.object({ sessions: z.array(SessionEntry), total: z.number() })

const MessageEntry = z.object({
  role: z.string(),
  text: z.string(),
  tool_calls: z.array(z.string()).optional(),
  /** What was asked after the message, and how it was answered. */
  decisions: z.array(z.string()).optional(),
  at: z.string().optional(),
})

export const SessionPart = z.object({
  session: SessionEntry,
  messages: z.array(MessageEntry),
  /** Pass it as `before` for older messages; null: there are none. */
  older: z.number().nullable(),
})

export const SessionHits = z.object({
  hits: z.array(SessionEntry.extend({ snippet: z.string() })),
})

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

const shorten = (text: string): string => shortenCounting(text, MAX_TEXT_CHARS)

const toMessage = (message: Message): z.infer<typeof MessageEntry> => ({
  role: message.role,
  // Masked before it is cut: half a secret would not be recognized.
  text: shorten(redact(messageText(message))),
  ...(message.tool_calls && {
    tool_calls: message.tool_calls.map(({ function: { name, arguments: args } }) =>
      shorten(redact(`${name} ${args}`)),
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

export class SessionLibrary {
  readonly #home: Home
  /** Those of the server. */
  readonly #ownSessions: StoredSessions
  /** Those in state.db. */
  readonly #hostSessions: HostSessions
  /** Those of command-line programs, with where they worked. */
  readonly #recorded: () => RecordedEntry[]

  constructor(
    home: Home,
    ownSessions: StoredSessions,
    hostSessions: HostSessions,
    recorded: () => RecordedEntry[],
  ) {
    this.#home = home
    this.#ownSessions = ownSessions
    this.#hostSessions = hostSessions
    this.#recorded = recorded
  }

  /** Rows of state.db have the workspace in which the page would continue, not the one of the program. */
  #withPlaces() {
    const places = new Map(this.#recorded().map(({ id, cwd }) => [id, cwd]))
    return (row: SessionRow): SessionRow => ({
      ...row,
      workspace: places.get(row.session_id) ?? '',
    })
  }

  /** A session that the server imported from state.db is one of the server's. */
  #rows(): SessionRow[] {
    const own = this.#ownSessions.rows(this.#home.name)
    const ownIds = new Set(own.map(({ session_id }) => session_id))
    const others = this.#hostSessions
      .rows(this.#home)
      .filter(({ session_id }) => !ownIds.has(session_id))
    return [...own, ...others.map(this.#withPlaces())].sort((a, b) => b.updated_at - a.updated_at)
  }

  list(limit: number, offset: number): z.infer<typeof SessionList> {
    const all = this.#rows()
    return { sessions: all.slice(offset, offset + limit).map(toEntry), total: all.length }
  }

  /** The last messages before the index `before`, oldest first. Throws a 404. */
  read(id: string, limit: number, before: number | undefined): z.infer<typeof SessionPart> {
    const own = this.#ownSessions.session(id, this.#home.name)
    const session = own ?? this.#hostSessions.session(this.#home, id)
    if (!session) throw missing(`There is no session "${id}".`)
    const end = Math.min(before ?? session.messages.length, session.messages.length)
    const from = Math.max(0, end - limit)
    return {
      session: toEntry(own ? own.row : this.#withPlaces()(session.row)),
      messages: session.messages.slice(from, end).map(toMessage),
      older: from > 0 ? from : null,
    }
  }

  /** Best first: the server's sessions are ranked, others follow by time. */
  async search(query: string, limit: number): Promise<z.infer<typeof SessionHits>> {
    const own = await this.#ownSessions.search(query, this.#home.name, limit)
    const ownIds = new Set(
      this.#ownSessions.rows(this.#home.name).map(({ session_id }) => session_id),
    )
    const words = query.replaceAll('"', ' ').split(/\s+/).filter(Boolean)
    // Those that ask_agent continues are in the transcripts of the engine, too.
    const options = { words, roles: [], maxMessages: 1, limit, imported: true }
    const matches = await this.#hostSessions.find(this.#home, options)
    const placed = this.#withPlaces()
    const hits = [
      ...own.map(({ row, snippet }) => ({
        ...toEntry(row),
        snippet: snippet.map(({ text }) => text).join(''),
      })),
      ...matches
        .filter(({ row }) => !ownIds.has(row.session_id))
        .map(({ row, messages }) => ({
          ...toEntry(placed(row)),
          snippet: shorten(redact(messages[0]?.text ?? '')).slice(0, 300),
        })),
    ]
    return { hits: hits.slice(0, limit) }
  }
}
