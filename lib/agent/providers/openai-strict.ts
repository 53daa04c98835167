/** Message changes for strict servers; each is applied only after a rejection. */
import { sha256 } from '../../base/sha256.ts'
import type { ChatMessage } from './openai-messages.ts'

const SHORT_ID_CHARS = 9
const isShort = (id: string) => /^[a-zA-Z0-9]{9}$/.test(id)

/** Mistral requires ids of nine letters and digits. Deterministic per id. */
const shortId = (id: string): string =>
  isShort(id)
    ? id
    : BigInt(`0x${sha256(id)}`)
        .toString(36)
        .slice(0, SHORT_ID_CHARS)

export const withShortIds = (messages: ChatMessage[]): ChatMessage[] =>
  messages.map(message => ({
    ...message,
    ...(message.tool_calls && {
      tool_calls: message.tool_calls.map(call => ({ ...call, id: shortId(call.id) })),
    }),
    ...(message.tool_call_id !== undefined && { tool_call_id: shortId(message.tool_call_id) }),
  }))

/** Makes roles alternate: merges consecutive messages of one role, and adds a reply between a result and a user message. */
export const alternateRoles = (messages: ChatMessage[]): ChatMessage[] => {
  const turns: ChatMessage[] = []
  for (const message of messages) {
    const before = turns.at(-1)
    const isUser = message.role === 'user'
    if (isUser && before?.role === 'tool') turns.push({ role: 'assistant', content: 'Noted.' })
    const isSame = before?.role === message.role && (isUser || isPlain(before, message))
    if (isSame) turns[turns.length - 1] = { ...message, content: joined(before, message) }
    else turns.push(message)
  }
  return turns
}

const joined = (a: ChatMessage, b: ChatMessage): ChatMessage['content'] =>
  typeof a.content === 'string' && typeof b.content === 'string'
    ? `${a.content}\n\n${b.content}`
    : [a, b].flatMap(({ content }) =>
        typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []),
      )

const isPlain = (...messages: ChatMessage[]) =>
  messages.every(({ role, tool_calls }) => role === 'assistant' && !tool_calls?.length)

/** For models without tool support: calls and results as text. */
export const toolCallsAsText = (messages: ChatMessage[]): ChatMessage[] =>
  alternateRoles(
    messages.map(message => {
      const { role, content, tool_calls, name = 'a tool' } = message
      const text = typeof content === 'string' ? content : ''
      if (role === 'tool') return { role: 'user', content: `[Result of ${name}]\n${text}` }
      if (!tool_calls?.length) return message
      const calls = tool_calls.map(
        call => `[Called ${call.function.name} with ${call.function.arguments}]`,
      )
      return { role, content: [...(text === '' ? [] : [text]), ...calls].join('\n') }
    }),
  )
