/**
 * The secrets of this process, whatever part of it keeps them.
 *
 * One set a process, on purpose: a key of one profile must not show in anything of another, and a place that forgot to be
 * given the set would show everything.
 */
import { createCutFinder, type CutFinder } from './cut.ts'
import { createFinder, type Finder } from './spans.ts'
import { secretsInValue } from './spellings.ts'

/** The same array for as long as nothing has changed. */
export type SecretSource = () => readonly string[]

/** Looking at the files costs a few calls of the system: not at each delta of an answer. */
const LOOK_AGAIN_MS = 100

export const createKnown = () => {
  const sources = new Set<SecretSource>()
  let seen: (readonly string[])[] = []
  let lookedAt = -Infinity
  let secrets: readonly string[] = []
  let finder: Finder = createFinder([])
  let cut: CutFinder = createCutFinder([])

  const look = (): void => {
    const values = [...sources].map(source => source())
    const isSame = values.length === seen.length && values.every((each, at) => each === seen[at])
    if (isSame) return
    seen = values
    secrets = [...new Set(values.flat().flatMap(secretsInValue))]
    finder = createFinder(secrets)
    cut = createCutFinder(secrets)
  }

  return {
    /** Answers how to stop: what a closed service knew is not kept. */
    watch(source: SecretSource): () => void {
      sources.add(source)
      lookedAt = -Infinity
      return () => {
        sources.delete(source)
        lookedAt = -Infinity
      }
    },
    /** Looks at the next use: somebody has just written one of the files. */
    refresh(): void {
      lookedAt = -Infinity
    },
    secrets: (): readonly string[] => secrets,
    finder(): Finder {
      const now = performance.now()
      if (now - lookedAt >= LOOK_AGAIN_MS) {
        // First: reading a file may log, and the log asks for the finder.
        lookedAt = now
        look()
      }
      return finder
    },
    /** As of the last look of `finder`. */
    cut: (): CutFinder => cut,
  }
}
