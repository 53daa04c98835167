/** The whole list as text in parts: a change of a row replaces the part that it is in, and not all of the 6 MB of 10,000 rows. */
import type { Catalog } from './catalog.ts'

/** Rows of a part. */
const PART_ROWS = 250
/** A part that is larger, and twice as large as when it was made, is divided. */
const MAX_PART_BYTES = 4 * PART_ROWS * 700

/** `after`, `upTo`: of the times of its rows, in milliseconds since 1970. `madeBytes`: its size when all was divided. */
type Part = { after: number; upTo: number; body: Buffer; madeBytes: number }
type Kept = { profile: string | null; version: number; parts: Part[] }

const COMMA = Buffer.from(',')

export const createWholeList = (catalog: Catalog) => {
  let kept: Kept | null = null

  const divide = (profile: string | null): Part[] => {
    const times = [...new Set(catalog.times(profile, PART_ROWS))]
    return [...times, Number.MIN_SAFE_INTEGER].map((after, at) => {
      const upTo = times[at - 1] ?? Number.MAX_SAFE_INTEGER
      const body = catalog.span(profile, after, upTo)
      return { after, upTo, body, madeBytes: body.length }
    })
  }

  const update = (profile: string | null): Part[] => {
    const known = kept?.profile === profile ? kept : null
    const changed = known && catalog.changedSince(known.version)
    if (!known || !changed) return divide(profile)
    for (const part of known.parts)
      if ([...changed].some(ms => ms > part.after && ms <= part.upTo))
        part.body = catalog.span(profile, part.after, part.upTo)
    return known.parts.some(
      ({ body, madeBytes }) => body.length > Math.max(MAX_PART_BYTES, 2 * madeBytes),
    )
      ? divide(profile)
      : known.parts
  }

  return {
    /** Rows of a profile, or of all, newest first: the text of a JSON array. */
    read(profile: string | null): Buffer[] {
      for (;;) {
        const { version } = catalog
        const parts = update(profile)
        kept = { profile, version, parts }
        // Another version: the database was replaced while it was read.
        if (catalog.version === version) break
        kept = null
      }
      const filled = kept.parts.map(({ body }) => body).filter(({ length }) => length > 0)
      const text = filled.flatMap((body, at) => (at === 0 ? [body] : [COMMA, body]))
      return [Buffer.from('['), ...text, Buffer.from(']')]
    },
    drop(): void {
      kept = null
    },
  }
}
