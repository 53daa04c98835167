/** Positions of reasoning items within a message, so that they are returned between the same text and calls. */
import { asCount, asObject, isObject, type JsonObject } from '../../base/json.ts'
import type { ProviderState } from '../types.ts'

/** An item of the provider state, with the number of characters and calls before it in the message. */
export type PositionedItem = { item: JsonObject; chars: number; calls: number }

/** Parses items written by our readers. `calls` is adjusted for dropped duplicates. */
export const readPositionedItems = (providerState: ProviderState | undefined): PositionedItem[] =>
  (providerState?.items ?? []).flatMap(entry => {
    const { item, chars, calls } = asObject(entry)
    if (!isObject(item)) return []
    const before = asCount(calls)
    const callCount =
      providerState?.callSources?.filter(([first = 0]) => first < before).length ?? before
    return [{ item, chars: asCount(chars), calls: callCount }]
  })

/** Shifts the positions of a continuation's items by the length of the parts before it. */
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

/** Text, items and calls of an assistant message in their original order; blank text is omitted. */
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
