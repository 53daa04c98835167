/**
 * The known secrets of this process, from all sources.
 *
 * One set per process, on purpose: a key of one profile must not show in another profile, and code that was not passed
 * the set would leak everything.
 */
import type { Clock } from '../clock.ts'
import { CutFinder } from './cut.ts'
import { Finder, KnownFinder, type Span } from './spans.ts'
import { secretsInValue } from './spellings.ts'

/** Returns the same array while nothing has changed. */
export type SecretSource = () => readonly string[]

/** Checking the files costs a few system calls: too many for every delta. */
const RECHECK_MS = 100

export class KnownSecrets {
  readonly #clock: Clock
  readonly #sources = new Set<SecretSource>()
  #seen: (readonly string[])[] = []
  #checkedAt = -Infinity
  #secrets: readonly string[] = []
  #version = 0
  // Made on first use: until then, it is not known which secrets there are.
  #finder: Finder | undefined
  #cut: CutFinder | undefined
  #values: KnownFinder | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  #check(): void {
    const now = [...this.#sources].map(source => source())
    const isSame =
      now.length === this.#seen.length && now.every((each, at) => each === this.#seen[at])
    if (isSame) return
    this.#seen = now
    const secrets = [...new Set(now.flat().flatMap(secretsInValue))]
    const isKnown =
      secrets.length === this.#secrets.length &&
      secrets.every((each, at) => each === this.#secrets[at])
    // A file was written with the same keys: what was built for them stays.
    if (isKnown) return
    this.#secrets = secrets
    this.#version += 1
    this.#finder = undefined
    this.#cut = undefined
    this.#values = undefined
  }

  #recheck(): void {
    const now = this.#clock.monotonic()
    if (now - this.#checkedAt < RECHECK_MS) return
    // Set first: reading a file may log, and the log calls finder().
    this.#checkedAt = now
    this.#check()
  }

  /** Returns an unsubscribe function; a closed service keeps no secrets in memory. */
  watch(source: SecretSource): () => void {
    this.#sources.add(source)
    this.#checkedAt = -Infinity
    return () => {
      this.#sources.delete(source)
      this.#checkedAt = -Infinity
    }
  }

  /** Rechecks on the next use, because a source has just changed. */
  refresh(): void {
    this.#checkedAt = -Infinity
  }

  secrets(): readonly string[] {
    return this.#secrets
  }

  /** Another number when the secrets are others. */
  version(): number {
    this.#recheck()
    return this.#version
  }

  finder(): Finder {
    this.#recheck()
    this.#finder ??= new Finder(this.#secrets)
    return this.#finder
  }

  /** Known values in a text, and nothing that is only recognized by its format. */
  values(text: string): readonly Span[] {
    this.#recheck()
    this.#values ??= new KnownFinder(this.#secrets)
    return this.#values.find(text)
  }

  /** As of the last call of `finder`. */
  cut(): CutFinder {
    this.#cut ??= new CutFinder(this.#secrets)
    return this.#cut
  }
}
