/** What servers that check a conversation more closely than others want changed in it. Each only where one objected. */
import { createHash } from 'node:crypto'
import type { ChatMessage } from './openai-messages.ts'

const SHORT = 9
const isShort = (id: string) => /^[a-zA-Z0-9]{9}$/.test(id)

/** Mistral takes ids of nine letters and digits; the same id always becomes the same. */
const shortId = (id: string): string =>
  isShort(id)
    ? id
    : BigInt(`0x${createHash('sha256').update(id).digest('hex')}`)
        .toString(36)
        .slice(0, SHORT)

export const withShortIds = (messages: ChatMessage[]): ChatMessage[] =>
  messages.map(message => ({
    ...message,
    ...(message.tool_calls && {
      tool_calls: message.tool_calls.map(call => ({ ...call, id: shortId(call.id) })),
    }),
    ...(message.tool_call_id !== undefined && { tool_call_id: shortId(message.tool_call_id) }),
  }))

/** Roles that alternate: somebody answers a result before a person speaks, and who speaks twice speaks once. */
export const alternateRoles = (messages: ChatMessage[]): ChatMessage[] => {
  const turns: ChatMessage[] = []
  for (const message of messages) {
    const before = turns.at(-1)
    const isUser = message.role === 'user'
    if (isUser && before?.role === 'tool') turns.push({ role: 'assistant', content: 'Noted.' })
    const isSame = before?.role === message.role && (isUser || isPlain(before, message))
    if (isSame && typeof before.content === 'string' && typeof message.content === 'string')
      turns[turns.length - 1] = { ...message, content: `${before.content}\n\n${message.content}` }
    else turns.push(message)
  }
  return turns
}

const isPlain = (...messages: ChatMessage[]) =>
  messages.every(({ role, tool_calls }) => role === 'assistant' && !tool_calls?.length)

/** For a model that knows no tools: what was called and what came of it, in words. */
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

/** Not the conversation is too long, but what was to be answered: how much may be. Null where that is not said, or too little. */
export const answerLimit = (message: string): number | null => {
  const atMost =
    /(?:supports|allows) at most (\d+) (?:completion|output) tokens|max_tokens.{0,40}(?:less than or equal to|<=) (\d+)/i.exec(
      message,
    )
  if (atMost) return enough(Number(atMost[1] ?? atMost[2]))
  const window = Number(/maximum context length is (\d+)/i.exec(message)?.[1] ?? 0)
  const prompt = Number(
    /(\d+) (?:in (?:the|your) (?:messages|prompt)|of text input|input tokens)/i.exec(
      message,
    )?.[1] ?? 0,
  )
  return window > 0 && prompt > 0 ? enough(window - prompt - MARGIN) : null
}

const MARGIN = 64
const LEAST = 256
const enough = (tokens: number): number | null => (tokens >= LEAST ? tokens : null)
