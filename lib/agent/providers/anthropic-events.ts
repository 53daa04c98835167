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
import { pieceOf, ResponseReader, throwErrorIn } from './stream-request.ts'
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
type OpenBlock =
  | { kind: 'text' }
  | { kind: 'call'; index: number; input: JsonObject; streams: boolean }
  | { kind: 'thought'; placed: PositionedItem }

export class AnthropicReader extends ResponseReader {
  readonly #open = new Map<unknown, OpenBlock>()
  readonly #counts: JsonObject = {}
  #stop: string | null = null
  #isComplete = false

  read(event: unknown): ProviderDelta[] {
    if (!isObject(event)) return []
    throwErrorIn(event)
    switch (event.type) {
      case 'message':
        return this.#readWhole(event)
      case 'message_start':
        Object.assign(this.#counts, asObject(asObject(event.message).usage))
        return []
      case 'content_block_start':
        return this.#openBlock(event.index, asObject(event.content_block))
      case 'content_block_delta':
        return this.#applyDelta(this.#open.get(event.index), asObject(event.delta))
      case 'content_block_stop':
        return this.#closeBlock(event.index)
      case 'message_delta':
        Object.assign(this.#counts, positiveCounts(asObject(event.usage)))
        return this.#stopped(asObject(event.delta))
      case 'message_stop':
        this.#isComplete = true
        return []
      default:
        return []
    }
  }

  progress() {
    return this.#isComplete ? 'complete' : this.#stop === null ? 'streaming' : 'finished'
  }

  isIntact(): boolean {
    return this.#open.size === 0 && this.chars + this.calls > 0
  }

  override end(): ProviderDelta[] {
    this.usage = usageOf(this.#counts)
    this.finish = this.#stop === null ? null : (REASONS[this.#stop] ?? 'other')
    return super.end()
  }

  #addText(words: string): ProviderDelta[] {
    this.chars += words.length
    return pieceOf('text', words)
  }

  #openBlock(index: unknown, block: JsonObject): ProviderDelta[] {
    const { chars, calls } = this
    switch (block.type) {
      case 'text':
        this.#open.set(index, { kind: 'text' })
        return this.#addText(asString(block.text))
      case 'tool_use': {
        // Some gateways encode the object.
        const input =
          typeof block.input === 'string' ? parseArguments(block.input) : asObject(block.input)
        this.#open.set(index, { kind: 'call', index: calls, input: input ?? {}, streams: false })
        this.calls++
        return [
          { type: 'tool_call', index: calls, id: asString(block.id), name: asString(block.name) },
        ]
      }
      case 'thinking':
      case 'redacted_thinking':
        this.#open.set(index, { kind: 'thought', placed: { item: { ...block }, chars, calls } })
        return pieceOf('reasoning', asString(block.thinking))
      default:
        return []
    }
  }

  #applyDelta(block: OpenBlock | undefined, delta: JsonObject): ProviderDelta[] {
    if (delta.type === 'text_delta') return this.#addText(asString(delta.text))
    if (block?.kind === 'call' && delta.type === 'input_json_delta') {
      const piece = asString(delta.partial_json)
      if (piece === '') return []
      block.streams = true
      return [{ type: 'tool_call', index: block.index, arguments: piece }]
    }
    if (block?.kind !== 'thought') return []
    const { item } = block.placed
    if (delta.type === 'signature_delta')
      item.signature = asString(item.signature) + asString(delta.signature)
    if (delta.type !== 'thinking_delta') return []
    item.thinking = asString(item.thinking) + asString(delta.thinking)
    return pieceOf('reasoning', asString(delta.thinking))
  }

  #closeBlock(index: unknown): ProviderDelta[] {
    const block = this.#open.get(index)
    this.#open.delete(index)
    if (block?.kind === 'call' && !block.streams && Object.keys(block.input).length > 0)
      return [{ type: 'tool_call', index: block.index, arguments: JSON.stringify(block.input) }]
    return block?.kind === 'thought' ? [{ type: 'provider_state', item: block.placed }] : []
  }

  /** Returns the explanation of a refusal without text. */
  #stopped({ stop_reason, stop_details }: JsonObject): ProviderDelta[] {
    this.#stop = asString(stop_reason) || this.#stop
    const isRefusal = this.#stop === 'refusal' && this.chars === 0
    return isRefusal ? pieceOf('refusal', asString(asObject(stop_details).explanation)) : []
  }

  #readWhole(message: JsonObject): ProviderDelta[] {
    const deltas = asObjects(message.content).flatMap((block, index) => [
      ...this.#openBlock(index, block),
      ...this.#closeBlock(index),
    ])
    Object.assign(this.#counts, asObject(message.usage))
    this.#isComplete = true
    return [...deltas, ...this.#stopped(message)]
  }
}

/** Final counts replace those of `message_start`; zeros and missing ones do not. */
const positiveCounts = (usage: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(usage).filter(([, figure]) => asCount(figure) > 0))

/** Anthropic counts cached tokens separately; the whole prompt is the sum. */
const usageOf = (counts: JsonObject) => {
  if (Object.keys(counts).length === 0) return null
  const cacheReads = asCount(counts.cache_read_input_tokens)
  const cacheWrites = asCount(counts.cache_creation_input_tokens)
  return {
    type: 'usage' as const,
    inputTokens: asCount(counts.input_tokens) + cacheReads + cacheWrites,
    outputTokens: asCount(counts.output_tokens),
    ...(cacheReads > 0 && { cacheReadTokens: cacheReads }),
    ...(cacheWrites > 0 && { cacheWriteTokens: cacheWrites }),
  }
}
