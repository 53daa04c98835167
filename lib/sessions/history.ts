/** What a provider may see of a session: six keys, no errors, every tool call answered and every answer called for. */
import type { WireMessage } from '../agent/types.ts'
import type { Message } from '../schema/message.ts'

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
const callIds = (message: Message): string[] =>
  (message.tool_calls ?? []).map(call =>
    typeof call.id === 'string' ? call.id : String(call.call_id ?? ''),
  )

/**
 * The messages sent before a turn. Results stand right after the message that called for them, in the order of
 * the calls, as providers want it; a result nobody called for is left out.
 */
export const toHistory = (messages: readonly Message[]): WireMessage[] => {
  const told = messages.filter(message => !message._error)
  const used = new Set<Message>()

  /** The first unused result for this call, before another message makes a call of the same id. */
  const resultOf = (id: string, from: number): Message | undefined => {
    for (let at = from; at < told.length; at += 1) {
      const message = told[at] as Message
      if (message.role === 'assistant' && callIds(message).includes(id)) return undefined
      if (message.role === 'tool' && message.tool_call_id === id && !used.has(message))
        return message
    }
    return undefined
  }

  return told.flatMap((message, index): WireMessage[] => {
    if (message.role === 'tool') return []
    const wire = toWire(message)
    if (message.role !== 'assistant' || !wire.tool_calls) return [wire]
    const results = callIds(message).map((id): WireMessage => {
      const result = resultOf(id, index + 1)
      if (!result) return { role: 'tool', tool_call_id: id, content: NO_RESULT }
      used.add(result)
      return toWire(result)
    })
    return [wire, ...results]
  })
}
