/** Browser facilities used by the page; tests pass fakes. */
import type { ReadonlySignal } from '@preact/signals'
import type { Clock } from '../lib/base/clock.ts'
import type { ApiCall, FetchBlob } from './api.ts'
import type { ServerClock } from './parts/server-clock.ts'
import type { Upload } from './upload.ts'

export type JsonStorage = {
  read<T>(key: string, fallback: T): T
  write(key: string, value: unknown): void
  remove(key: string): void
  keys(): string[]
  /** Removes all values; what is written after that is not stored. */
  clear(): void
}

export type Platform = {
  api: ApiCall
  /** Number of requests without a reply. */
  awaited: ReadonlySignal<number>
  /** Fetches files. */
  fetchBlob: FetchBlob
  upload: Upload
  base: string
  /** Names the person whose page this is. */
  account: string
  /** Stored per browser. */
  device: JsonStorage
  /** Stored per browser and person. */
  drafts: JsonStorage
  /** Stored per tab. */
  tab: JsonStorage
  clock: Clock
  /** Shows the time of the server, which its events and rows are compared with. */
  serverClock: ServerClock
  /** Runs the work of one name one at a time in all tabs of the browser; at once where it has no Web Locks. */
  exclusively: <T>(name: string, work: () => Promise<T>) => Promise<T>
  /** No tab of the browser runs work of this name, as far as is known. */
  isFree: (name: string) => Promise<boolean>
  /** Runs before the next frame, or soon while the page is hidden. */
  nextFrame: (run: () => void) => void
}

type StorageLike = {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/** Of the keys of what a person has written. */
export const draftsPrefix = (account: string): string => `agent-webui:${account}:`

/** JSON values in browser storage. Never throws when storage is full or blocked. */
export const jsonStorage = (source: StorageLike | null, prefix = 'agent-webui:'): JsonStorage => {
  let storage = source
  const keys = (): string[] =>
    Object.keys(storage ?? {}).flatMap(key =>
      key.startsWith(prefix) ? [key.slice(prefix.length)] : [],
    )
  return {
    read(key, fallback) {
      try {
        const text = storage?.getItem(prefix + key)
        return text ? JSON.parse(text) : fallback
      } catch {
        // Unreadable values count as absent.
        return fallback
      }
    },
    write(key, value) {
      try {
        storage?.setItem(prefix + key, JSON.stringify(value))
      } catch {
        // Private windows may reject writes; the value is then lost with the page.
      }
    },
    remove: key => storage?.removeItem(prefix + key),
    keys,
    clear() {
      for (const key of keys()) storage?.removeItem(prefix + key)
      storage = null
    },
  }
}
