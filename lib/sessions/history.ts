/** What a provider may see of a session: six keys, no errors, every tool call answered and every answer called for. */
import type { LoopMessage, WireMessage } from '../agent/types.ts'
import type { Message } from '../schema/message.ts'
import { summaryContent } from '../schema/summary.ts'
import type { SummaryEntry } from './entries.ts'
import { type Folded, spansInForce } from './fold.ts'

/** Providers refuse a call without a result; a turn that was stopped may have left one. */
const NO_RESULT = JSON.stringify({ error: 'This call was interrupted; no result was recorded.' })

const toWire = (message: Message): WireMessage => {
  const { role, content, tool_calls, tool_call_id, name, refusal } = message
  return {
    role,
    content,
    ...(tool_calls === undefined || tool_calls.length === 0 ? {} : { tool_calls }),
    ...(tool_call_id === undefined ? {} : { tool_call_id }),
    ...(name === undefined ? {} : { name }),
    ...(refusal === undefined ? {} : { refusal }),
  }
}

/** Some writers name a call by `call_id`. */
const callIds = (message: WireMessage): string[] =>
  (message.tool_calls ?? []).map(call =>
    typeof call.id === 'string' ? call.id : String(call.call_id ?? ''),
  )

/**
 * The messages sent before a turn. Results stand right after the message that called for them, in the order of
 * the calls, as providers want it; a result nobody called for is left out.
 */
export const toHistory = (messages: readonly Message[]): WireMessage[] =>
  settle(messages.filter(message => !message._error).map(toWire))

/**
 * The same of a whole session, as the engine wants it: a summary in force stands where its messages stood, and each
 * message says which it is, so that more of them can be summarised.
 */
export const toConversation = ({
  messages,
  numbers,
  summaries,
}: Pick<Folded, 'messages' | 'numbers' | 'summaries'>): LoopMessage[] => {
  const spans = spansInForce(summaries)
  const told: LoopMessage[] = []
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
      open ??= standIn(summary, message.id)
      if (open.summary) open.summary.to = message.id
      if (told.at(-1) !== open) told.push(open)
    } else if (!message._error) {
      told.push({ ...toWire(message), id: message.id, place: n })
    }
  })
  return settle(told)
}

const standIn = ({ text, to }: SummaryEntry, id: string): LoopMessage => ({
  role: 'user',
  content: summaryContent(text),
  place: to,
  summary: { from: id, to: id, text },
})

const settle = <T extends WireMessage>(told: readonly T[]): (T | WireMessage)[] => {
  const used = new Set<T>()

  /** The first unused result for this call, before another message makes a call of the same id. */
  const resultOf = (id: string, from: number): T | undefined => {
    for (let at = from; at < told.length; at += 1) {
      const message = told[at] as T
      if (message.role === 'assistant' && callIds(message).includes(id)) return undefined
      if (message.role === 'tool' && message.tool_call_id === id && !used.has(message))
        return message
    }
    return undefined
  }

  return told.flatMap((message, index): (T | WireMessage)[] => {
    if (message.role === 'tool') return []
    if (message.role !== 'assistant' || !message.tool_calls) return [message]
    const results = callIds(message).map((id): T | WireMessage => {
      const result = resultOf(id, index + 1)
      if (!result) return { role: 'tool', tool_call_id: id, content: NO_RESULT }
      used.add(result)
      return result
    })
    return [message, ...results]
  })
}
