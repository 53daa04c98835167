/** Repairs a history so that every provider accepts it: exactly one result per tool call, no result without a call. */
import type { ToolCall } from '../schema/message.ts'
import { isJsonObject, parseArguments } from './tool-calls.ts'
import type { LoopMessage } from './types.ts'

const NO_RESULT = JSON.stringify({
  error: 'No result: the call was interrupted before it finished.',
})

/**
 * Pure. Adds stubs for missing results except those of `pending` calls, drops orphaned results, moves results directly behind their call, and replaces
 * arguments that are not a JSON object with an empty one. Several providers reject the whole conversation otherwise.
 */
export const repairHistory = (
  messages: readonly LoopMessage[],
  /** Calls that are about to be made. */
  pending: readonly ToolCall[] = [],
): LoopMessage[] => {
  const repaired: LoopMessage[] = []
  const lastCalls = messages.findLast(({ tool_calls: calls }) => calls?.length)
  const isPending = (message: LoopMessage, call: ToolCall) =>
    message === lastCalls && pending.some(({ id }) => id === call.id)
  messages.forEach((message, at) => {
    if (message.role === 'tool') return
    if (message.role !== 'assistant' || !message.tool_calls?.length) {
      repaired.push(message)
      return
    }
    repaired.push(withPlainArguments(message, message.tool_calls))
    for (const call of message.tool_calls) {
      const stub = {
        role: 'tool' as const,
        tool_call_id: call.id,
        name: call.function.name,
        content: NO_RESULT,
      }
      const result = isPending(message, call)
        ? undefined
        : (resultAfter(messages, at, call.id) ?? stub)
      if (result) repaired.push(result)
    }
  })
  return repaired
}

/** The same calls are sent with each step. */
const plain = new WeakSet<ToolCall>()

const hasPlainArguments = (call: ToolCall): boolean => {
  if (!plain.has(call) && isJsonObject(call.function.arguments)) plain.add(call)
  return plain.has(call)
}

/** Arguments that are a JSON object stay as the model wrote them. Servers parse the others more strictly than we do. */
const withPlainArguments = (message: LoopMessage, calls: readonly ToolCall[]): LoopMessage => {
  if (calls.every(hasPlainArguments)) return message
  const tool_calls = calls.map(call => {
    if (hasPlainArguments(call)) return call
    const args = JSON.stringify(parseArguments(call.function.arguments) ?? {})
    return { ...call, function: { ...call.function, arguments: args } }
  })
  return { ...message, tool_calls }
}

/** The first result of a call up to the next message with calls, where ids may repeat. */
const resultAfter = (
  messages: readonly LoopMessage[],
  at: number,
  id: string,
): LoopMessage | undefined => {
  // No copy of the rest: this runs for each call, on each step.
  for (let next = at + 1; next < messages.length; next++) {
    const message = messages[next] as LoopMessage
    if (message.role === 'assistant' && message.tool_calls?.length) break
    if (message.role === 'tool' && message.tool_call_id === id) return message
  }
  return undefined
}
