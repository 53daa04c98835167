/** What some chat endpoints want back within the turn: details of the thinking, and marks on their calls. */
import type { ToolCall } from '../../schema/message.ts'
import type { Carry, ProviderDelta } from '../types.ts'
import { fields, isJson, type Json, list, text } from './json.ts'

/** Pieces of one detail come one after the other and are put together again. */
const GROWING = ['text', 'summary', 'data'] as const

const grow = (known: Json, piece: Json): void => {
  for (const [key, value] of Object.entries(piece)) {
    const grows = GROWING.some(name => name === key)
    if (grows) known[key] = text(known[key]) + text(value)
    else if (value !== null && value !== undefined) known[key] = value
  }
}

/** Gathers from the deltas of one answer. Who sends such things is the one who understands them. */
export const createKeepsake = () => {
  const details: Json[] = []
  const marks = new Map<number, Json>()
  return {
    think(pieces: unknown): void {
      for (const piece of list(pieces)) {
        const last = details.at(-1)
        const isSame = last?.type === piece.type && last?.index === piece.index
        if (last && isSame && piece.index !== undefined) grow(last, piece)
        else details.push({ ...piece })
      }
    },
    mark(call: number, extra: unknown): void {
      if (isJson(extra)) marks.set(call, { ...marks.get(call), ...extra })
    },
    end(): ProviderDelta[] {
      if (details.length === 0 && marks.size === 0) return []
      return [{ type: 'carry', item: { details, marks: Object.fromEntries(marks) } }]
    },
  }
}

export type Returned = {
  tool_calls?: ToolCall[]
  reasoning_details?: Json[]
}

/** The keys of a message that change when it goes back to where it came from. */
export const returned = (
  carry: Carry | undefined,
  calls: readonly ToolCall[] | undefined,
): Returned => {
  const items = (carry?.items ?? []).map(fields)
  const details = items.flatMap(item => list(item.details))
  // An answer of several parts has its calls in the last.
  const marks = fields(items.at(-1)?.marks)
  return {
    ...(calls && {
      tool_calls: calls.map((call, at) => {
        const extra = marks[at]
        return isJson(extra) ? { ...call, extra_content: extra } : call
      }),
    }),
    ...(details.length > 0 && { reasoning_details: details }),
  }
}
