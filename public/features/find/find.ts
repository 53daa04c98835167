/** Full-text find in the open chat: loads all messages and steps through the matches. */
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { toPlainText } from '../../markdown/plain-text.ts'
import type { TranscriptState } from '../messages/chat-reducer.ts'
import { messageText, withoutFiles } from '../messages/message-text.ts'
import { type TranscriptRow, toRows } from '../transcript/rows.ts'

/** The `n`-th match in a row, from 0. */
export type Match = { key: string; n: number }

/** The server's maximum page size. */
const PAGE_SIZE = 500

/** Lower case with the length of the original text, so that offsets are the same in both. */
export const foldCase = (text: string): string => {
  const plain = text.replace(/\s/g, ' ')
  const lower = plain.toLowerCase()
  if (lower.length === plain.length) return lower
  return plain.replace(/./gsu, sign => {
    const small = sign.toLowerCase()
    return small.length === sign.length ? small : sign
  })
}

/** Further matches of one row are not counted: a letter in megabytes of text has millions. */
export const MAX_MATCHES = 10_000

/** Offsets of non-overlapping matches, the first `limit` of them. */
export const indexesOf = (text: string, needle: string, limit = MAX_MATCHES): number[] => {
  const places: number[] = []
  if (!needle) return places
  let at = text.indexOf(needle)
  while (at >= 0 && places.length < limit) {
    places.push(at)
    at = text.indexOf(needle, at + needle.length)
  }
  return places
}

const rawOf = (row: TranscriptRow): string => {
  if (row.kind === 'text') return row.text
  if (row.kind === 'user') return withoutFiles(messageText(row.message))
  return ''
}

export type FindOptions = {
  chat: ReadonlySignal<TranscriptState>
  /** Fetches up to `limit` earlier messages. */
  loadBefore: (limit: number) => Promise<void>
}

export class Find {
  readonly #options: FindOptions
  readonly query = signal('')
  readonly current = signal<Match | null>(null)
  readonly failed = signal(false)
  #closed = false
  #isLoading = false
  /** Folded text by row key, valid until the row's text changes. */
  readonly #folded = new Map<string, { raw: string; folded: string }>()
  readonly #messages
  readonly #rows = computed(() =>
    toRows({
      messages: this.#messages.value,
      live: null,
      finished: {},
      open: new Set(),
      showThinking: false,
    }),
  )
  readonly needle = computed(() => foldCase(this.query.value.trim()))
  readonly #matches = computed((): Match[] => {
    if (!this.needle.value) return []
    return this.#rows.value.flatMap(row =>
      indexesOf(this.#foldedOf(row), this.needle.value).map((_, n) => ({ key: row.key, n })),
    )
  })
  /** Index of the current match, or -1. */
  readonly index = computed(() => {
    const at = this.current.value
    return at ? this.#matches.value.findIndex(({ key, n }) => key === at.key && n === at.n) : -1
  })
  readonly total = computed(() => this.#matches.value.length)
  /** There are more than `total`. */
  readonly isCut = computed(() => this.#matches.value.some(({ n }) => n === MAX_MATCHES - 1))
  /** Earlier messages are still being loaded. */
  readonly loading: ReadonlySignal<boolean>

  constructor(options: FindOptions) {
    const { chat } = options
    this.#options = options
    this.#messages = computed(() => chat.value.messages)
    this.loading = computed(
      () => this.needle.value !== '' && chat.value.before > 0 && !this.failed.value,
    )
  }

  /** `from`: key of the first visible row; the next match at or below it becomes the current one. */
  set(text: string, from: string | null): void {
    this.query.value = text
    const order = new Map(this.#rows.value.map(({ key }, at) => [key, at]))
    const top = order.get(from ?? '') ?? 0
    const next = this.#matches.value.find(({ key }) => (order.get(key) ?? 0) >= top)
    this.current.value = next ?? this.#matches.value.at(-1) ?? null
  }

  step(by: 1 | -1): void {
    const { length } = this.#matches.value
    if (length === 0) return
    const from = this.index.value < 0 ? (by === 1 ? -1 : length) : this.index.value
    this.current.value = this.#matches.value[(from + by + length) % length] ?? null
  }

  /** Loads all earlier messages page by page; stops with an error when a page brings nothing new. */
  async loadAll(): Promise<void> {
    const { chat, loadBefore } = this.#options
    if (this.#isLoading) return
    this.#isLoading = true
    this.failed.value = false
    const { sessionId } = chat.value
    try {
      while (!this.#closed && chat.value.before > 0 && chat.value.sessionId === sessionId) {
        const { before } = chat.value
        await loadBefore(PAGE_SIZE)
        // The transcript may have loaded a page itself, which counts as progress.
        if (chat.value.before === before && chat.value.sessionId === sessionId) {
          this.failed.value = true
          return
        }
        if (!this.current.value) this.current.value = this.#matches.value.at(-1) ?? null
      }
    } catch {
      // The loaded part has been searched; the bar shows that it is incomplete.
      this.failed.value = true
    } finally {
      this.#isLoading = false
    }
  }

  close(): void {
    this.#closed = true
  }

  #foldedOf(row: TranscriptRow): string {
    const raw = rawOf(row)
    const cached = this.#folded.get(row.key)
    if (cached?.raw === raw) return cached.folded
    const folded = raw && foldCase(row.kind === 'text' ? toPlainText(raw) : raw)
    this.#folded.set(row.key, { raw, folded })
    return folded
  }
}
