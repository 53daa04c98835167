/** Several selected sessions of the list. */
import { effect, type ReadonlySignal, signal } from '@preact/signals'

/** `listed`: the sessions of the list as it is shown, with those that are scrolled out of sight. */
export const createSelection = (listed: ReadonlySignal<ReadonlySet<string>>) => {
  const ids = signal<ReadonlySet<string>>(new Set())
  /** The row that a range begins at. */
  let anchor: string | null = null
  // What nobody sees must not be deleted with the others.
  effect(() => {
    const left = [...ids.value].filter(id => listed.value.has(id))
    if (left.length < ids.value.size) ids.value = new Set(left)
  })

  return {
    ids,
    toggle(id: string): void {
      anchor = id
      const next = new Set(ids.value)
      if (!next.delete(id)) next.add(id)
      ids.value = next
    },
    /** Selects the rows from the last one that was selected to `id`. `keys`: all rows in the order of the list. */
    extendTo(id: string, keys: readonly string[]): void {
      const from = keys.indexOf(anchor ?? id)
      const to = keys.indexOf(id)
      if (from < 0 || to < 0) return
      anchor = keys[from]!
      ids.value = new Set([...ids.value, ...keys.slice(Math.min(from, to), Math.max(from, to) + 1)])
    },
    clear(): void {
      anchor = null
      if (ids.value.size > 0) ids.value = new Set()
    },
  }
}

export type Selection = ReturnType<typeof createSelection>
