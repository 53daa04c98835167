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
import type { ProviderState } from '../types.ts'

/** Reasoning fields beside the content, the last two of GitHub Copilot. Reasoning is returned under the name it was received. */
export const FIELDS = [
  'reasoning_content',
  'reasoning',
  'reasoning_text',
  'reasoning_opaque',
] as const
export type Field = (typeof FIELDS)[number]

type ContentPart = { type: string; [key: string]: unknown }

export type ReturnedFields = {
  content?: string | ContentPart[]
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
    ...(whole !== content && { content: whole as string | ContentPart[] }),
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
const contentOf = (items: readonly JsonObject[], content: string): string | ContentPart[] => {
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
  const entries = Object.entries(asObject(items.at(-1)?.ids))
  const newIdOf = (id: unknown): string | undefined => {
    const place = Number(entries.find(([, oldId]) => oldId === id)?.[0] ?? -1)
    return calls.find((_, at) => (providerState.callSources?.[at] ?? [at]).includes(place))?.id
  }
  return details.map(detail => {
    const id = newIdOf(detail.id)
    return id === undefined ? detail : { ...detail, id }
  })
}
