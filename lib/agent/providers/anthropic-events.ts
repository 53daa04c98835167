/** Reads the events of Anthropic's Messages, or the whole message of a server that does not stream, into deltas. */
import {
  asCount,
  asObject,
  asObjects,
  asString,
  isObject,
  type JsonObject,
} from '../../base/json.ts'
import { ProviderFailure } from '../failure.ts'
import type { ProviderDelta } from '../types.ts'
import type { ResponseReader } from './stream-request.ts'
import type { PositionedItem } from './content-order.ts'
import { streamFailure } from './stream-failure.ts'

type Finish = Extract<ProviderDelta, { type: 'finish' }>['reason']

/** A paused turn wants to be asked to go on, as one that reached its limit does. */
const REASONS: Readonly<Record<string, Finish>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  pause_turn: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
}

/** A block on its way: what it will be when it is whole. */
type Open =
  | { kind: 'text' }
  | { kind: 'call'; index: number; input: JsonObject; written: boolean }
  | { kind: 'thought'; placed: PositionedItem }

export const createAnthropicReader = (): ResponseReader => {
  const open = new Map<unknown, Open>()
  const figures: JsonObject = {}
  let stop: string | null = null
  let whole = false
  let chars = 0
  let calls = 0

  const say = (words: string): ProviderDelta[] => {
    chars += words.length
    return words === '' ? [] : [{ type: 'text', text: words }]
  }

  const think = (words: string): ProviderDelta[] =>
    words === '' ? [] : [{ type: 'reasoning', text: words }]

  const begin = (index: unknown, block: JsonObject): ProviderDelta[] => {
    if (block.type === 'text') {
      open.set(index, { kind: 'text' })
      return say(asString(block.text))
    }
    if (block.type === 'tool_use') {
      const call = {
        kind: 'call' as const,
        index: calls++,
        input: asObject(block.input),
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
      return think(asString(block.thinking))
    }
    return []
  }

  const extend = (block: Open | undefined, delta: JsonObject): ProviderDelta[] => {
    if (delta.type === 'text_delta') return say(asString(delta.text))
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
    return think(asString(delta.thinking))
  }

  const close = (index: unknown): ProviderDelta[] => {
    const block = open.get(index)
    open.delete(index)
    if (block?.kind === 'call' && !block.written && Object.keys(block.input).length > 0)
      return [{ type: 'tool_call', index: block.index, arguments: JSON.stringify(block.input) }]
    return block?.kind === 'thought' ? [{ type: 'provider_state', item: block.placed }] : []
  }

  /** The last words of a refusal, where the model itself said none. */
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
      ...begin(index, block),
      ...close(index),
    ])
    Object.assign(figures, asObject(message.usage))
    whole = true
    return [...deltas, ...end(message)]
  }

  const read = (event: unknown): ProviderDelta[] => {
    if (!isObject(event)) return []
    if (event.error) throw streamFailure(event.error)
    switch (event.type) {
      case 'message':
        return readWhole(event)
      case 'message_start':
        Object.assign(figures, asObject(asObject(event.message).usage))
        return []
      case 'content_block_start':
        return begin(event.index, asObject(event.content_block))
      case 'content_block_delta':
        return extend(open.get(event.index), asObject(event.delta))
      case 'content_block_stop':
        return close(event.index)
      case 'message_delta':
        Object.assign(figures, known(asObject(event.usage)))
        return end(asObject(event.delta))
      case 'message_stop':
        whole = true
        return []
      default:
        return []
    }
  }

  return {
    read,
    progress: () => (whole ? 'complete' : stop === null ? 'streaming' : 'finished'),
    isIntact: () => open.size === 0 && chars + calls > 0,
    end() {
      if (stop === 'model_context_window_exceeded' && chars + calls === 0)
        throw new ProviderFailure(
          'context_overflow',
          'The conversation fills the window of the model.',
        )
      const reason = stop === null ? undefined : (REASONS[stop] ?? 'other')
      return [
        ...usageOf(figures),
        { type: 'finish', reason: reason ?? (calls ? 'tool_calls' : 'stop') },
      ]
    },
  }
}

/** The figures at the end count for more than those at the start, but some are only there. */
const known = (usage: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(usage).filter(([, figure]) => asCount(figure) > 0))

/** What the cache served and took is told apart from the rest of the prompt: together they are the prompt. */
const usageOf = (figures: JsonObject): ProviderDelta[] => {
  if (Object.keys(figures).length === 0) return []
  const read = asCount(figures.cache_read_input_tokens)
  const written = asCount(figures.cache_creation_input_tokens)
  return [
    {
      type: 'usage',
      inputTokens: asCount(figures.input_tokens) + read + written,
      outputTokens: asCount(figures.output_tokens),
      ...(read > 0 && { cacheReadTokens: read }),
      ...(written > 0 && { cacheWriteTokens: written }),
    },
  ]
}
