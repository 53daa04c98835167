/** Short forms of all tool calls of a session, for clients that show them as cards. */
import { isObject } from '../base/json.ts'
import type { Message } from '../schema/message.ts'
import type { ToolSummary } from '../schema/session.ts'
import { contentText } from './entries.ts'

const MAX_ARGS = 6
const ARG_CHARS = 120
const SNIPPET_CHARS = 200

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // Plain text, or arguments that the model left incomplete.
    return undefined
  }
}

const asText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '')

/** The first arguments as text, truncated. */
const toArgs = (json: string, most = MAX_ARGS): Record<string, string> => {
  const args = parse(json)
  if (!isObject(args)) return {}
  return Object.fromEntries(
    Object.entries(args)
      .slice(0, most)
      .map(([key, value]) => {
        const text = asText(value)
        return [key, text.length > ARG_CHARS ? `${text.slice(0, ARG_CHARS)}...` : text]
      }),
  )
}

/** Tool results are JSON by convention: its output or error, else the text as it is. */
const toSnippet = (content: string): string => {
  const result = parse(content)
  const said = isObject(result) ? (result.output ?? result.result ?? result.error) : undefined
  return (said === undefined || said === null ? content : asText(said)).slice(0, SNIPPET_CHARS)
}

export const toolSummaries = (messages: readonly Message[]): ToolSummary[] => {
  const results = new Map<string, Message[]>()
  for (const message of messages) {
    if (message.role !== 'tool' || message.tool_call_id === undefined) continue
    const same = results.get(message.tool_call_id)
    if (same) same.push(message)
    else results.set(message.tool_call_id, [message])
  }
  return messages.flatMap((message, index) =>
    (message.tool_calls ?? []).flatMap((call): ToolSummary[] => {
      const name = call.function?.name
      if (!name || name === 'tool') return []
      const result = results.get(call.id)?.shift()
      return [
        {
          name,
          snippet: result ? toSnippet(contentText(result.content)) : '',
          tid: call.id,
          assistant_msg_idx: index,
          args: toArgs(call.function.arguments ?? ''),
        },
      ]
    }),
  )
}
