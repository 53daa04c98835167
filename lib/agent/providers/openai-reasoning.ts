/** What some chat endpoints want back within the turn: what was thought, details of it, and marks on their calls. */
import {
  asCount,
  asObject,
  asObjects,
  asString,
  isObject,
  type JsonObject,
} from '../../base/json.ts'
import type { ToolCall } from '../../schema/message.ts'
import type { ProviderState, ProviderDelta } from '../types.ts'

/** Pieces of one detail come one after the other and are put together again. */
const GROWING = ['text', 'summary', 'data'] as const

const grow = (known: JsonObject, piece: JsonObject): void => {
  for (const [key, value] of Object.entries(piece)) {
    const grows = GROWING.some(name => name === key)
    if (grows) known[key] = asString(known[key]) + asString(value)
    else if (value !== null && value !== undefined) known[key] = value
  }
}

/** Where servers put a thought beside the content. It goes back under the name it came in. */
const FIELDS = ['reasoning_content', 'reasoning'] as const
type Field = (typeof FIELDS)[number]

/** Gathers from the deltas of one answer. Who sends such things is the one who understands them. */
export const createReasoningCollector = () => {
  const details: JsonObject[] = []
  const marks = new Map<number, JsonObject>()
  const thoughts: Partial<Record<Field, string>> = {}
  let part = ''
  return {
    /** The fields of one delta. `thought` stood in the content, as a part of its own. */
    think(delta: JsonObject, thought: string): void {
      for (const field of FIELDS)
        if (asString(delta[field]) !== '')
          thoughts[field] = (thoughts[field] ?? '') + asString(delta[field])
      part += thought
      for (const piece of asObjects(delta.reasoning_details)) {
        const last = details.at(-1)
        const isSame = last?.type === piece.type && last?.index === piece.index
        if (last && isSame && piece.index !== undefined) grow(last, piece)
        else details.push({ ...piece })
      }
    },
    mark(call: number, extra: unknown): void {
      if (isObject(extra)) marks.set(call, { ...marks.get(call), ...extra })
    },
    /** `inline`: what stood in front of the text, tags and all. */
    end(inline: string): ProviderDelta[] {
      const isEmpty = details.length + marks.size + Object.keys(thoughts).length === 0
      if (isEmpty && inline === '' && part === '') return []
      const item = { details, marks: Object.fromEntries(marks), thoughts, part, inline }
      return [{ type: 'provider_state', item: { ...item, chars: 0, calls: 0 } }]
    },
  }
}

type Part = { type: string; [key: string]: unknown }

export type ReturnedFields = {
  content?: string | Part[]
  tool_calls?: ToolCall[]
  reasoning_content?: string
  reasoning?: string
  reasoning_details?: JsonObject[]
}

export type ReturnOptions = {
  /** What was thought goes back. */
  thoughts: boolean
  /** Details and marks, too. */
  details: boolean
}

/** The keys of a message that change when it goes back to where it came from. */
export const returnedFields = (
  providerState: ProviderState | undefined,
  { content, tool_calls }: { content: unknown; tool_calls?: readonly ToolCall[] },
  shape: ReturnOptions,
): ReturnedFields => {
  if (!providerState) return {}
  const items = providerState.items.map(asObject)
  const details = shape.details ? items.flatMap(item => asObjects(item.details)) : []
  const thoughts = shape.thoughts ? thoughtsOf(items, details.length > 0) : {}
  const whole = shape.thoughts && typeof content === 'string' ? contentOf(items, content) : content
  return {
    ...(whole !== content && { content: whole as string | Part[] }),
    ...thoughts,
    ...(tool_calls && shape.details && { tool_calls: marked(tool_calls, items, providerState) }),
    ...(details.length > 0 && { reasoning_details: details }),
  }
}

/** Details say the same as `reasoning`, and more. */
const thoughtsOf = (items: readonly JsonObject[], hasDetails: boolean): ReturnedFields =>
  Object.fromEntries(
    FIELDS.filter(field => field !== 'reasoning' || !hasDetails).flatMap(field => {
      const said = items.map(item => asString(asObject(item.thoughts)[field])).join('')
      return said === '' ? [] : [[field, said]]
    }),
  )

/** The text with the thoughts that stood in it: as tags in front of it, or as parts of a list. */
const contentOf = (items: readonly JsonObject[], content: string): string | Part[] => {
  const part = items.map(item => asString(item.part)).join('')
  if (part !== '')
    return [
      { type: 'thinking', thinking: [{ type: 'text', text: part }] },
      ...(content === '' ? [] : [{ type: 'text', text: content }]),
    ]
  let whole = ''
  let from = 0
  for (const item of items) {
    const at = Math.max(from, asCount(item.chars))
    whole += content.slice(from, at) + asString(item.inline)
    from = at
  }
  return whole + content.slice(from)
}

/** An answer of several parts has its calls in the last. */
const marked = (
  calls: readonly ToolCall[],
  items: readonly JsonObject[],
  providerState: ProviderState,
): ToolCall[] => {
  const marks = asObject(items.at(-1)?.marks)
  return calls.map((call, at) => {
    const places = providerState.callSources?.[at] ?? [at]
    const extra = places.map(place => marks[place]).find(isObject)
    return extra ? { ...call, extra_content: extra } : call
  })
}
