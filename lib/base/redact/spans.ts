/** Finds secrets in a text, known values and known formats, in one pass. */
import { createAutomaton, type Word } from './automaton.ts'
import { begins, SHAPES, type Shape } from './shapes.ts'
import { spellingsOf } from './spellings.ts'

/** `as` replaces the text; if absent, the mask depends on the length. */
export type Span = { from: number; to: number; as?: string; isKnown: boolean }

export type Analysis = {
  /** Ordered, without overlaps. */
  spans: Span[]
  /** Index from which text may still become part of a secret; the text length if none may. */
  pending: number
}

/** Leading characters of a long secret that its mask shows; a stream can emit them at once. */
export const SHOWN_FIRST = 6
export const SHORTEST_SHOWN = 18

/** Splitting an escape sequence would break the surrounding JSON. */
export const isCuttable = (part: string): boolean => !/["\\]/.test(part)

/** Shortest secret, in characters, that matches with white space inside. */
const MIN_BROKEN_CHARS = 12

type Tag = { shape: Shape | null; length: number }

const wordsOf = (secrets: readonly string[]): Word<Tag>[] =>
  secrets.flatMap(spellingsOf).map(text => ({
    text,
    waits:
      text.length < SHORTEST_SHOWN || !isCuttable(text.slice(0, SHOWN_FIRST)) ? 0 : SHOWN_FIRST,
    tag: { shape: null, length: text.length },
  }))

const words = (secrets: readonly string[]): Word<Tag>[] => [
  ...wordsOf(secrets),
  ...SHAPES.flatMap(shape =>
    shape.words.map(text => ({
      text,
      waits: shape.waits ? ('whole' as const) : ('never' as const),
      tag: { shape, length: text.length },
    })),
  ),
]

/** Merges overlapping spans; the one that starts first decides the mask. */
export const merged = (overlapping: Span[]): Span[] => {
  const spans: Span[] = []
  for (const span of overlapping.toSorted((a, b) => a.from - b.from || b.to - a.to)) {
    const last = spans.at(-1)
    if (!last || span.from >= last.to) {
      spans.push({ ...span })
      continue
    }
    if (span.to > last.to) last.to = span.to
    last.isKnown ||= span.isKnown
    if (last.as === undefined && span.as !== undefined) last.as = span.as
  }
  return spans
}

/** Finds known values only: it scans a text about as fast as JSON is written. */
export class KnownFinder {
  readonly #automaton

  constructor(secrets: readonly string[]) {
    this.#automaton = secrets.length === 0 ? null : createAutomaton(wordsOf(secrets), begins)
  }

  find(text: string): readonly Span[] {
    const spans: Span[] = []
    this.#automaton?.scan(text, (from, to, { length }) => {
      if (to - from === length || length >= MIN_BROKEN_CHARS)
        spans.push({ from, to, isKnown: true })
    })
    return spans.length > 1 ? merged(spans) : spans
  }
}

/** Finds known values and known formats. */
export class Finder {
  readonly #automaton

  constructor(secrets: readonly string[]) {
    this.#automaton = createAutomaton(words(secrets), begins)
  }

  /** `final`: the text is complete; otherwise an open end is pending. */
  analyze(text: string, final: boolean): Analysis {
    const matches: Span[] = []
    let pending = text.length
    const waiting = this.#automaton.scan(text, (from, to, { shape, length }) => {
      if (!shape) {
        const isBroken = to - from !== length
        if (!isBroken || length >= MIN_BROKEN_CHARS) matches.push({ from, to, isKnown: true })
        return
      }
      if (to - from !== length) return
      const matched = shape.match(text, from, to, final)
      if (matched === null) return
      if ('pending' in matched) pending = Math.min(pending, matched.pending)
      else matches.push({ ...matched, isKnown: false })
    })
    const spans = matches.length > 1 ? merged(matches) : matches
    if (final) return { spans, pending: text.length }
    pending = Math.min(pending, waiting)
    // A span that reaches into the pending part may still grow.
    for (const span of spans) if (span.from < pending && pending < span.to) pending = span.from
    return { spans, pending }
  }

  /** Start indexes of possible secrets, also for JSON text. */
  suspects(text: string): number[] {
    const offsets: number[] = []
    this.#automaton.scan(text, (from, to, { shape, length }) => {
      if (shape) {
        if (to - from !== length) return
        shape.maybe.lastIndex = to
        if (!shape.maybe.test(text)) return
      }
      offsets.push(from)
    })
    return offsets.toSorted((a, b) => a - b)
  }
}
