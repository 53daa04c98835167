/** The rows that the page knows. Copies of a row arrive in replies and events in any order: an older one never replaces a newer one. */
import { computed, signal } from '@preact/signals'
import type { SessionRow } from '../../../lib/schema/session.ts'

/** A change that the server has not confirmed; null: the session is deleted. */
export type UnconfirmedChange = { id: string; patch: Partial<SessionRow> | null }

/** Newest first; equal times by id, the order of the server's pages. */
const before = (a: SessionRow, b: SessionRow): boolean =>
  a.updated_at !== b.updated_at ? a.updated_at > b.updated_at : a.session_id > b.session_id

const byTime = (a: SessionRow, b: SessionRow): number => (before(a, b) ? -1 : 1)

export const insertRow = (rows: readonly SessionRow[], row: SessionRow): SessionRow[] => {
  const others = rows.filter(other => other.session_id !== row.session_id)
  let [low, high] = [0, others.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (before(others[middle]!, row)) low = middle + 1
    else high = middle
  }
  others.splice(low, 0, row)
  return others
}

/** Rows of the host agent have no number. */
const seqOf = ({ seq = 0 }: SessionRow): number => seq

/** Of a deletion whose number is not known: every copy is older, except those of a list that is asked for later. */
const UNNUMBERED = Number.POSITIVE_INFINITY

export class KnownSessions {
  /** As the server sent them. */
  readonly #fromServer = signal<readonly SessionRow[]>([])
  readonly #byId = computed(() => new Map(this.#fromServer.value.map(row => [row.session_id, row])))
  readonly #unconfirmed = signal<readonly UnconfirmedChange[]>([])
  /** Deleted sessions and the numbers of their deletions. */
  readonly #deleted = new Map<string, number>()
  /** Ids of the sessions opened last, which may be missing from the loaded pages; two can be side by side. */
  #recent: string[] = []
  /** The start of the server that gave the numbers; those of another one do not compare. */
  #boot = ''
  /** With the changes that are not confirmed. */
  readonly rows = computed(() => {
    const changes = Map.groupBy(this.#unconfirmed.value, ({ id }) => id)
    if (changes.size === 0) return this.#fromServer.value
    return this.#fromServer.value.flatMap(row => {
      const patches = (changes.get(row.session_id) ?? []).map(({ patch }) => patch)
      return patches.includes(null) ? [] : [Object.assign({}, row, ...patches) as SessionRow]
    })
  })

  readonly #newer = (row: SessionRow): SessionRow => {
    const current = this.#byId.value.get(row.session_id)
    return current && seqOf(current) > seqOf(row) ? current : row
  }

  /** Some replies contain the whole session; its messages must not be kept in the list. */
  upsert({ messages: _, tool_calls: __, ...fields }: SessionRow): void {
    const row = fields as SessionRow
    if (this.#isDeleted(row) || this.#newer(row) !== row) return
    this.#deleted.delete(row.session_id)
    this.#fromServer.value = insertRow(this.#fromServer.value, row)
  }

  /** A row of an event: events come in order, so that of the deletion follows if this is older. */
  receive(row: SessionRow): void {
    if (this.#deleted.get(row.session_id) === UNNUMBERED) this.#deleted.delete(row.session_id)
    this.upsert(row)
  }

  /** `seq`: the number of the deletion. */
  drop(id: string, seq = this.#deleted.get(id) ?? UNNUMBERED): void {
    this.#deleted.set(id, seq)
    this.#recent = this.#recent.filter(other => other !== id)
    this.#fromServer.value = this.#fromServer.value.filter(row => row.session_id !== id)
  }

  /** Lists a session again that was deleted here. */
  undelete(row: SessionRow): void {
    this.#deleted.delete(row.session_id)
    this.upsert(row)
  }

  /** Keeps the row of the open session, even if no loaded page contains it. */
  keep(session: SessionRow): void {
    const id = session.session_id
    this.#recent = [id, ...this.#recent.filter(other => other !== id)].slice(0, 2)
    if (!this.#byId.value.has(id)) this.upsert(session)
  }

  /** Shows a change until `send` settles. What the server says meanwhile about the same row is kept. */
  async whileShown(change: UnconfirmedChange, send: () => Promise<void>): Promise<void> {
    this.#unconfirmed.value = [...this.#unconfirmed.value, change]
    try {
      await send()
    } finally {
      this.#unconfirmed.value = this.#unconfirmed.value.filter(other => other !== change)
    }
  }

  /** Call before the list is asked for. */
  beginLoad(): void {
    for (const [id, seq] of this.#deleted) if (seq === UNNUMBERED) this.#deleted.delete(id)
  }

  /** `server`: the start of the server that sent the list. */
  replaceAll(list: readonly SessionRow[], server: string): void {
    const open = this.#recent.flatMap(id => this.#byId.value.get(id) ?? [])
    const isSame = server === this.#boot
    this.#boot = server
    if (!isSame) this.#deleted.clear()
    const present = list.filter(row => !this.#isDeleted(row))
    const rows = isSame ? present.map(this.#newer) : present
    // In the server's order, unless a newer copy is elsewhere in it.
    this.#fromServer.value = rows.every((row, at) => row === present[at]) ? rows : rows.sort(byTime)
    for (const row of open)
      if (!this.#byId.value.has(row.session_id)) this.upsert(isSame ? row : { ...row, seq: 0 })
  }

  /** A row may have moved to an earlier page; the copy already loaded is newer. */
  append(page: readonly SessionRow[]): void {
    const newRows = page.filter(
      row => !this.#byId.value.has(row.session_id) && !this.#isDeleted(row),
    )
    this.#fromServer.value = [...this.#fromServer.value, ...newRows].sort(byTime)
  }

  #isDeleted(row: SessionRow): boolean {
    return seqOf(row) <= (this.#deleted.get(row.session_id) ?? -1)
  }
}
