/** Reads responses of the format `codex_responses`, streamed or whole, into deltas. */
import {
  asCount,
  asObject,
  asObjects,
  asString,
  isObject,
  type JsonObject,
} from '../../base/json.ts'
import { classify } from '../failure.ts'
import type { ProviderDelta } from '../types.ts'
import {
  pieceOf,
  ResponseReader,
  streamFailure,
  throwErrorIn,
  withReasoning,
} from './stream-request.ts'

type Finish = Extract<ProviderDelta, { type: 'finish' }>['reason']

/** An output item and what of it was already emitted. */
type ItemState = { call: number; text: string; reasoning: string; refusal: string }

export class ResponsesReader extends ResponseReader {
  readonly #items = new Map<unknown, ItemState>()
  /** Items that are not complete. */
  readonly #open = new Set<unknown>()
  #hasPhase = false

  read(event: unknown): ProviderDelta[] {
    if (!isObject(event)) return []
    const key = event.output_index ?? event.item_id ?? asObject(event.item).id
    if (event.type === 'response.output_item.done') this.#open.delete(key)
    else if (key !== undefined) this.#open.add(key)
    const delta = asString(event.delta)
    switch (event.type) {
      case 'error':
        throw streamFailure(event.error ?? { ...event, type: event.code })
      case 'response.output_item.added': {
        const item = asObject(event.item)
        return item.type === 'function_call' ? this.#startCall(this.#itemAt(key), item) : []
      }
      case 'response.output_text.delta':
        return this.#add('text', this.#itemAt(key), delta)
      case 'response.refusal.delta':
        return this.#add('refusal', this.#itemAt(key), delta)
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#add('reasoning', this.#itemAt(key), delta)
      case 'response.reasoning_summary_part.added': {
        const item = this.#itemAt(key)
        return item.reasoning === '' ? [] : this.#add('reasoning', item, '\n\n')
      }
      case 'response.function_call_arguments.delta': {
        const item = this.#itemAt(key)
        return item.call >= 0 ? this.#addArguments(item, delta) : []
      }
      case 'response.function_call_arguments.done': {
        const item = this.#itemAt(key)
        return item.call >= 0 && item.text === ''
          ? this.#addArguments(item, argumentsOf(event))
          : []
      }
      case 'response.output_item.done':
        return this.#complete(key, asObject(event.item))
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return this.#ended(asObject(event.response))
      default:
        // A whole response, or an error with status 200.
        if (event.object === 'response' || Array.isArray(event.output)) return this.#ended(event)
        throwErrorIn(event)
        return []
    }
  }

  progress() {
    return this.finish === null ? 'streaming' : 'complete'
  }

  isIntact(): boolean {
    return this.#open.size === 0 && this.chars + this.calls > 0
  }

  #itemAt(key: unknown): ItemState {
    const item = this.#items.get(key) ?? {
      call: -1,
      text: '',
      reasoning: '',
      refusal: '',
    }
    this.#items.set(key, item)
    return item
  }

  #add(type: 'text' | 'reasoning' | 'refusal', item: ItemState, words: string): ProviderDelta[] {
    item[type] += words
    if (type !== 'reasoning') this.chars += words.length
    return pieceOf(type, words)
  }

  #startCall(item: ItemState, call: JsonObject): ProviderDelta[] {
    if (item.call >= 0) return []
    item.call = this.calls++
    const id = asString(call.call_id) || asString(call.id)
    return [{ type: 'tool_call', index: item.call, id, name: asString(call.name) }]
  }

  #addArguments(item: ItemState, words: string): ProviderDelta[] {
    item.text += words
    return words === '' ? [] : [{ type: 'tool_call', index: item.call, arguments: words }]
  }

  /** The item is complete: emits what was not streamed. */
  #complete(key: unknown, whole: JsonObject): ProviderDelta[] {
    const item = this.#itemAt(key)
    const textIn = (parts: JsonObject[], name: string, separator = '') =>
      parts.map(part => asString(part[name])).join(separator)
    switch (whole.type) {
      case 'function_call':
        return [
          ...this.#startCall(item, whole),
          ...this.#addArguments(item, rest(argumentsOf(whole), item.text)),
        ]
      case 'reasoning': {
        const thoughts = [...asObjects(whole.summary), ...asObjects(whole.content)]
        const text = rest(textIn(thoughts, 'text', '\n\n'), item.reasoning)
        return [...this.#add('reasoning', item, text), ...this.#stateOf(whole)]
      }
      case 'message': {
        const parts = asObjects(whole.content)
        const start = this.chars - item.text.length - item.refusal.length
        return [
          ...this.#add('text', item, rest(textIn(parts, 'text'), item.text)),
          ...this.#add('refusal', item, rest(textIn(parts, 'refusal'), item.refusal)),
          ...this.#phaseOf(whole, start),
        ]
      }
      default:
        return []
    }
  }

  /** Encrypted items lose their id, which is invalid with `store: false`; plain reasoning is returned unchanged. */
  #stateOf(whole: JsonObject): ProviderDelta[] {
    const { encrypted_content, summary = [], status: _, ...others } = whole
    const item =
      asString(encrypted_content) === ''
        ? { ...others, summary }
        : { type: 'reasoning', summary, encrypted_content }
    return [{ type: 'provider_state', item: { item, chars: this.chars, calls: this.calls } }]
  }

  /** Where a message begins and whether it is commentary or the final answer, which models expect back. */
  #phaseOf({ phase = null }: JsonObject, start: number): ProviderDelta[] {
    this.#hasPhase ||= phase !== null
    if (!this.#hasPhase) return []
    const item = { type: 'message', phase }
    return [{ type: 'provider_state', item: { item, chars: start, calls: this.calls } }]
  }

  #ended(response: JsonObject): ProviderDelta[] {
    if (response.error) throw streamFailure(response.error)
    if (response.status === 'failed')
      throw classify({ message: 'The provider ended the response with an error.' })
    // Some servers send only the final event.
    const late =
      this.#items.size > 0
        ? []
        : asObjects(response.output).flatMap((item, at) => this.#complete(at, item))
    if (isObject(response.usage)) this.usage = usageOf(response.usage)
    this.finish = finishOf(response, this.calls > 0)
    return late
  }
}

/** Text in the API; an object at some servers. */
const argumentsOf = ({ arguments: value }: JsonObject): string =>
  isObject(value) ? JSON.stringify(value) : asString(value)

/** The whole text of an item, unless it was streamed already. */
const rest = (all: string, emitted: string): string => (emitted === '' ? all : '')

const finishOf = (response: JsonObject, hasCalls: boolean): Finish => {
  const reason = asString(asObject(response.incomplete_details).reason)
  if (reason === 'content_filter') return 'content_filter'
  if (response.status === 'incomplete') return 'length'
  return hasCalls ? 'tool_calls' : 'stop'
}

const usageOf = (usage: JsonObject) => {
  const cacheReads = asCount(asObject(usage.input_tokens_details).cached_tokens)
  return {
    type: 'usage' as const,
    inputTokens: asCount(usage.input_tokens),
    outputTokens: withReasoning(asCount(usage.output_tokens), {
      total: asCount(usage.total_tokens),
      input: asCount(usage.input_tokens),
      cached: cacheReads,
    }),
    ...(cacheReads > 0 && { cacheReadTokens: cacheReads }),
    ...(typeof usage.cost === 'number' && { cost: asCount(usage.cost) }),
  }
}
