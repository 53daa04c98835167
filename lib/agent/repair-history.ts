/** Repairs a history so that every provider accepts it: exactly one result per tool call, no result without a call. */
import { isJsonObject, parseArguments } from './tool-calls.ts'
import type { LoopMessage } from './types.ts'

export const NO_RESULT = JSON.stringify({
  error: 'No result: the call was interrupted before it finished.',
})

/**
 * Pure. Adds stubs for missing results, drops orphaned results, moves results directly behind their call, and replaces
 * arguments that are not a JSON object with an empty one. Several providers reject the whole conversation otherwise.
 */
export const repairHistory = (messages: readonly LoopMessage[]): LoopMessage[] => {
  const repaired: LoopMessage[] = []
  messages.forEach((message, at) => {
    if (message.role === 'tool') return
    if (message.role !== 'assistant' || !message.tool_calls?.length) {
      repaired.push(message)
      return
    }
    const calls = message.tool_calls.map(call => ({
      ...call,
      function: {
        ...call.function,
        arguments: plainJson(call.function.arguments),
      },
    }))
    repaired.push({ ...message, tool_calls: calls })
    const results = resultsAfter(messages, at)
    for (const call of calls)
      repaired.push(
        results.get(call.id) ?? {
          role: 'tool',
          tool_call_id: call.id,
          name: call.function.name,
          content: NO_RESULT,
        },
      )
  })
  return repaired
}

/** The model's own text if it is a JSON object: servers parse it more strictly than we do. */
const plainJson = (text: string): string => {
  return isJsonObject(text) ? text : JSON.stringify(parseArguments(text) ?? {})
}

/** Results up to the next message with calls, where ids may repeat. */
const resultsAfter = (messages: readonly LoopMessage[], at: number): Map<string, LoopMessage> => {
  const results = new Map<string, LoopMessage>()
  for (const message of messages.slice(at + 1)) {
    if (message.role === 'assistant' && message.tool_calls?.length) break
    if (message.role === 'tool' && message.tool_call_id && !results.has(message.tool_call_id))
      results.set(message.tool_call_id, message)
  }
  return results
}
