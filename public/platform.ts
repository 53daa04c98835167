/** What the page gets from the browser, as values: tests pass their own. */
import type { ApiCall, FetchBlob } from './api.ts'
import type { Upload } from './upload.ts'

export type JsonStorage = {
  read<T>(key: string, fallback: T): T
  write(key: string, value: unknown): void
}

export type Platform = {
  api: ApiCall
  /** Files, which are no JSON. */
  fetchBlob: FetchBlob
  upload: Upload
  base: string
  /** Remembered by this browser. */
  device: JsonStorage
  /** Remembered by this tab. */
  tab: JsonStorage
  nowMs: () => number
  /** Runs once after a pause; the returned function calls it off. */
  schedule: (run: () => void, afterMs: number) => () => void
  /** Runs before the next picture is drawn, or soon when nothing is drawn. */
  nextFrame: (run: () => void) => void
}

type StorageLike = {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
}

/** JSON values in a browser's storage. A full or forbidden storage costs the memory, never the page. */
export const jsonStorage = (storage: StorageLike | null, prefix = 'agent-webui:'): JsonStorage => ({
  read(key, fallback) {
    try {
      const text = storage?.getItem(prefix + key)
      return text ? JSON.parse(text) : fallback
    } catch {
      // Unreadable is the same as absent.
      return fallback
    }
  },
  write(key, value) {
    try {
      storage?.setItem(prefix + key, JSON.stringify(value))
    } catch {
      // Private windows may refuse to store; the value then lives as long as the page.
    }
  },
})
