/** The session of a chat as it was read, with what its row has changed to since. */
import { computed, signal, type ReadonlySignal } from '@preact/signals'
import type { Session, SessionRow } from '../../../lib/schema/session.ts'

/** Fields of the session besides its messages. */
export type Details = Pick<
  Session,
  | 'session_id'
  | 'title'
  | 'workspace'
  | 'model'
  | 'personality'
  | 'composer_draft'
  | 'input_tokens'
  | 'output_tokens'
  | 'estimated_cost'
  | 'profile'
>

/** Of these, the row has the newest: other devices change them, and what is refused is taken back there. */
const ROW_FIELDS = ['workspace', 'model', 'personality', 'profile'] as const
type RowFields = Pick<SessionRow, (typeof ROW_FIELDS)[number]>

export class ReadSession {
  readonly #rowOf: (id: string) => SessionRow | undefined
  readonly #read = signal<{ session: Session; row: RowFields } | null>(null)
  readonly details: ReadonlySignal<Details | null>

  constructor(rowOf: (id: string) => SessionRow | undefined) {
    this.#rowOf = rowOf
    this.details = computed<Details | null>(() => {
      if (!this.#read.value) return null
      const { session, row } = this.#read.value
      const now = rowOf(session.session_id) ?? row
      const changed = ROW_FIELDS.filter(name => now[name] !== row[name])
      if (changed.length === 0) return session
      return { ...session, ...Object.fromEntries(changed.map(name => [name, now[name]])) }
    })
  }

  put(session: Session | null): void {
    const row = session && this.#rowOf(session.session_id)
    // A reply that is older than the row changes nothing about it.
    const isNewer = row && (row.seq ?? 0) <= (session.seq ?? 0)
    this.#read.value = session && { session, row: isNewer ? row : session }
  }
}
