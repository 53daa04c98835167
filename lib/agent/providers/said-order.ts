/** Puts what a provider wants carried back where it was said: between which words and before which calls. */
import type { Carry } from '../types.ts'
import { count, fields, isJson, type Json } from './json.ts'

/** One carried item, and how much of its message had been said before it. */
export type Placed = { item: Json; chars: number; calls: number }

/** Our own, but opaque on its way through the loop. */
export const readPlaced = (carry: Carry | undefined): Placed[] =>
  (carry?.items ?? []).flatMap(entry => {
    const { item, chars, calls } = fields(entry)
    return isJson(item) ? [{ item, chars: count(chars), calls: count(calls) }] : []
  })

export type SaidPiece<Call> = { text: string } | { item: Json } | { call: Call }

/** The pieces of an assistant message in the order in which the provider said them; blank text is left out. */
export const inSaidOrder = <Call>(
  text: string,
  placed: readonly Placed[],
  calls: readonly Call[],
): SaidPiece<Call>[] => {
  const pieces: SaidPiece<Call>[] = []
  let chars = 0
  let called = 0
  const upTo = (toChars: number, toCalls: number) => {
    const words = text.slice(chars, toChars)
    if (words.trim() !== '') pieces.push({ text: words })
    for (const call of calls.slice(called, toCalls)) pieces.push({ call })
    chars = Math.max(chars, toChars)
    called = Math.max(called, toCalls)
  }
  for (const { item, chars: toChars, calls: toCalls } of placed) {
    upTo(toChars, toCalls)
    pieces.push({ item })
  }
  upTo(text.length, calls.length)
  return pieces
}
