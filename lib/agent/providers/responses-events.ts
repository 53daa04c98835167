/** Reads the events of OpenAI's Responses, or the whole response of a server that does not stream, into deltas. */
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
import type { ResponseReader } from './stream-request.ts'
import { streamFailure } from './stream-failure.ts'

type Finish = Extract<ProviderDelta, { type: 'finish' }>['reason']

/** One item of the answer, and what of it was already passed on. */
type Heard = { call: number; named: boolean; said: string; thought: string; refused: string }

export const createResponsesReader = (): ResponseReader => {
  const heard = new Map<unknown, Heard>()
  /** Items that have begun and are not whole. */
  const open = new Set<unknown>()
  let calls = 0
  let chars = 0
  let usage: JsonObject | null = null
  let finish: Finish | null = null

  const itemAt = (place: unknown): Heard => {
    const found = heard.get(place) ?? { call: -1, named: false, said: '', thought: '', refused: '' }
    heard.set(place, found)
    return found
  }

  const say = (item: Heard, words: string): ProviderDelta[] => {
    item.said += words
    chars += words.length
    return words === '' ? [] : [{ type: 'text', text: words }]
  }

  const think = (item: Heard, words: string): ProviderDelta[] => {
    item.thought += words
    return words === '' ? [] : [{ type: 'reasoning', text: words }]
  }

  const refuse = (item: Heard, words: string): ProviderDelta[] => {
    item.refused += words
    chars += words.length
    return words === '' ? [] : [{ type: 'refusal', text: words }]
  }

  const name = (item: Heard, call: JsonObject): ProviderDelta[] => {
    if (item.named) return []
    item.named = true
    item.call = calls++
    const id = asString(call.call_id) || asString(call.id)
    return [{ type: 'tool_call', index: item.call, id, name: asString(call.name) }]
  }

  const write = (item: Heard, words: string): ProviderDelta[] => {
    item.said += words
    return words === '' ? [] : [{ type: 'tool_call', index: item.call, arguments: words }]
  }

  /** The item is whole: whatever of it did not come in pieces comes now. */
  const complete = (place: unknown, whole: JsonObject): ProviderDelta[] => {
    const item = itemAt(place)
    const rest = (all: string, told: string) => (told === '' ? all : '')
    if (whole.type === 'function_call')
      return [...name(item, whole), ...write(item, rest(asString(whole.arguments), item.said))]
    if (whole.type === 'reasoning') {
      const thoughts = [...asObjects(whole.summary), ...asObjects(whole.content)].map(part =>
        asString(part.text),
      )
      return [...think(item, rest(thoughts.join('\n\n'), item.thought)), ...carried(whole)]
    }
    if (whole.type !== 'message') return []
    const parts = asObjects(whole.content)
    const refusal = parts.map(part => asString(part.refusal)).join('')
    return [
      ...say(item, rest(parts.map(part => asString(part.text)).join(''), item.said)),
      ...refuse(item, rest(refusal, item.refused)),
    ]
  }

  /** Where nothing is stored an id would name nothing; a thought in plain words is kept as it came. */
  const carried = (whole: JsonObject): ProviderDelta[] => {
    const { encrypted_content, summary = [], status: _, ...rest } = whole
    const item =
      asString(encrypted_content) === ''
        ? { ...rest, summary }
        : { type: 'reasoning', summary, encrypted_content }
    return [{ type: 'provider_state', item: { item, chars, calls } }]
  }

  const end = (response: JsonObject): ProviderDelta[] => {
    if (response.error) throw streamFailure(response.error)
    if (response.status === 'failed')
      throw classify({ message: 'The provider broke off with an error.' })
    // Some servers send nothing but the end.
    const late =
      heard.size > 0 ? [] : asObjects(response.output).flatMap((item, at) => complete(at, item))
    if (isObject(response.usage)) usage = response.usage
    finish = finishOf(response)
    return late
  }

  const finishOf = (response: JsonObject): Finish => {
    const reason = asString(asObject(response.incomplete_details).reason)
    if (reason === 'content_filter') return 'content_filter'
    if (response.status === 'incomplete') return 'length'
    return calls > 0 ? 'tool_calls' : 'stop'
  }

  const read = (event: unknown): ProviderDelta[] => {
    if (!isObject(event)) return []
    const place = event.output_index ?? event.item_id ?? asObject(event.item).id
    if (event.type !== 'response.output_item.done') {
      if (place !== undefined) open.add(place)
    } else open.delete(place)
    const delta = asString(event.delta)
    switch (event.type) {
      case 'error':
        throw streamFailure(event.error ?? { ...event, type: event.code })
      case 'response.output_item.added': {
        const item = asObject(event.item)
        return item.type === 'function_call' ? name(itemAt(place), item) : []
      }
      case 'response.output_text.delta':
        return say(itemAt(place), delta)
      case 'response.refusal.delta':
        return refuse(itemAt(place), delta)
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return think(itemAt(place), delta)
      case 'response.reasoning_summary_part.added':
        return itemAt(place).thought === '' ? [] : think(itemAt(place), '\n\n')
      case 'response.function_call_arguments.delta':
        return itemAt(place).named ? write(itemAt(place), delta) : []
      case 'response.function_call_arguments.done': {
        const item = itemAt(place)
        return item.named && item.said === '' ? write(item, asString(event.arguments)) : []
      }
      case 'response.output_item.done':
        return complete(place, asObject(event.item))
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return end(asObject(event.response))
      default:
        // A whole response, or the error of a server that answers with status 200.
        if (event.object === 'response' || Array.isArray(event.output)) return end(event)
        if (event.error) throw streamFailure(event.error)
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

const usageOf = (usage: JsonObject): ProviderDelta => {
  const read = asCount(asObject(usage.input_tokens_details).cached_tokens)
  return {
    type: 'usage',
    inputTokens: asCount(usage.input_tokens),
    outputTokens: asCount(usage.output_tokens),
    ...(read > 0 && { cacheReadTokens: read }),
    ...(typeof usage.cost === 'number' && { cost: asCount(usage.cost) }),
  }
}
