/** Several selected sessions of the list. */
import { effect, type ReadonlySignal, signal } from '@preact/signals'

/** `listed`: the sessions of the list as it is shown, with those that are scrolled out of sight. */
export class Selection {
  readonly ids = signal<ReadonlySet<string>>(new Set())
  /** The row that a range begins at. */
  #anchor: string | null = null

  constructor(listed: ReadonlySignal<ReadonlySet<string>>) {
    // What nobody sees must not be deleted with the others.
    effect(() => {
      const left = [...this.ids.value].filter(id => listed.value.has(id))
      if (left.length < this.ids.value.size) this.ids.value = new Set(left)
    })
  }

  toggle(id: string): void {
    this.#anchor = id
    const next = new Set(this.ids.value)
    if (!next.delete(id)) next.add(id)
    this.ids.value = next
  }

  /** Selects the rows from the last one that was selected to `id`. `keys`: all rows in the order of the list. */
  extendTo(id: string, keys: readonly string[]): void {
    const from = keys.indexOf(this.#anchor ?? id)
    const to = keys.indexOf(id)
    if (from < 0 || to < 0) return
    this.#anchor = keys[from]!
    this.ids.value = new Set([
      ...this.ids.value,
      ...keys.slice(Math.min(from, to), Math.max(from, to) + 1),
    ])
  }

  clear(): void {
    this.#anchor = null
    if (this.ids.value.size > 0) this.ids.value = new Set()
  }
}
