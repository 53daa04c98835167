/** State of the palette: what it lists for a query, from the page at once and from the server after a pause. */
import { computed, signal } from '@preact/signals'
import { fuzzyMatches } from '../../../lib/base/fuzzy.ts'
import type { Platform } from '../../platform.ts'
import type { PickerOption } from '../../parts/picker.tsx'

export type Entry = PickerOption & {
  section: string
  /** Other words it is found by. */
  words?: string
  /** Listed only for a query. */
  searchOnly?: boolean
  run: () => unknown
  /** With Alt+Enter, or a click with ⌘ or Ctrl. */
  runAside?: () => unknown
}

export type Section = { label: string; entries: readonly Entry[] }

const PAUSE_MS = 120
const MAX_PER_SECTION = 6
const MAX_RECENT = 5
const RECENT_KEY = 'palette-recent'

export type PaletteOptions = {
  platform: Pick<Platform, 'clock' | 'device'>
  /** What the page knows. Read again whenever it changes. */
  local: () => readonly Entry[]
  /** What the server finds for a query. */
  remote: (query: string, signal: AbortSignal) => Promise<readonly Entry[]>
  recentLabel: string
}

/** The best entries by section; the section of the best match is first. */
const matching = (entries: readonly Entry[], query: string): Section[] => {
  const named = fuzzyMatches(
    entries.map(({ label }) => label),
    query,
  )
  const isNamed = new Set(named.map(({ at }) => at))
  const texts = entries.map(({ label, words }) => (words ? `${label} ${words}` : label))
  // What is found by its name comes before what is found by other words.
  const found: Entry[] = [
    ...named.map(({ at, ranges }) => ({ ...entries[at]!, ranges })),
    ...fuzzyMatches(texts, query)
      .filter(({ at }) => !isNamed.has(at))

      .map(({ at }) => ({ ...entries[at]!, ranges: [] })),
  ]
  return [...Map.groupBy(found, ({ section }) => section)].map(([label, of]) => ({
    label,
    entries: of.slice(0, MAX_PER_SECTION),
  }))
}

export const createPaletteSearch = (options: PaletteOptions) => {
  const { platform, local, remote, recentLabel } = options
  const query = signal('')
  /** What the server found last, and for what. */
  const found = signal<{ text: string; entries: readonly Entry[] }>({ text: '', entries: [] })
  const busy = signal(false)
  const failed = signal(false)
  const recentIds = platform.device.read<string[]>(RECENT_KEY, [])
  let cancel = () => {}
  let asking = new AbortController()

  const ask = async (text: string): Promise<void> => {
    const { signal: wanted } = asking
    try {
      const entries = await remote(text, wanted)
      // A later query has replaced this one.
      if (wanted.aborted) return
      found.value = { text, entries }
      failed.value = false
    } catch {
      // Shown as a sentence below the results of the page.
      if (!wanted.aborted) failed.value = true
    } finally {
      if (!wanted.aborted) busy.value = false
    }
  }

  /** Results for an earlier query stay while the server searches, where they match the new one: Enter must open no other. */
  const foundFor = (text: string): readonly Entry[] => {
    const { text: asked, entries } = found.value
    if (asked === text) return entries
    const texts = entries.map(({ label, hint = '' }) => `${label} ${hint}`)
    const matches = new Set(fuzzyMatches(texts, text).map(({ at }) => at))
    return entries.filter((_, index) => matches.has(index))
  }

  const sections = computed<readonly Section[]>(() => {
    const entries = local()
    const text = query.value.trim()
    if (!text) {
      const byId = new Map(entries.map(entry => [entry.id, entry]))
      const recent = recentIds.flatMap(id => byId.get(id) ?? [])
      const rest = entries.filter(({ id, searchOnly }) => !searchOnly && !recentIds.includes(id))
      const groups = [...Map.groupBy(rest, ({ section }) => section)]
      return [
        ...(recent.length > 0 ? [{ label: recentLabel, entries: recent }] : []),
        ...groups.map(([label, of]) => ({ label, entries: of.slice(0, MAX_PER_SECTION) })),
      ]
    }
    const own = matching(entries, text)
    const shown = new Set(own.flatMap(({ entries: of }) => of.map(({ id }) => id)))
    // Below the results of the page, so that nothing moves under the selection when they arrive.
    const groups = Map.groupBy(
      foundFor(text).filter(({ id }) => !shown.has(id)),
      ({ section }) => section,
    )
    return [...own, ...[...groups].map(([label, of]) => ({ label, entries: of }))]
  })

  return {
    query,
    sections,
    busy,
    failed,
    set(text: string): void {
      query.value = text
      cancel()
      asking.abort()
      asking = new AbortController()
      const wanted = text.trim()
      busy.value = wanted !== ''
      failed.value = false
      if (wanted) cancel = platform.clock.timer(PAUSE_MS, () => void ask(wanted))
      else found.value = { text: '', entries: [] }
    },
    /** Runs an entry, which is listed first the next time. */
    pick(id: string, isAside = false): unknown {
      const entry = sections.value.flatMap(({ entries }) => entries).find(one => one.id === id)
      if (!entry) return undefined
      const recent = [id, ...recentIds.filter(one => one !== id)].slice(0, MAX_RECENT)
      platform.device.write(RECENT_KEY, recent)
      return (isAside && entry.runAside ? entry.runAside : entry.run)()
    },
    close(): void {
      cancel()
      asking.abort()
    },
  }
}
