/** Reasoning that chat endpoints require back within the turn: text, details, and signatures on calls. */
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

/** Fields of `reasoning_details` that arrive in fragments. */
const GROWING = ['text', 'summary', 'data'] as const

const grow = (known: JsonObject, piece: JsonObject): void => {
  for (const [key, value] of Object.entries(piece)) {
    const grows = GROWING.some(name => name === key)
    if (grows) known[key] = asString(known[key]) + asString(value)
    else if (value !== null && value !== undefined) known[key] = value
  }
}

/** A signed block of Claude behind LiteLLM: its text arrives in fragments, the last one with the signature. */
const addBlock = (blocks: JsonObject[], piece: JsonObject): void => {
  const last = blocks.at(-1)
  if (last?.type !== 'thinking' || piece.type !== 'thinking' || asString(last.signature) !== '')
    blocks.push({ ...piece })
  else {
    last.thinking = asString(last.thinking) + asString(piece.thinking)
    last.signature = asString(piece.signature)
  }
}

/** Reasoning fields beside the content, the last two of GitHub Copilot. Reasoning is returned under the name it was received. */
const FIELDS = ['reasoning_content', 'reasoning', 'reasoning_text', 'reasoning_opaque'] as const
type Field = (typeof FIELDS)[number]

/** Collects provider state from the deltas of one response. */
export const createReasoningCollector = () => {
  const details: JsonObject[] = []
  const blocks: JsonObject[] = []
  const marks = new Map<number, JsonObject>()
  const ids = new Map<number, string>()
  const thoughts: Partial<Record<Field, string>> = {}
  let part = ''
  return {
    /** Adds the fields of one delta. `thought` is reasoning from a part of the content. */
    think(delta: JsonObject, thought: string): void {
      for (const field of FIELDS)
        if (asString(delta[field]) !== '')
          thoughts[field] = (thoughts[field] ?? '') + asString(delta[field])
      part += thought
      for (const piece of asObjects(delta.thinking_blocks)) addBlock(blocks, piece)
      for (const piece of asObjects(delta.reasoning_details)) {
        const last = details.at(-1)
        const isSame = last?.type === piece.type && last?.index === piece.index
        if (last && isSame && piece.index !== undefined) grow(last, piece)
        else details.push({ ...piece })
      }
    },
    mark(call: number, id: string, extra: unknown): void {
      if (id !== '') ids.set(call, id)
      if (isObject(extra)) marks.set(call, { ...marks.get(call), ...extra })
    },
    /** `inline`: reasoning before the text, including its tags. */
    end(inline: string): ProviderDelta[] {
      const isEmpty =
        details.length + blocks.length + marks.size + Object.keys(thoughts).length === 0
      if (isEmpty && inline === '' && part === '') return []
      const item = { details, blocks, marks: Object.fromEntries(marks), thoughts, part, inline }
      const ofCalls = details.some(({ id }) => id) ? { ids: Object.fromEntries(ids) } : {}
      return [{ type: 'provider_state', item: { ...item, ...ofCalls, chars: 0, calls: 0 } }]
    },
  }
}

type Part = { type: string; [key: string]: unknown }

export type ReturnedFields = {
  content?: string | Part[]
  tool_calls?: ToolCall[]
  reasoning_content?: string
  reasoning?: string
  reasoning_text?: string
  reasoning_opaque?: string
  reasoning_details?: JsonObject[]
  thinking_blocks?: JsonObject[]
}

export type ReturnOptions = {
  /** Return reasoning text. */
  thoughts: boolean
  /** Return details and signatures, too. */
  details: boolean
}

/** The fields to add or replace when a message is returned to the endpoint that produced it. */
export const returnedFields = (
  providerState: ProviderState | undefined,
  { content, tool_calls }: { content: unknown; tool_calls?: readonly ToolCall[] },
  shape: ReturnOptions,
): ReturnedFields => {
  if (!providerState) return {}
  const items = providerState.items.map(asObject)
  const details = shape.details ? items.flatMap(item => asObjects(item.details)) : []
  const blocks = shape.details ? items.flatMap(item => asObjects(item.blocks)) : []
  const thoughts = shape.thoughts ? thoughtsOf(items, details.length > 0) : {}
  const whole = shape.thoughts && typeof content === 'string' ? contentOf(items, content) : content
  return {
    ...(whole !== content && { content: whole as string | Part[] }),
    ...thoughts,
    ...(tool_calls && shape.details && { tool_calls: marked(tool_calls, items, providerState) }),
    ...(details.length > 0 && {
      reasoning_details: withNewIds(details, items, providerState, tool_calls ?? []),
    }),
    ...(blocks.length > 0 && { thinking_blocks: blocks }),
  }
}

/** Details include the content of `reasoning`. */
const thoughtsOf = (items: readonly JsonObject[], hasDetails: boolean): ReturnedFields =>
  Object.fromEntries(
    FIELDS.filter(field => field !== 'reasoning' || !hasDetails).flatMap(field => {
      const joined = items.map(item => asString(asObject(item.thoughts)[field])).join('')
      return joined === '' ? [] : [[field, joined]]
    }),
  )

/** Restores reasoning that was part of the content: as tags before the text, or as parts. */
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

/** In a continued response, the last part contains the calls. */
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

/** Encrypted details carry the id of their call, which `normalizeCalls` may have replaced. */
const withNewIds = (
  details: readonly JsonObject[],
  items: readonly JsonObject[],
  providerState: ProviderState,
  calls: readonly ToolCall[],
): JsonObject[] => {
  const given = Object.entries(asObject(items.at(-1)?.ids))
  const newIdOf = (id: unknown): string | undefined => {
    const place = Number(given.find(([, known]) => known === id)?.[0] ?? -1)
    return calls.find((_, at) => (providerState.callSources?.[at] ?? [at]).includes(place))?.id
  }
  return details.map(detail => {
    const id = newIdOf(detail.id)
    return id === undefined ? detail : { ...detail, id }
  })
}
