/** Finding words in the conversation that is open: all of it is fetched, its texts are searched as they are read, one match after another. */
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { toPlainText } from '../../markdown/plain-text.ts'
import type { Chat } from '../chat/chat-reducer.ts'
import { withoutFiles } from '../composer/composer.ts'
import { textOf } from '../transcript/content.ts'
import { type Row, toRows } from '../transcript/rows.ts'

/** The `n`-th place in a row, from 0. */
export type Match = { key: string; n: number }

/** As many as the service gives at once. */
const PAGE_SIZE = 500

/** Comparable, and as long as the text itself: a place in one is the same place in the other. */
export const foldCase = (text: string): string => {
  const plain = text.replace(/\s/g, ' ')
  const lower = plain.toLowerCase()
  if (lower.length === plain.length) return lower
  return plain.replace(/./gsu, sign => {
    const small = sign.toLowerCase()
    return small.length === sign.length ? small : sign
  })
}

/** Where it stands, places that overlap counted once. */
export const indexesOf = (text: string, wanted: string): number[] => {
  const places: number[] = []
  if (!wanted) return places
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length))
    places.push(at)
  return places
}

const rawOf = (row: Row): string => {
  if (row.kind === 'text') return row.text
  if (row.kind === 'user') return withoutFiles(textOf(row.message))
  return ''
}

export type FindOptions = {
  chat: ReadonlySignal<Chat>
  /** Fetches what stands before, as much as is given. */
  loadBefore: (limit: number) => Promise<void>
}

export const createFind = ({ chat, loadBefore }: FindOptions) => {
  const query = signal('')
  const current = signal<Match | null>(null)
  const failed = signal(false)
  let closed = false
  let isLoading = false

  /** Of one row, until its text changes. */
  const known = new Map<string, { raw: string; folded: string }>()
  const foldedOf = (row: Row): string => {
    const raw = rawOf(row)
    const found = known.get(row.key)
    if (found?.raw === raw) return found.folded
    const folded = raw && foldCase(row.kind === 'text' ? toPlainText(raw) : raw)
    known.set(row.key, { raw, folded })
    return folded
  }

  const messages = computed(() => chat.value.messages)
  const rows = computed(() =>
    toRows({
      messages: messages.value,
      live: null,
      finished: {},
      open: new Set(),
      showThinking: false,
    }),
  )
  const wanted = computed(() => foldCase(query.value.trim()))
  const matches = computed((): Match[] => {
    if (!wanted.value) return []
    return rows.value.flatMap(row =>
      indexesOf(foldedOf(row), wanted.value).map((_, n) => ({ key: row.key, n })),
    )
  })
  const index = computed(() => {
    const at = current.value
    return at ? matches.value.findIndex(({ key, n }) => key === at.key && n === at.n) : -1
  })

  return {
    query,
    wanted,
    current,
    failed,
    total: computed(() => matches.value.length),
    /** Of the current match, from 0; -1 without one. */
    index,
    /** Something of the conversation has not been looked at yet. */
    loading: computed(() => wanted.value !== '' && chat.value.before > 0 && !failed.value),

    /** `from`: the row at the top of what is read; the match nearest below it becomes the current one. */
    set(text: string, from: string | null): void {
      query.value = text
      const order = new Map(rows.value.map(({ key }, at) => [key, at]))
      const top = order.get(from ?? '') ?? 0
      const next = matches.value.find(({ key }) => (order.get(key) ?? 0) >= top)
      current.value = next ?? matches.value.at(-1) ?? null
    },
    step(by: 1 | -1): void {
      const { length } = matches.value
      if (length === 0) return
      const from = index.value < 0 ? (by === 1 ? -1 : length) : index.value
      current.value = matches.value[(from + by + length) % length] ?? null
    },
    /** Everything before what is loaded, page by page; gives up on what brings nothing. */
    async loadAll(): Promise<void> {
      if (isLoading) return
      isLoading = true
      failed.value = false
      const { sessionId } = chat.value
      try {
        while (!closed && chat.value.before > 0 && chat.value.sessionId === sessionId) {
          const { before } = chat.value
          await loadBefore(PAGE_SIZE)
          // The transcript may have fetched a page of its own meanwhile: that is progress too.
          if (chat.value.before === before && chat.value.sessionId === sessionId) {
            failed.value = true
            return
          }
          if (!current.value) current.value = matches.value.at(-1) ?? null
        }
      } catch {
        // Offline, or refused: what is loaded has been searched, and the bar says that it is not all.
        failed.value = true
      } finally {
        isLoading = false
      }
    },
    close(): void {
      closed = true
    },
  }
}

export type Find = ReturnType<typeof createFind>
