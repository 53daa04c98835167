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
import { type ResponseReader, streamFailure, throwErrorIn } from './stream-request.ts'
import { withReasoning } from './openai-chunks.ts'

type Finish = Extract<ProviderDelta, { type: 'finish' }>['reason']

/** An output item and what of it was already emitted. */
type ItemState = { call: number; named: boolean; text: string; reasoning: string; refusal: string }

export const createResponsesReader = (): ResponseReader => {
  const items = new Map<unknown, ItemState>()
  /** Items that are not complete. */
  const open = new Set<unknown>()
  let calls = 0
  let chars = 0
  let hasPhase = false
  let usage: JsonObject | null = null
  let finish: Finish | null = null

  const itemAt = (key: unknown): ItemState => {
    const found = items.get(key) ?? { call: -1, named: false, text: '', reasoning: '', refusal: '' }
    items.set(key, found)
    return found
  }

  const addText = (item: ItemState, words: string): ProviderDelta[] => {
    item.text += words
    chars += words.length
    return words === '' ? [] : [{ type: 'text', text: words }]
  }

  const addReasoning = (item: ItemState, words: string): ProviderDelta[] => {
    item.reasoning += words
    return words === '' ? [] : [{ type: 'reasoning', text: words }]
  }

  const addRefusal = (item: ItemState, words: string): ProviderDelta[] => {
    item.refusal += words
    chars += words.length
    return words === '' ? [] : [{ type: 'refusal', text: words }]
  }

  const startCall = (item: ItemState, call: JsonObject): ProviderDelta[] => {
    if (item.named) return []
    item.named = true
    item.call = calls++
    const id = asString(call.call_id) || asString(call.id)
    return [{ type: 'tool_call', index: item.call, id, name: asString(call.name) }]
  }

  const addArguments = (item: ItemState, words: string): ProviderDelta[] => {
    item.text += words
    return words === '' ? [] : [{ type: 'tool_call', index: item.call, arguments: words }]
  }

  /** The item is complete: emits what was not streamed. */
  const complete = (key: unknown, whole: JsonObject): ProviderDelta[] => {
    const item = itemAt(key)
    if (whole.type === 'function_call')
      return [...startCall(item, whole), ...addArguments(item, rest(argumentsOf(whole), item.text))]
    if (whole.type === 'reasoning') {
      const thoughts = [...asObjects(whole.summary), ...asObjects(whole.content)].map(part =>
        asString(part.text),
      )
      return [
        ...addReasoning(item, rest(thoughts.join('\n\n'), item.reasoning)),
        ...providerState(whole),
      ]
    }
    if (whole.type !== 'message') return []
    const parts = asObjects(whole.content)
    const refusal = parts.map(part => asString(part.refusal)).join('')
    const start = chars - item.text.length - item.refusal.length
    return [
      ...addText(item, rest(parts.map(part => asString(part.text)).join(''), item.text)),
      ...addRefusal(item, rest(refusal, item.refusal)),
      ...phaseOf(whole, start),
    ]
  }

  /** Encrypted items lose their id, which is invalid with `store: false`; plain reasoning is returned unchanged. */
  const providerState = (whole: JsonObject): ProviderDelta[] => {
    const { encrypted_content, summary = [], status: _, ...rest } = whole
    const item =
      asString(encrypted_content) === ''
        ? { ...rest, summary }
        : { type: 'reasoning', summary, encrypted_content }
    return [{ type: 'provider_state', item: { item, chars, calls } }]
  }

  /** Where a message begins and whether it is commentary or the final answer, which models expect back. */
  const phaseOf = ({ phase = null }: JsonObject, start: number): ProviderDelta[] => {
    hasPhase ||= phase !== null
    if (!hasPhase) return []
    const item = { type: 'message', phase }
    return [{ type: 'provider_state', item: { item, chars: start, calls } }]
  }

  const end = (response: JsonObject): ProviderDelta[] => {
    if (response.error) throw streamFailure(response.error)
    if (response.status === 'failed')
      throw classify({ message: 'The provider ended the response with an error.' })
    // Some servers send only the final event.
    const late =
      items.size > 0 ? [] : asObjects(response.output).flatMap((item, at) => complete(at, item))
    if (isObject(response.usage)) usage = response.usage
    finish = finishOf(response, calls > 0)
    return late
  }

  const read = (event: unknown): ProviderDelta[] => {
    if (!isObject(event)) return []
    const key = event.output_index ?? event.item_id ?? asObject(event.item).id
    if (event.type !== 'response.output_item.done') {
      if (key !== undefined) open.add(key)
    } else open.delete(key)
    const delta = asString(event.delta)
    switch (event.type) {
      case 'error':
        throw streamFailure(event.error ?? { ...event, type: event.code })
      case 'response.output_item.added': {
        const item = asObject(event.item)
        return item.type === 'function_call' ? startCall(itemAt(key), item) : []
      }
      case 'response.output_text.delta':
        return addText(itemAt(key), delta)
      case 'response.refusal.delta':
        return addRefusal(itemAt(key), delta)
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return addReasoning(itemAt(key), delta)
      case 'response.reasoning_summary_part.added':
        return itemAt(key).reasoning === '' ? [] : addReasoning(itemAt(key), '\n\n')
      case 'response.function_call_arguments.delta':
        return itemAt(key).named ? addArguments(itemAt(key), delta) : []
      case 'response.function_call_arguments.done': {
        const item = itemAt(key)
        return item.named && item.text === '' ? addArguments(item, argumentsOf(event)) : []
      }
      case 'response.output_item.done':
        return complete(key, asObject(event.item))
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return end(asObject(event.response))
      default:
        // A whole response, or an error with status 200.
        if (event.object === 'response' || Array.isArray(event.output)) return end(event)
        throwErrorIn(event)
        return []
    }
  }

  return {
    read,
    progress: () => (finish === null ? 'streaming' : 'complete'),
    isIntact: () => open.size === 0 && chars + calls > 0,
    end: () => [
      ...(usage ? [usageOf(usage)] : []),
      { type: 'finish', reason: finish ?? (calls > 0 ? 'tool_calls' : 'stop') },
    ],
  }
}

/** Text in the API; an object at some servers. */
const argumentsOf = ({ arguments: given }: JsonObject): string =>
  isObject(given) ? JSON.stringify(given) : asString(given)

/** The whole text of an item, unless it was streamed already. */
const rest = (all: string, emitted: string): string => (emitted === '' ? all : '')

const finishOf = (response: JsonObject, hasCalls: boolean): Finish => {
  const reason = asString(asObject(response.incomplete_details).reason)
  if (reason === 'content_filter') return 'content_filter'
  if (response.status === 'incomplete') return 'length'
  return hasCalls ? 'tool_calls' : 'stop'
}

const usageOf = (usage: JsonObject): ProviderDelta => {
  const read = asCount(asObject(usage.input_tokens_details).cached_tokens)
  return {
    type: 'usage',
    inputTokens: asCount(usage.input_tokens),
    outputTokens: withReasoning(asCount(usage.output_tokens), {
      total: asCount(usage.total_tokens),
      input: asCount(usage.input_tokens),
      cached: read,
    }),
    ...(read > 0 && { cacheReadTokens: read }),
    ...(typeof usage.cost === 'number' && { cost: asCount(usage.cost) }),
  }
}
