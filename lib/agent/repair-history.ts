/** Makes a history that every provider accepts: each tool call answered once, each answer asked for. */
import { isJsonObject, parseArguments } from './tool-calls.ts'
import type { LoopMessage } from './types.ts'

export const NO_RESULT = JSON.stringify({
  error: 'No result: the call was interrupted before it finished.',
})

/**
 * Pure. Missing results are stubbed, orphan results dropped, results moved directly behind the
 * message that asked for them, and arguments that are not a JSON object sent as an empty one:
 * several providers refuse the whole conversation otherwise.
 */
export const repairHistory = (messages: readonly LoopMessage[]): LoopMessage[] => {
  const mended: LoopMessage[] = []
  messages.forEach((message, at) => {
    if (message.role === 'tool') return
    if (message.role !== 'assistant' || !message.tool_calls?.length) {
      mended.push(message)
      return
    }
    const calls = message.tool_calls.map(call => ({
      ...call,
      function: {
        ...call.function,
        arguments: plainJson(call.function.arguments),
      },
    }))
    mended.push({ ...message, tool_calls: calls })
    const answers = answersAfter(messages, at)
    for (const call of calls)
      mended.push(
        answers.get(call.id) ?? {
          role: 'tool',
          tool_call_id: call.id,
          name: call.function.name,
          content: NO_RESULT,
        },
      )
  })
  return mended
}

/** As the model wrote it where that is an object; servers read it, and less kindly than we do. */
const plainJson = (text: string): string => {
  return isJsonObject(text) ? text : JSON.stringify(parseArguments(text) ?? {})
}

/** Results up to the next message with calls of its own, where ids may begin anew. */
const answersAfter = (messages: readonly LoopMessage[], at: number): Map<string, LoopMessage> => {
  const answers = new Map<string, LoopMessage>()
  for (const message of messages.slice(at + 1)) {
    if (message.role === 'assistant' && message.tool_calls?.length) break
    if (message.role === 'tool' && message.tool_call_id && !answers.has(message.tool_call_id))
      answers.set(message.tool_call_id, message)
  }
  return answers
}
