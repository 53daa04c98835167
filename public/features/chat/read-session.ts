/** The session of a chat as it was read, with what its row has changed to since. */
import { computed, signal } from '@preact/signals'
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

export const createReadSession = (rowOf: (id: string) => SessionRow | undefined) => {
  const read = signal<{ session: Session; row: RowFields } | null>(null)
  return {
    details: computed<Details | null>(() => {
      if (!read.value) return null
      const { session, row } = read.value
      const now = rowOf(session.session_id) ?? row
      const changed = ROW_FIELDS.filter(name => now[name] !== row[name])
      if (changed.length === 0) return session
      return { ...session, ...Object.fromEntries(changed.map(name => [name, now[name]])) }
    }),
    put(session: Session | null): void {
      const row = session && rowOf(session.session_id)
      // A reply that is older than the row changes nothing about it.
      const isNewer = row && (row.seq ?? 0) <= (session.seq ?? 0)
      read.value = session && { session, row: isNewer ? row : session }
    },
  }
}
