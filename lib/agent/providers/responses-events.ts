/** Reads the events of OpenAI's Responses, or the whole response of a server that does not stream, into deltas. */
import { classify } from '../failure.ts'
import type { ProviderDelta } from '../types.ts'
import type { AnswerReader } from './stream-request.ts'
import { count, fields, isJson, type Json, list, text } from './json.ts'
import { streamFailure } from './stream-failure.ts'

type Finish = Extract<ProviderDelta, { type: 'finish' }>['reason']

/** One item of the answer, and what of it was already passed on. */
type Heard = { call: number; named: boolean; said: string; thought: string; refused: string }

export const createResponsesReader = (): AnswerReader => {
  const heard = new Map<unknown, Heard>()
  /** Items that have begun and are not whole. */
  const open = new Set<unknown>()
  let calls = 0
  let chars = 0
  let usage: Json | null = null
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

  const name = (item: Heard, call: Json): ProviderDelta[] => {
    if (item.named) return []
    item.named = true
    item.call = calls++
    const id = text(call.call_id) || text(call.id)
    return [{ type: 'tool_call', index: item.call, id, name: text(call.name) }]
  }

  const write = (item: Heard, words: string): ProviderDelta[] => {
    item.said += words
    return words === '' ? [] : [{ type: 'tool_call', index: item.call, arguments: words }]
  }

  /** The item is whole: whatever of it did not come in pieces comes now. */
  const complete = (place: unknown, whole: Json): ProviderDelta[] => {
    const item = itemAt(place)
    const rest = (all: string, told: string) => (told === '' ? all : '')
    if (whole.type === 'function_call')
      return [...name(item, whole), ...write(item, rest(text(whole.arguments), item.said))]
    if (whole.type === 'reasoning') {
      const thoughts = [...list(whole.summary), ...list(whole.content)].map(part => text(part.text))
      return [...think(item, rest(thoughts.join('\n\n'), item.thought)), ...carried(whole)]
    }
    if (whole.type !== 'message') return []
    const parts = list(whole.content)
    const refusal = parts.map(part => text(part.refusal)).join('')
    return [
      ...say(item, rest(parts.map(part => text(part.text)).join(''), item.said)),
      ...refuse(item, rest(refusal, item.refused)),
    ]
  }

  /** Where nothing is stored an id would name nothing; a thought in plain words is kept as it came. */
  const carried = (whole: Json): ProviderDelta[] => {
    const { encrypted_content, summary = [], status: _, ...rest } = whole
    const item =
      text(encrypted_content) === ''
        ? { ...rest, summary }
        : { type: 'reasoning', summary, encrypted_content }
    return [{ type: 'carry', item: { item, chars, calls } }]
  }

  const end = (response: Json): ProviderDelta[] => {
    if (response.error) throw streamFailure(response.error)
    if (response.status === 'failed')
      throw classify({ message: 'The provider broke off with an error.' })
    // Some servers send nothing but the end.
    const late =
      heard.size > 0 ? [] : list(response.output).flatMap((item, at) => complete(at, item))
    if (isJson(response.usage)) usage = response.usage
    finish = finishOf(response)
    return late
  }

  const finishOf = (response: Json): Finish => {
    const reason = text(fields(response.incomplete_details).reason)
    if (reason === 'content_filter') return 'content_filter'
    if (response.status === 'incomplete') return 'length'
    return calls > 0 ? 'tool_calls' : 'stop'
  }

  const read = (event: unknown): ProviderDelta[] => {
    if (!isJson(event)) return []
    const place = event.output_index ?? event.item_id ?? fields(event.item).id
    if (event.type !== 'response.output_item.done') {
      if (place !== undefined) open.add(place)
    } else open.delete(place)
    const delta = text(event.delta)
    switch (event.type) {
      case 'error':
        throw streamFailure(event.error ?? { ...event, type: event.code })
      case 'response.output_item.added': {
        const item = fields(event.item)
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
        return item.named && item.said === '' ? write(item, text(event.arguments)) : []
      }
      case 'response.output_item.done':
        return complete(place, fields(event.item))
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return end(fields(event.response))
      default:
        // A whole response, or the error of a server that answers with status 200.
        if (event.object === 'response' || Array.isArray(event.output)) return end(event)
        if (event.error) throw streamFailure(event.error)
        return []
    }
  }

  return {
    read,
    progress: () => (finish === null ? 'speaking' : 'complete'),
    whole: () => open.size === 0 && chars + calls > 0,
    end: () => [
      ...(usage ? [usageOf(usage)] : []),
      { type: 'finish', reason: finish ?? (calls > 0 ? 'tool_calls' : 'stop') },
    ],
  }
}

const usageOf = (usage: Json): ProviderDelta => {
  const read = count(fields(usage.input_tokens_details).cached_tokens)
  return {
    type: 'usage',
    inputTokens: count(usage.input_tokens),
    outputTokens: count(usage.output_tokens),
    ...(read > 0 && { cacheReadTokens: read }),
    ...(typeof usage.cost === 'number' && { cost: count(usage.cost) }),
  }
}
