/**
 * The rest of a secret where a text was cut: a message that was shortened before it was masked ends in the middle of one,
 * the last lines of an output begin in one. Only the two ends of a text are looked at, so that it costs two look-ups.
 */
import { type Span, SHORTEST_SHOWN, SHOWN_FIRST, isCuttable } from './spans.ts'
import { isDistinctive } from './spellings.ts'

/** Fewer characters of a secret tell as much as its mask does. */
const WINDOW = 8
const LONGEST = 4_096
const CUT_BEHIND = /(?:\.\.\.|…)$/
const CUT_BEFORE = /^(?:\.\.\.|…)/

type Place = { secret: string; at: number }

/** The beginning of a key (`sk-proj-`) or a word is no part of a secret that anybody has to hide. */
const isTelling = (piece: string): boolean =>
  isDistinctive(piece) && (piece.length >= 12 || /\d/.test(piece))

/** As the mask of the whole begins. */
const maskOf = (secret: string): string => {
  const first = secret.slice(0, SHOWN_FIRST)
  return secret.length < SHORTEST_SHOWN || !isCuttable(first) ? '***' : `${first}...`
}

export type CutFinder = ReturnType<typeof createCutFinder>

export const createCutFinder = (secrets: readonly string[]) => {
  const places = new Map<string, Place[]>()
  const spellings = secrets.flatMap(text => [text, JSON.stringify(text).slice(1, -1)])
  for (const secret of new Set(spellings)) {
    if (secret.length > LONGEST) continue
    for (let at = 0; at + WINDOW <= secret.length; at++) {
      const window = secret.slice(at, at + WINDOW)
      places.set(window, [...(places.get(window) ?? []), { secret, at }])
    }
  }

  return {
    /** A beginning at the end of the text. */
    end(text: string): Span[] {
      const to = text.length - (CUT_BEHIND.exec(text)?.[0].length ?? 0)
      const found = places.get(text.slice(Math.max(0, to - WINDOW), to)) ?? []
      const spans = found.flatMap(({ secret, at }): Span[] => {
        const piece = secret.slice(0, at + WINDOW)
        const fits = piece.length < secret.length && text.endsWith(piece, to) && isTelling(piece)
        return fits ? [{ from: to - piece.length, to, as: maskOf(secret), known: false }] : []
      })
      return spans.toSorted((a, b) => a.from - b.from).slice(0, 1)
    },
    /** An end at the beginning of the text; or the text as a whole is a part of a secret. */
    start(text: string): Span[] {
      const from = CUT_BEFORE.exec(text)?.[0].length ?? 0
      const found = places.get(text.slice(from, from + WINDOW)) ?? []
      const spans = found.flatMap(({ secret, at }): Span[] => {
        const rest = secret.slice(at)
        const piece = text.startsWith(rest, from) ? rest : text.slice(from)
        const fits = at > 0 && rest.startsWith(piece) && isTelling(piece)
        return fits ? [{ from, to: from + piece.length, as: '***', known: false }] : []
      })
      return spans.toSorted((a, b) => b.to - a.to).slice(0, 1)
    },
  }
}
