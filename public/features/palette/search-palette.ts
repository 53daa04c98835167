/** State of the palette: what it lists for a query, from the page at once and from the server after a pause. */
import { computed, signal, type ReadonlySignal } from '@preact/signals'
import { fuzzyMatches } from '../../../lib/base/fuzzy.ts'
import type { Platform } from '../../platform.ts'
import type { PickerOption } from '../../parts/picker.tsx'

export type PaletteEntry = PickerOption & {
  section: string
  /** Other words it is found by. */
  words?: string
  /** Listed only for a query. */
  searchOnly?: boolean
  run: () => unknown
  /** With Alt+Enter, or a click with ⌘ or Ctrl. */
  runAside?: () => unknown
}

export type Section = { label: string; entries: readonly PaletteEntry[] }

const PAUSE_MS = 120
const MAX_PER_SECTION = 6
const MAX_RECENT = 5
const RECENT_KEY = 'palette-recent'

export type PaletteOptions = {
  platform: Platform
  /** What the page knows. Read again whenever it changes. */
  local: () => readonly PaletteEntry[]
  /** What the server finds for a query. */
  remote: (query: string, signal: AbortSignal) => Promise<readonly PaletteEntry[]>
  recentLabel: string
  /** Without a query: the entry that Enter takes, and the one that is left out. */
  first?: () => { id: string | null; without: string | null }
}

/** The best entries by section; the section of the best match is first. */
const matching = (entries: readonly PaletteEntry[], query: string): Section[] => {
  const byName = fuzzyMatches(
    entries.map(({ label }) => label),
    query,
  )
  const isNamed = new Set(byName.map(({ at }) => at))
  const texts = entries.map(({ label, words }) => (words ? `${label} ${words}` : label))
  // What is found by its name comes before what is found by other words.
  const all: PaletteEntry[] = [
    ...byName.map(({ at, ranges }) => ({ ...entries[at]!, ranges })),
    ...fuzzyMatches(texts, query)
      .filter(({ at }) => !isNamed.has(at))

      .map(({ at }) => ({ ...entries[at]!, ranges: [] })),
  ]
  return [...Map.groupBy(all, ({ section }) => section)].map(([label, of]) => ({
    label,
    entries: of.slice(0, MAX_PER_SECTION),
  }))
}

export class PaletteSearch {
  readonly #options: PaletteOptions
  readonly query = signal('')
  /** What the server found last, and for what. */
  readonly #reply = signal<{ text: string; entries: readonly PaletteEntry[] }>({
    text: '',
    entries: [],
  })
  readonly busy = signal(false)
  readonly hasFailed = signal(false)
  readonly #recentIds: string[]
  #cancel = () => {}
  #asking = new AbortController()
  readonly sections: ReadonlySignal<readonly Section[]>

  constructor(options: PaletteOptions) {
    const { platform, local, recentLabel, first = () => ({ id: null, without: null }) } = options
    this.#options = options
    this.#recentIds = platform.device.read<string[]>(RECENT_KEY, [])
    this.sections = computed<readonly Section[]>(() => {
      const entries = local()
      const text = this.query.value.trim()
      if (!text) {
        const byId = new Map(entries.map(entry => [entry.id, entry]))
        const { id: lead, without } = first()
        const ids = [lead, ...this.#recentIds.filter(id => id !== lead && id !== without)]
        const recent = ids.flatMap(id => (id === null ? [] : (byId.get(id) ?? [])))
        const rest = entries.filter(
          ({ id, searchOnly }) => !searchOnly && id !== without && !ids.includes(id),
        )
        const groups = [...Map.groupBy(rest, ({ section }) => section)]
        return [
          ...(recent.length > 0 ? [{ label: recentLabel, entries: recent }] : []),
          ...groups.map(([label, of]) => ({ label, entries: of.slice(0, MAX_PER_SECTION) })),
        ]
      }
      const own = matching(entries, text)
      const ownIds = new Set(own.flatMap(({ entries: of }) => of.map(({ id }) => id)))
      // Below the results of the page, so that nothing moves under the selection when they arrive.
      const groups = Map.groupBy(
        this.#replyFor(text).filter(({ id }) => !ownIds.has(id)),
        ({ section }) => section,
      )
      return [...own, ...[...groups].map(([label, of]) => ({ label, entries: of }))]
    })
  }

  readonly set = (text: string): void => {
    this.query.value = text
    this.#cancel()
    this.#asking.abort()
    this.#asking = new AbortController()
    const query = text.trim()
    this.busy.value = query !== ''
    this.hasFailed.value = false
    if (query)
      this.#cancel = this.#options.platform.clock.timer(PAUSE_MS, () => void this.#ask(query))
    else this.#reply.value = { text: '', entries: [] }
  }

  readonly close = (): void => {
    this.#cancel()
    this.#asking.abort()
  }

  /** Runs an entry, which is listed first the next time. */
  pick(id: string, isAside = false): unknown {
    const entry = this.sections.value.flatMap(({ entries }) => entries).find(one => one.id === id)
    if (!entry) return undefined
    const recent = [id, ...this.#recentIds.filter(one => one !== id)].slice(0, MAX_RECENT)
    this.#options.platform.device.write(RECENT_KEY, recent)
    return (isAside && entry.runAside ? entry.runAside : entry.run)()
  }

  async #ask(text: string): Promise<void> {
    const { signal } = this.#asking
    try {
      const entries = await this.#options.remote(text, signal)
      // A later query has replaced this one.
      if (signal.aborted) return
      this.#reply.value = { text, entries }
      this.hasFailed.value = false
    } catch {
      // Shown as a sentence below the results of the page.
      if (!signal.aborted) this.hasFailed.value = true
    } finally {
      if (!signal.aborted) this.busy.value = false
    }
  }

  /** Results for an earlier query stay while the server searches, where they match the new one: Enter must open no other. */
  #replyFor(text: string): readonly PaletteEntry[] {
    const { text: query, entries } = this.#reply.value
    if (query === text) return entries
    const texts = entries.map(({ label, hint = '' }) => `${label} ${hint}`)
    const matches = new Set(fuzzyMatches(texts, text).map(({ at }) => at))
    return entries.filter((_, index) => matches.has(index))
  }
}
