/** Where secrets stand in a text: those known by value and those known by shape, found in one pass. */
import { createAutomaton, type Word } from './automaton.ts'
import { begins, SHAPES, type Shape } from './shapes.ts'
import { spellingsOf } from './spellings.ts'

/** `as` is written in its place; absent, what the length of the text asks for. */
export type Span = { from: number; to: number; as?: string; known: boolean }

export type Analysis = {
  /** In order, none overlaps another. */
  spans: Span[]
  /** What stands from here on may still become part of a secret; the length of the text when nothing may. */
  pending: number
}

/** A mask begins with so many characters of a long secret: a stream need not wait for them. */
export const SHOWN_FIRST = 6
export const SHORTEST_SHOWN = 18

/** Cut in two, an escape would break the JSON text it stands in. */
export const isCuttable = (part: string): boolean => !/["\\]/.test(part)

/** How long a secret has to be to be found with white space inside. */
const SHORTEST_BROKEN = 12

type Tag = { shape: Shape | null; length: number }

const words = (secrets: readonly string[]): Word<Tag>[] => [
  ...secrets.flatMap(spellingsOf).map(text => ({
    text,
    waits:
      text.length < SHORTEST_SHOWN || !isCuttable(text.slice(0, SHOWN_FIRST)) ? 0 : SHOWN_FIRST,
    tag: { shape: null, length: text.length },
  })),
  ...SHAPES.flatMap(shape =>
    shape.words.map(text => ({
      text,
      waits: shape.waits ? ('whole' as const) : ('never' as const),
      tag: { shape, length: text.length },
    })),
  ),
]

/** Two that overlap are one: what hid the more says how. */
export const merged = (found: Span[]): Span[] => {
  const spans: Span[] = []
  for (const span of found.toSorted((a, b) => a.from - b.from || b.to - a.to)) {
    const last = spans.at(-1)
    if (!last || span.from >= last.to) {
      spans.push({ ...span })
      continue
    }
    if (span.to > last.to) last.to = span.to
    last.known ||= span.known
    if (last.as === undefined && span.as !== undefined) last.as = span.as
  }
  return spans
}

export type Finder = ReturnType<typeof createFinder>

export const createFinder = (secrets: readonly string[]) => {
  const automaton = createAutomaton(words(secrets), begins)

  return {
    /** `final`: nothing follows; otherwise what the end of the text leaves open is pending. */
    analyze(text: string, final: boolean): Analysis {
      const found: Span[] = []
      let pending = text.length
      const waiting = automaton.scan(text, (from, to, { shape, length }) => {
        if (!shape) {
          const isBroken = to - from !== length
          if (!isBroken || length >= SHORTEST_BROKEN) found.push({ from, to, known: true })
          return
        }
        if (to - from !== length) return
        const judged = shape.judge(text, from, to, final)
        if (judged === null) return
        if ('pending' in judged) pending = Math.min(pending, judged.pending)
        else found.push({ ...judged, known: false })
      })
      const spans = found.length > 1 ? merged(found) : found
      if (final) return { spans, pending: text.length }
      pending = Math.min(pending, waiting)
      // A span that what follows may still lengthen is no span yet.
      for (const span of spans) if (span.from < pending && pending < span.to) pending = span.from
      return { spans, pending }
    },

    /** Places at which something may have to be hidden, of JSON text as well. */
    suspects(text: string): number[] {
      const places: number[] = []
      automaton.scan(text, (from, to, { shape, length }) => {
        if (shape) {
          if (to - from !== length) return
          shape.maybe.lastIndex = to
          if (!shape.maybe.test(text)) return
        }
        places.push(from)
      })
      return places.toSorted((a, b) => a - b)
    },
  }
}
