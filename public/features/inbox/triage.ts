/** Keys of the inbox: J and K move between its items, a letter presses the button of the item that has the focus. */
import { isComposing } from '../../parts/composing.ts'
import { signal } from '@preact/signals'

/** What takes effect is pressed twice, because a single key is easily hit. */
const CONFIRMED = new Set(['a', 'd', 'x'])

export type Armed = { item: string; key: string; action: string }

const itemsIn = (list: HTMLElement): HTMLElement[] => [
  ...list.querySelectorAll<HTMLElement>('[data-item]'),
]

export class Triage {
  /** The press that waits for its confirmation. */
  readonly armed = signal<Armed | null>(null)
  #at = 0

  onFocus(list: HTMLElement, target: HTMLElement): void {
    const item = target.closest<HTMLElement>('[data-item]')
    if (item) this.#at = itemsIn(list).indexOf(item)
    if (this.armed.value && this.armed.value.item !== item?.dataset.item) this.armed.value = null
  }

  /** After an item that had the focus has gone, the one in its place gets it. */
  restore(list: HTMLElement): void {
    if (document.activeElement === document.body && this.#at >= 0) this.#focus(list, this.#at)
  }

  /** True when the key was used. */
  onKey(list: HTMLElement, event: KeyboardEvent): boolean {
    const target = event.target as HTMLElement
    if (event.ctrlKey || event.metaKey || event.altKey || isComposing(event)) return false
    if (target.matches('input, textarea')) {
      if (event.key !== 'Escape') return false
      target.closest<HTMLElement>('[data-item]')?.focus()
      return true
    }
    const key = event.key === 'Enter' && target.dataset.item ? 'o' : event.key.toLowerCase()
    const item = target.closest<HTMLElement>('[data-item]')
    if (key === 'j' || key === 'arrowdown' || key === 'k' || key === 'arrowup') {
      this.armed.value = null
      const step = key === 'j' || key === 'arrowdown' ? 1 : -1
      this.#focus(list, item ? itemsIn(list).indexOf(item) + step : 0)
      return true
    }
    const button = item?.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)
    if (!item || !button) return false
    const name = item.dataset.item ?? ''
    if (button.matches('input')) button.focus()
    else if (
      CONFIRMED.has(key) &&
      (this.armed.value?.item !== name || this.armed.value.key !== key)
    ) {
      this.armed.value = { item: name, key, action: button.textContent ?? '' }
      return true
    } else button.click()
    this.armed.value = null
    return true
  }

  #focus(list: HTMLElement, index: number): void {
    const items = itemsIn(list)
    this.#at = Math.max(0, Math.min(index, items.length - 1))
    items[this.#at]?.focus()
    items[this.#at]?.scrollIntoView({ block: 'nearest' })
  }
}
