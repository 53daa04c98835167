/**
 * The known secrets of this process, from all sources.
 *
 * One set per process, on purpose: a key of one profile must not show in another profile, and code that was not passed
 * the set would leak everything.
 */
import type { Clock } from '../clock.ts'
import { createCutFinder, type CutFinder } from './cut.ts'
import { createFinder, createKnownFinder, type Finder, type Span } from './spans.ts'
import { secretsInValue } from './spellings.ts'

/** Returns the same array while nothing has changed. */
export type SecretSource = () => readonly string[]

/** Checking the files costs a few system calls: too many for every delta. */
const RECHECK_MS = 100

export const createKnown = (clock: Pick<Clock, 'monotonic'>) => {
  const sources = new Set<SecretSource>()
  let seen: (readonly string[])[] = []
  let checkedAt = -Infinity
  let secrets: readonly string[] = []
  let version = 0
  // Made on first use: until then, it is not known which secrets there are.
  let finder: Finder | undefined
  let cut: CutFinder | undefined
  let values: ReturnType<typeof createKnownFinder> | undefined

  const check = (): void => {
    const now = [...sources].map(source => source())
    const isSame = now.length === seen.length && now.every((each, at) => each === seen[at])
    if (isSame) return
    seen = now
    secrets = [...new Set(now.flat().flatMap(secretsInValue))]
    version += 1
    finder = undefined
    cut = undefined
    values = undefined
  }

  const recheck = (): void => {
    const now = clock.monotonic()
    if (now - checkedAt < RECHECK_MS) return
    // Set first: reading a file may log, and the log calls finder().
    checkedAt = now
    check()
  }

  return {
    /** Returns an unsubscribe function; a closed service keeps no secrets in memory. */
    watch(source: SecretSource): () => void {
      sources.add(source)
      checkedAt = -Infinity
      return () => {
        sources.delete(source)
        checkedAt = -Infinity
      }
    },
    /** Rechecks on the next use, because a source has just changed. */
    refresh(): void {
      checkedAt = -Infinity
    },
    secrets: (): readonly string[] => secrets,
    /** Another number when the secrets are others. */
    version(): number {
      recheck()
      return version
    },
    finder(): Finder {
      recheck()
      finder ??= createFinder(secrets)
      return finder
    },
    /** Known values in a text, and nothing that is only recognized by its format. */
    values(text: string): readonly Span[] {
      recheck()
      values ??= createKnownFinder(secrets)
      return values(text)
    },
    /** As of the last call of `finder`. */
    cut(): CutFinder {
      cut ??= createCutFinder(secrets)
      return cut
    },
  }
}
