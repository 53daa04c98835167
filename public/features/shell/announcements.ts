/** Texts that screen readers announce, in order. */
import { type Signal, signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'

export type Announcement = { id: number; text: string }

/** A screen reader takes the text when it is added. Later it would only be found a second time, by a person who reads the page. */
const KEPT_MS = 7_000

export class Announcements {
  readonly #platform: Platform
  /** The content of the live region, the oldest first. */
  readonly list: Signal<readonly Announcement[]> = signal<readonly Announcement[]>([])
  #count = 0

  constructor(platform: Platform) {
    this.#platform = platform
  }

  readonly announce = (text: string): void => {
    this.#count += 1
    const toast = { id: this.#count, text }
    this.list.value = [...this.list.value, toast]
    this.#platform.clock.timer(KEPT_MS, () => {
      this.list.value = this.list.value.filter(each => each !== toast)
    })
  }
}
