/** Which sessions were compared with their files a moment ago, for reading: a request asks several times. */

import type { Clock } from '../base/clock.ts'

/** Some file systems report nothing of what was changed elsewhere. */
const AGAIN_MS = 1_000

export type ResolvedIdsOptions = {
  /** The current id of a session, after its file was compared with its row; undefined when there is none. */
  compare: (id: string) => string | undefined
  /** Grows with each change of a row. */
  version: () => number
  /** Whether changes of files are reported to `forget`. */
  isWatched: () => boolean
  clock: Pick<Clock, 'monotonic'>
}

export const createResolvedIds = ({ compare, version, isWatched, clock }: ResolvedIdsOptions) => {
  const ids = new Map<string, string | undefined>()
  const known = { version: -1, until: 0 }
  const forget = () => ids.clear()

  return {
    /** Call when a file has changed. */
    forget,
    /**
     * As `compare`, but a file is compared only when a change was reported, when a row has changed, and after a second. Where nothing
     * is reported, once for each iteration of the event loop.
     */
    resolve(id: string): string | undefined {
      if (known.version !== version() || clock.monotonic() > known.until) forget()
      if (ids.has(id)) return ids.get(id)
      const real = compare(id)
      if (ids.size === 0) {
        known.until = clock.monotonic() + AGAIN_MS
        if (!isWatched()) setImmediate(forget)
      }
      ids.set(id, real)
      known.version = version()
      return real
    },
  }
}
