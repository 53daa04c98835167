/**
 * Finds partial secrets at the two ends of a text: a message that was truncated before masking may end inside a secret,
 * and the tail of an output may begin inside one. Costs two lookups per text.
 */
import { type Span, SHORTEST_SHOWN, SHOWN_FIRST, isCuttable } from './spans.ts'
import { isDistinctive } from './spellings.ts'

/** Fewer characters of a secret reveal no more than its mask does. */
const WINDOW = 8
const LONGEST = 4_096
const TRUNCATED_END = /(?:\.\.\.|…)$/
const TRUNCATED_START = /^(?:\.\.\.|…)/

type Occurrence = { secret: string; at: number }

/** A common prefix (`sk-proj-`) or a plain word reveals nothing. */
const isRevealing = (piece: string): boolean =>
  isDistinctive(piece) && (piece.length >= 12 || /\d/.test(piece))

/** Consistent with the start of the full mask. */
const maskOf = (secret: string): string => {
  const first = secret.slice(0, SHOWN_FIRST)
  return secret.length < SHORTEST_SHOWN || !isCuttable(first) ? '***' : `${first}...`
}

export class CutFinder {
  readonly #occurrences = new Map<string, Occurrence[]>()

  constructor(secrets: readonly string[]) {
    const spellings = secrets.flatMap(text => [text, JSON.stringify(text).slice(1, -1)])
    for (const secret of new Set(spellings)) {
      if (secret.length > LONGEST) continue
      for (let at = 0; at + WINDOW <= secret.length; at++) {
        const window = secret.slice(at, at + WINDOW)
        this.#occurrences.set(window, [...(this.#occurrences.get(window) ?? []), { secret, at }])
      }
    }
  }

  /** The start of a secret at the end of the text. */
  end(text: string): Span[] {
    const to = text.length - (TRUNCATED_END.exec(text)?.[0].length ?? 0)
    const candidates = this.#occurrences.get(text.slice(Math.max(0, to - WINDOW), to)) ?? []
    const spans = candidates.flatMap(({ secret, at }): Span[] => {
      const piece = secret.slice(0, at + WINDOW)
      const fits = piece.length < secret.length && text.endsWith(piece, to) && isRevealing(piece)
      return fits ? [{ from: to - piece.length, to, as: maskOf(secret), isKnown: false }] : []
    })
    return spans.toSorted((a, b) => a.from - b.from).slice(0, 1)
  }

  /** The end of a secret at the start of the text, or a text that is a part of a secret as a whole. */
  start(text: string): Span[] {
    const from = TRUNCATED_START.exec(text)?.[0].length ?? 0
    const candidates = this.#occurrences.get(text.slice(from, from + WINDOW)) ?? []
    const spans = candidates.flatMap(({ secret, at }): Span[] => {
      const rest = secret.slice(at)
      const piece = text.startsWith(rest, from) ? rest : text.slice(from)
      const fits = at > 0 && rest.startsWith(piece) && isRevealing(piece)
      return fits ? [{ from, to: from + piece.length, as: '***', isKnown: false }] : []
    })
    return spans.toSorted((a, b) => b.to - a.to).slice(0, 1)
  }
}
