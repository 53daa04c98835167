/** Edits of a transcript: clear, truncate, undo, another version of a message, draft. Each appends lines to the journal; none runs during a turn, except drafts. */
import { contentText, type NewEntry } from './entries.ts'
import { isDraft, NO_DRAFT } from './drafts.ts'
import type { Folded } from './fold.ts'
import { ok } from '../schema/ok.ts'
import type { Draft, SessionRow } from '../schema/session.ts'
import { streamOfSent } from './sent-messages.ts'
import type { Sessions } from './sessions.ts'

/** The cut that keeps the first `count` visible messages. `numbers` are their line numbers. */
const cutAfter = ({ numbers }: Folded, count: number): NewEntry => ({
  t: 'cut',
  after: numbers[count - 1] ?? 0,
})

export class Edits {
  readonly #sessions: Sessions
  readonly #requireIdle: (id: string) => void
  readonly #onChange: (id: string) => void

  /** `requireIdle` throws while a turn of that session runs. `onChange`: other messages are shown; pages read the session again. */
  constructor(
    sessions: Sessions,
    requireIdle: (id: string) => void,
    onChange: (id: string) => void,
  ) {
    this.#sessions = sessions
    this.#requireIdle = requireIdle
    this.#onChange = onChange
  }

  #open(id: string): SessionRow {
    const row = this.#sessions.require(id)
    this.#requireIdle(row.session_id)
    return row
  }

  #change(id: string, entries: NewEntry[]): void {
    this.#sessions.append(id, entries)
    this.#onChange(id)
  }

  /** Hides all messages and resets the title. The text stays in the file until a purge. */
  clear(id: string): SessionRow {
    const { session_id } = this.#open(id)
    this.#change(session_id, [
      { t: 'cut', after: 0 },
      { t: 'meta', patch: { title: 'Untitled', llm_title_generated: null, last_usage: null } },
    ])
    return this.#sessions.require(session_id)
  }

  /** Keeps the first `count` visible messages. */
  truncate(id: string, count: number): SessionRow {
    const { session_id } = this.#open(id)
    const folded = this.#sessions.load(session_id)
    if (count < folded.messages.length) this.#change(session_id, [cutAfter(folded, count)])
    return this.#sessions.require(session_id)
  }

  /** Hides the last user message and everything after it; undefined when there is none. */
  undoLast(id: string): { text: string; count: number } | undefined {
    const { session_id } = this.#open(id)
    const folded = this.#sessions.load(session_id)
    const { messages } = folded
    const at = messages.findLastIndex(message => message.role === 'user')
    const last = messages[at]
    if (!last) return undefined
    this.#change(session_id, [cutAfter(folded, at)])
    return { text: contentText(last.content), count: messages.length - at }
  }

  /** Shows this version of a message and everything that followed it; the one shown before is kept in the same way. */
  showVersion(id: string, message: string): SessionRow {
    const { session_id } = this.#sessions.require(id)
    const line = this.#sessions.lineToShow(session_id, message)
    this.#requireIdle(session_id)
    if (line) this.#change(session_id, [line])
    return this.#sessions.require(session_id)
  }

  /**
   * Saves the draft; absent parts stay as they are. An unchanged draft writes nothing, and neither does one that arrives
   * after the message that it was sent as.
   */
  draft(id: string, change: Partial<Draft>) {
    const { session_id } = this.#sessions.require(id)
    const { meta } = this.#sessions.head(session_id)
    const before = meta.composer_draft ?? NO_DRAFT
    const { text = before.text, files = before.files, client_message_id: messageId } = change
    if (messageId !== undefined && streamOfSent(meta, messageId) !== undefined)
      return { ...ok, draft: before, unchanged: true }
    const comments = change.comments ?? before.comments ?? []
    const content: Draft = { text, files, ...(comments.length > 0 && { comments }) }
    const isNamed = messageId !== undefined && isDraft(content)
    const draft: Draft = { ...content, ...(isNamed && { client_message_id: messageId }) }
    if (JSON.stringify(draft) === JSON.stringify(before)) return { ...ok, draft, unchanged: true }
    this.#sessions.append(session_id, [{ t: 'meta', patch: { composer_draft: draft } }])
    return { ...ok, draft }
  }
}
