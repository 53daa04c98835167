/** The whole list as text in parts: a change of a row replaces the part that it is in, and not all of the 6 MB of 10,000 rows. */
import type { Clock } from '../base/clock.ts'
import type { Catalog } from './catalog.ts'

/** The list is asked for again soon, or not at all. */
const KEPT_MS = 60_000
/** Rows of a part. */
const PART_ROWS = 250
/** A part that is larger, and twice as large as when it was made, is divided. */
const MAX_PART_BYTES = 4 * PART_ROWS * 700

/** `after`, `upTo`: of the times of its rows, in milliseconds since 1970. `madeBytes`: its size when all was divided. */
type ListPart = { after: number; upTo: number; body: Buffer; madeBytes: number }
type DividedList = { profile: string | null; version: number; parts: ListPart[] }

const [OPEN, COMMA, CLOSE] = [Buffer.from('['), Buffer.from(','), Buffer.from(']')] as const

export class WholeList {
  readonly #catalog: Catalog
  readonly #clock: Clock
  #list: DividedList | null = null
  #cancel = (): void => undefined

  constructor(catalog: Catalog, clock: Clock) {
    this.#catalog = catalog
    this.#clock = clock
  }

  /** Rows of a profile, or of all, newest first: the text of a JSON array, in the same buffers as before where nothing changed. */
  read(profile: string | null): readonly Buffer[] {
    for (;;) {
      const { version } = this.#catalog
      const isSame = this.#list?.profile === profile && this.#list.version === version
      const parts = isSame && this.#list ? this.#list.parts : this.#update(profile)
      this.#list = { profile, version, parts }
      // Another version: the database was replaced while it was read.
      if (this.#catalog.version === version) break
      this.#list = null
    }
    this.#cancel()
    this.#cancel = this.#clock.timer(KEPT_MS, () => {
      this.#list = null
    })
    const filled = this.#list.parts.map(({ body }) => body).filter(({ length }) => length > 0)
    const text = filled.flatMap((body, at) => (at === 0 ? [body] : [COMMA, body]))
    return [OPEN, ...text, CLOSE]
  }

  #divide(profile: string | null): ListPart[] {
    const times = [...new Set(this.#catalog.times(profile, PART_ROWS))]
    return [...times, Number.MIN_SAFE_INTEGER].map((after, at) => {
      const upTo = times[at - 1] ?? Number.MAX_SAFE_INTEGER
      const body = this.#catalog.span(profile, after, upTo)
      return { after, upTo, body, madeBytes: body.length }
    })
  }

  #update(profile: string | null): ListPart[] {
    const list = this.#list?.profile === profile ? this.#list : null
    const changed = list && this.#catalog.changedSince(list.version)
    if (!list || !changed) return this.#divide(profile)
    for (const part of list.parts)
      if ([...changed].some(ms => ms > part.after && ms <= part.upTo))
        part.body = this.#catalog.span(profile, part.after, part.upTo)
    return list.parts.some(
      ({ body, madeBytes }) => body.length > Math.max(MAX_PART_BYTES, 2 * madeBytes),
    )
      ? this.#divide(profile)
      : list.parts
  }
}
