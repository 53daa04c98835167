/** Session search for the agent: sessions of its own profile, and the host agent's sessions in the same home. */
import { setImmediate } from 'node:timers/promises'
import { shorten } from '../../base/shorten.ts'
import { redact } from '../../base/redact/redact.ts'
import { invalid, missing } from '../../errors.ts'
import type { FoundSession, SessionSearchStore } from '../../agent/tools/session-search.ts'
import type { HostSessions } from '../../sessions/host-db/host-sessions.ts'
import type { MessageHit } from '../../sessions/host-db/search-messages.ts'
import type { Home } from '../../profiles/home.ts'
import type { Message } from '../../schema/message.ts'
import type { SessionRow } from '../../schema/session.ts'
import { rowsOf } from '../../sessions/listing.ts'
import type { Sessions } from '../../sessions/sessions.ts'

/** Sessions scanned per query; a role filter may exclude most of them. */
const MAX_SCANNED = 20
const MAX_MATCHES = 3
const EXCERPT_CHARS = 300
const NEIGHBOR_CHARS = 200
/** Of one conversation: longer messages are cut, and earlier ones left out. */
const MAX_READ_CHARS = 60_000
const READ_MESSAGE_CHARS = 6_000

/** Removes case and accents, as the index does. */
const fold = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

/** Splits a query into words and "quoted phrases". */
const toWords = (query: string): string[] =>
  [...query.matchAll(/"([^"]+)"|[^\s"]+/g)]
    .map(match => (match[1] ?? match[0]).trim())
    .filter(Boolean)
    .slice(0, 12)

const messageText = ({ content }: Message): string =>
  typeof content === 'string'
    ? content
    : content.map(part => (typeof part.text === 'string' ? part.text : '')).join('\n')

/** The text around the first match. */
const excerpt = (text: string, words: readonly string[]): string => {
  const folded = fold(text)
  const places = words.map(word => folded.indexOf(fold(word))).filter(at => at >= 0)
  const from = Math.max(0, Math.min(...places, text.length) - EXCERPT_CHARS)
  const cut = text.slice(from, from + EXCERPT_CHARS * 3)
  return `${from > 0 ? '…' : ''}${cut}${from + cut.length < text.length ? '…' : ''}`
}

const toIso = (seconds: number): string => new Date(seconds * 1_000).toISOString()

/** Matching messages, newest first, with their neighbors. */
const matchesIn = (
  messages: readonly Message[],
  words: readonly string[],
  roles: readonly string[],
): MessageHit[] => {
  const needles = words.map(fold)
  const candidates = messages.filter(message => !message._error && messageText(message) !== '')
  const hits: MessageHit[] = []
  for (let at = candidates.length - 1; at >= 0 && hits.length < MAX_MATCHES; at -= 1) {
    const message = candidates[at] as Message
    if (roles.length > 0 && !roles.includes(message.role)) continue
    const text = messageText(message)
    const folded = fold(text)
    if (!needles.every(word => folded.includes(word))) continue
    const [before, after] = [candidates[at - 1], candidates[at + 1]]
    hits.push({
      role: message.role,
      text,
      timestamp: message.timestamp ?? null,
      before: before ? messageText(before) : null,
      after: after ? messageText(after) : null,
    })
  }
  return hits
}

const head = (row: SessionRow): FoundSession => ({
  session_id: row.session_id,
  title: row.title,
  source: typeof row.source_tag === 'string' ? row.source_tag : 'webui',
  model: row.model,
  last_active: toIso(row.updated_at),
})

/** Masked before it is cut: half a secret is not recognized. */
const toFound = (row: SessionRow, messages: readonly MessageHit[], words: string[]) => {
  const neighborText = (text: string | null) =>
    text === null ? null : shorten(redact(text.trim()), NEIGHBOR_CHARS)
  return {
    ...head(row),
    matches: messages.map(({ role, text, timestamp, before, after }) => ({
      role,
      when: timestamp === null ? null : toIso(timestamp),
      text: excerpt(redact(text), words),
      before: neighborText(before),
      after: neighborText(after),
    })),
  }
}

