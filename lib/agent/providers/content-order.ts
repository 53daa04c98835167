/** Puts what a provider wants carried back where it was said: between which words and before which calls. */
import { asCount, asObject, isObject, type JsonObject } from '../../base/json.ts'
import type { ProviderState } from '../types.ts'

/** One carried item, and how much of its message had been said before it. */
export type PositionedItem = { item: JsonObject; chars: number; calls: number }

/** Our own, but opaque on its way through the loop. Calls are counted as they are sent: doubles were dropped. */
export const readPositionedItems = (providerState: ProviderState | undefined): PositionedItem[] =>
  (providerState?.items ?? []).flatMap(entry => {
    const { item, chars, calls } = asObject(entry)
    if (!isObject(item)) return []
    const before = asCount(calls)
    const kept =
      providerState?.callSources?.filter(([first = 0]) => first < before).length ?? before
    return [{ item, chars: asCount(chars), calls: kept }]
  })

/** Carried items of a later part of an answer, counted from the beginning of the whole. */
export const shiftPositions = (
  items: readonly unknown[],
  chars: number,
  calls: number,
): unknown[] =>
  items.map(entry =>
    isObject(entry)
      ? { ...entry, chars: asCount(entry.chars) + chars, calls: asCount(entry.calls) + calls }
      : entry,
  )

export type ContentPiece<Call> = { text: string } | { item: JsonObject } | { call: Call }

/** The pieces of an assistant message in the order in which the provider said them; blank text is left out. */
export const inContentOrder = <Call>(
  text: string,
  placed: readonly PositionedItem[],
  calls: readonly Call[],
): ContentPiece<Call>[] => {
  const pieces: ContentPiece<Call>[] = []
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
