/** Reads responses of the format `anthropic_messages`, streamed or whole, into deltas. */
import {
  asCount,
  asObject,
  asObjects,
  asString,
  isObject,
  type JsonObject,
} from '../../base/json.ts'
import { parseArguments } from '../tool-calls.ts'
import type { ProviderDelta } from '../types.ts'
import { type ResponseReader, throwErrorIn } from './stream-request.ts'
import type { PositionedItem } from './content-order.ts'

type Finish = Extract<ProviderDelta, { type: 'finish' }>['reason']

/** `pause_turn` is continued like a response that reached the length limit. */
const REASONS: Readonly<Record<string, Finish>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  pause_turn: 'length',
  model_context_window_exceeded: 'window_full',
  refusal: 'content_filter',
}

/** A content block that is being received. */
type Open =
  | { kind: 'text' }
  | { kind: 'call'; index: number; input: JsonObject; written: boolean }
  | { kind: 'thought'; placed: PositionedItem }

export const createAnthropicReader = (): ResponseReader => {
  const open = new Map<unknown, Open>()
  const usage: JsonObject = {}
  let stop: string | null = null
  let isComplete = false
  let chars = 0
  let calls = 0

  const addText = (words: string): ProviderDelta[] => {
    chars += words.length
    return words === '' ? [] : [{ type: 'text', text: words }]
  }

  const addReasoning = (words: string): ProviderDelta[] =>
    words === '' ? [] : [{ type: 'reasoning', text: words }]

  const openBlock = (index: unknown, block: JsonObject): ProviderDelta[] => {
    if (block.type === 'text') {
      open.set(index, { kind: 'text' })
      return addText(asString(block.text))
    }
    if (block.type === 'tool_use') {
      const call = {
        kind: 'call' as const,
        index: calls++,
        // Some gateways encode the object.
        input:
          typeof block.input === 'string'
            ? (parseArguments(block.input) ?? {})
            : asObject(block.input),
        written: false,
      }
      open.set(index, call)
      return [
        {
          type: 'tool_call',
          index: call.index,
          id: asString(block.id),
          name: asString(block.name),
        },
      ]
    }
    if (block.type === 'thinking' || block.type === 'redacted_thinking') {
      open.set(index, { kind: 'thought', placed: { item: { ...block }, chars, calls } })
      return addReasoning(asString(block.thinking))
    }
    return []
  }

  const applyDelta = (block: Open | undefined, delta: JsonObject): ProviderDelta[] => {
    if (delta.type === 'text_delta') return addText(asString(delta.text))
    if (block?.kind === 'call' && delta.type === 'input_json_delta') {
      const piece = asString(delta.partial_json)
      if (piece === '') return []
      block.written = true
      return [{ type: 'tool_call', index: block.index, arguments: piece }]
    }
    if (block?.kind !== 'thought') return []
    const { item } = block.placed
    if (delta.type === 'signature_delta')
      item.signature = asString(item.signature) + asString(delta.signature)
    if (delta.type !== 'thinking_delta') return []
    item.thinking = asString(item.thinking) + asString(delta.thinking)
    return addReasoning(asString(delta.thinking))
  }

  const closeBlock = (index: unknown): ProviderDelta[] => {
    const block = open.get(index)
    open.delete(index)
    if (block?.kind === 'call' && !block.written && Object.keys(block.input).length > 0)
      return [{ type: 'tool_call', index: block.index, arguments: JSON.stringify(block.input) }]
    return block?.kind === 'thought' ? [{ type: 'provider_state', item: block.placed }] : []
  }

  /** The explanation of a refusal without text. */
  const explain = (details: unknown): ProviderDelta[] => {
    const words = asString(asObject(details).explanation)
    return stop === 'refusal' && chars === 0 && words !== ''
      ? [{ type: 'refusal', text: words }]
      : []
  }

  const end = (fieldsOfEnd: JsonObject): ProviderDelta[] => {
    stop = asString(fieldsOfEnd.stop_reason) || stop
    return explain(fieldsOfEnd.stop_details)
  }

  const readWhole = (message: JsonObject): ProviderDelta[] => {
    const deltas = asObjects(message.content).flatMap((block, index) => [
      ...openBlock(index, block),
      ...closeBlock(index),
    ])
    Object.assign(usage, asObject(message.usage))
    isComplete = true
    return [...deltas, ...end(message)]
  }

  const read = (event: unknown): ProviderDelta[] => {
    if (!isObject(event)) return []
    throwErrorIn(event)
    switch (event.type) {
      case 'message':
        return readWhole(event)
      case 'message_start':
        Object.assign(usage, asObject(asObject(event.message).usage))
        return []
      case 'content_block_start':
        return openBlock(event.index, asObject(event.content_block))
      case 'content_block_delta':
        return applyDelta(open.get(event.index), asObject(event.delta))
      case 'content_block_stop':
        return closeBlock(event.index)
      case 'message_delta':
        Object.assign(usage, known(asObject(event.usage)))
        return end(asObject(event.delta))
      case 'message_stop':
        isComplete = true
        return []
      default:
        return []
    }
  }

  return {
    read,
    progress: () => (isComplete ? 'complete' : stop === null ? 'streaming' : 'finished'),
    isIntact: () => open.size === 0 && chars + calls > 0,
    end() {
      const reason = stop === null ? undefined : (REASONS[stop] ?? 'other')
      return [
        ...usageOf(usage),
        { type: 'finish', reason: reason ?? (calls ? 'tool_calls' : 'stop') },
      ]
    },
  }
}

/** Final counts replace those of `message_start`; zeros and missing ones do not. */
const known = (usage: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(usage).filter(([, figure]) => asCount(figure) > 0))

/** Anthropic counts cached tokens separately; the whole prompt is the sum. */
const usageOf = (usage: JsonObject): ProviderDelta[] => {
  if (Object.keys(usage).length === 0) return []
  const read = asCount(usage.cache_read_input_tokens)
  const written = asCount(usage.cache_creation_input_tokens)
  return [
    {
      type: 'usage',
      inputTokens: asCount(usage.input_tokens) + read + written,
      outputTokens: asCount(usage.output_tokens),
      ...(read > 0 && { cacheReadTokens: read }),
      ...(written > 0 && { cacheWriteTokens: written }),
    },
  ]
}