/** The last messages of a conversation, as many as fit. Without tool results, unless they are asked for. */
const lastOf = (messages: readonly Message[], roles: readonly string[]) => {
  const senders = roles.length > 0 ? roles : ['user', 'assistant']
  const candidates = messages.filter(
    message =>
      !message._error && senders.includes(message.role) && messageText(message).trim() !== '',
  )
  const excerpts: NonNullable<FoundSession['messages']> = []
  let chars = 0
  for (const message of candidates.toReversed()) {
    const text = shorten(redact(messageText(message).trim()), READ_MESSAGE_CHARS)
    chars += text.length
    if (chars > MAX_READ_CHARS && excerpts.length > 0) break
    const { role, timestamp } = message
    excerpts.unshift({ role, when: timestamp ? toIso(timestamp) : null, text })
  }
  return { messages: excerpts, earlier: candidates.length - excerpts.length }
}

/** The sessions of a home; the current one is never among the results. */
export class HomeSessionSearch implements SessionSearchStore {
  readonly #sessions: Sessions
  readonly #hostSessions: HostSessions
  readonly #home: Home
  readonly #current: string

  constructor(sessions: Sessions, hostSessions: HostSessions, home: Home, current: string) {
    this.#sessions = sessions
    this.#hostSessions = hostSessions
    this.#home = home
    this.#current = current
  }

  async recent(limit: number): Promise<FoundSession[]> {
    await this.#sessions.catchUp()
    const foreign = this.#hostSessions.rows(this.#home)
    const { body } = this.#sessions.list({ profile: this.#home.name, foreign, limit: limit + 1 })
    return rowsOf(body)
      .filter(row => row.session_id !== this.#current)
      .slice(0, limit)
      .map(row => ({ ...head(row), preview: row.preview, message_count: row.message_count }))
  }

  async find(search: { query: string; roles: string[]; limit: number }): Promise<FoundSession[]> {
    await this.#sessions.catchUp()
    const words = toWords(search.query)
    const [own, theirs] = await Promise.all([
      this.#findOwn(search, words),
      this.#hostSessions.find(this.#home, { ...search, words, maxMessages: MAX_MATCHES }),
    ])
    const more = theirs.map(({ row, messages }) => toFound(row, messages, words))
    // Our results are ranked by relevance; the host agent's follow, newest first.
    return [...own, ...more].slice(0, search.limit)
  }

  read({ id, query, roles }: { id: string; query: string; roles: string[] }): FoundSession {
    const own = this.#sessions.row(id)
    if (own?.session_id === this.#current || id === this.#current)
      throw invalid('This is the current conversation. You have it already.')
    // A chat of another profile is as unknown as one that does not exist.
    const chat = own
      ? own.profile === this.#home.name && {
          row: own,
          messages: this.#sessions.load(own.session_id).messages,
        }
      : this.#hostSessions.session(this.#home, id)
    if (!chat) throw missing('There is no conversation with this id in this profile.')
    const words = toWords(query)
    if (words.length > 0) return toFound(chat.row, matchesIn(chat.messages, words, roles), words)
    return { ...head(chat.row), ...lastOf(chat.messages, roles) }
  }

  async #findOwn(
    { query, roles, limit }: { query: string; roles: string[]; limit: number },
    words: string[],
  ): Promise<FoundSession[]> {
    const options = { q: query, content: true, limit: MAX_SCANNED, profile: this.#home.name }
    const hits: FoundSession[] = []
    for (const hit of await this.#sessions.search(options)) {
      if (hit.session_id === this.#current) continue
      if (hits.length === limit) break
      // One transcript in memory at a time.
      const messages = matchesIn(this.#sessions.load(hit.session_id).messages, words, roles)
      await setImmediate()
      if (messages.length > 0 || (roles.length === 0 && hit.match_type === 'title'))
        hits.push(toFound(hit, messages, words))
      else if (roles.length === 0) {
        // The index matched a prefix or another spelling.
        const text = hit.snippet.map(part => part.text).join('')
        hits.push({ ...head(hit), preview: text })
      }
    }
    return hits
  }
}
