/** Texts that screen readers announce, in order. */
import { type Signal, signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'

export type Announcement = { id: number; text: string }
export type Announcements = {
  /** The content of the live region, the oldest first. */
  list: Signal<readonly Announcement[]>
  announce: (text: string) => void
}

/** A screen reader takes the text when it is added. Later it would only be found a second time, by a person who reads the page. */
const KEPT_MS = 7_000

export const createAnnouncements = ({ clock }: Pick<Platform, 'clock'>): Announcements => {
  const list = signal<readonly Announcement[]>([])
  let count = 0
  return {
    list,
    announce(text) {
      count += 1
      const added = { id: count, text }
      list.value = [...list.value, added]
      clock.timer(KEPT_MS, () => {
        list.value = list.value.filter(each => each !== added)
      })
    },
  }
}
