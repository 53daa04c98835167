/** Converts a session to provider messages: six keys, no error messages, every tool call paired with one result. */
import { isObject } from '../base/json.ts'
import type { LoopMessage, WireMessage } from '../agent/types.ts'
import type { Message, ToolCall } from '../schema/message.ts'
import { redactValue } from '../base/redact/redact.ts'
import { summaryContent } from '../schema/summary.ts'
import type { SummaryEntry } from './entries.ts'
import { type Folded, activeSpans } from './fold.ts'

/** Providers reject a call without a result; a stopped turn may leave one. */
const NO_RESULT = JSON.stringify({ error: 'This call was interrupted; no result was recorded.' })

type ContentPart = Exclude<WireMessage['content'], string>[number]

/** Text of any role and images of the user; other parts become a placeholder. */
const sendable = (role: Message['role'], part: ContentPart): ContentPart[] => {
  if (part.type === 'text') return part.text === '' ? [] : [{ type: 'text', text: part.text }]
  const { image_url: image } = part
  const address = isObject(image) && 'url' in image ? image.url : image
  if (part.type === 'image_url' && role === 'user' && typeof address === 'string') {
    return [typeof image === 'string' ? { type: 'image_url', image_url: { url: image } } : part]
  }
  return [{ type: 'text', text: `[${part.type === 'image_url' ? 'image' : part.type}]` }]
}

const toContent = ({ role, content }: Message): WireMessage['content'] => {
  if (typeof content === 'string') return content
  const parts = content.flatMap(part => sendable(role, part))
  return parts.length === 0 ? '' : parts
}

/** Tool names in imported sessions may contain characters that providers reject. */
const plainName = (name: string): string =>
  /^[\w-]{1,64}$/.test(name) ? name : name.replace(/[^\w-]/g, '_').slice(0, 64) || 'tool'

const plainCall = (call: ToolCall): ToolCall => {
  const name = plainName(call.function.name)
  return name === call.function.name ? call : { ...call, function: { ...call.function, name } }
}

const toWire = (message: Message): WireMessage => {
  const { role, tool_calls, tool_call_id, name, refusal } = message
  return {
    role,
    // Earlier versions and other programs recorded unredacted results. The user's own answers stay as they are.
    content:
      role === 'tool' && name !== 'clarify' ? redactValue(toContent(message)) : toContent(message),
    ...(tool_calls === undefined || tool_calls.length === 0
      ? {}
      : { tool_calls: tool_calls.map(plainCall) }),
    ...(tool_call_id === undefined ? {} : { tool_call_id }),
    ...(name === undefined ? {} : { name: plainName(name) }),
    ...(refusal === undefined ? {} : { refusal }),
  }
}

const callIds = (message: WireMessage): string[] => (message.tool_calls ?? []).map(({ id }) => id)

/** False for error messages and for a response stopped before its first word, which providers reject. */
const isSendable = ({ _error, _partial, role, content, tool_calls }: Message): boolean =>
  !_error && !(_partial && role === 'assistant' && content === '' && !tool_calls?.length)

/**
 * The messages to send before a turn. Results directly follow the message with their calls, in the order of the calls, as
 * providers require. A result without a call is dropped. An active summary replaces its messages, and each message carries
 * its id, so that compaction can refer to it.
 */
export const toConversation = ({ messages, numbers, summaries }: Folded): LoopMessage[] => {
  const spans = activeSpans(summaries)
  const history: LoopMessage[] = []
  let open: LoopMessage | null = null
  let span = 0
  messages.forEach((message, at) => {
    const n = numbers[at] ?? 0
    while ((spans[span]?.to ?? n) < n) {
      span += 1
      open = null
    }
    const summary = spans[span]
    if (summary && summary.from <= n) {
      open ??= toSummaryMessage(summary, message.id)
      if (open.summary) open.summary.to = message.id
      if (history.at(-1) !== open) history.push(open)
    } else if (isSendable(message)) {
      const { id, _images: images } = message
      history.push({ ...toWire(message), id, position: n, ...(images?.length && { images }) })
    }
  })
  return pairToolCalls(history)
}

const toSummaryMessage = ({ text, to }: SummaryEntry, id: string): LoopMessage => ({
  role: 'user',
  content: summaryContent(text),
  position: to,
  summary: { from: id, to: id, text },
})

const pairToolCalls = <T extends WireMessage>(history: readonly T[]): (T | WireMessage)[] => {
  const used = new Set<T>()

  /** The first unused result for this call, before another message makes a call of the same id. */
  const resultOf = (id: string, from: number): T | undefined => {
    for (let at = from; at < history.length; at += 1) {
      const message = history[at] as T
      if (message.role === 'assistant' && callIds(message).includes(id)) return undefined
      if (message.role === 'tool' && message.tool_call_id === id && !used.has(message))
        return message
    }
    return undefined
  }

  return history.flatMap((message, index): (T | WireMessage)[] => {
    if (message.role === 'tool') return []
    if (message.role !== 'assistant' || !message.tool_calls) return [message]
    const ids = callIds(message)
    // Providers reject two calls with one id: the second call and its result get another one.
    const fresh = ids.map((id, at) => (ids.indexOf(id) === at ? id : `${id}_${at + 1}`))
    const results = ids.map((id, at): T | WireMessage => {
      const result = resultOf(id, index + 1)
      const tool_call_id = fresh[at] ?? id
      if (!result) return { role: 'tool', tool_call_id, content: NO_RESULT }
      used.add(result)
      return tool_call_id === id ? result : { ...result, tool_call_id }
    })
    const tool_calls = message.tool_calls.map((call, at) => ({ ...call, id: fresh[at] ?? call.id }))
    return [
      fresh.every((id, at) => id === ids[at]) ? message : { ...message, tool_calls },
      ...results,
    ]
  })
}
