/** The messages of a chat completion: six keys each, with the roles, cache marks and own details some models want. */
import type { ModelEndpoint, ProviderRequest, WireMessage } from '../types.ts'
import { hostname } from './exchange.ts'
import { type Returned, returned } from './openai-carry.ts'
import { cacheMark, MARKED_MESSAGES } from './prompt-cache.ts'

type ChatMessage = Omit<WireMessage, 'role' | 'content'> &
  Returned & {
    role: WireMessage['role'] | 'developer'
    content: WireMessage['content'] | null
  }

export type ChatShape = { developer: boolean; cache: boolean; carry: boolean }

/** Newer models of OpenAI obey a developer, and take a system message for one at best. */
export const wantsDeveloper = (model: string): boolean => /gpt-5|codex/i.test(model)

/** Claude behind the router caches only what is marked. */
export const wantsMarks = ({ provider, baseUrl, model }: ModelEndpoint): boolean =>
  (provider === 'openrouter' || hostname(baseUrl) === 'openrouter.ai') && /claude/i.test(model)

export const toChatMessages = (request: ProviderRequest, shape: ChatShape): ChatMessage[] => {
  const messages = request.messages.map(message => toChat(message, shape))
  return shape.cache && request.sessionKey ? marked(messages, request.endpoint) : messages
}

const toChat = (message: ProviderRequest['messages'][number], shape: ChatShape): ChatMessage => {
  const { carry, role, content, ...rest } = message
  // An assistant message that only calls tools has no content: some servers refuse an empty text.
  const isBare = role === 'assistant' && rest.tool_calls?.length && content === ''
  return {
    role: role === 'system' && shape.developer ? 'developer' : role,
    content: isBare ? null : content,
    ...rest,
    ...(shape.carry && returned(carry, rest.tool_calls)),
  }
}

const isSystem = ({ role }: ChatMessage) => role === 'system' || role === 'developer'

const marked = (messages: ChatMessage[], endpoint: ModelEndpoint): ChatMessage[] => {
  const places = messages.flatMap((message, at) => (message.content ? [at] : []))
  const system = places.find(at => messages[at] && isSystem(messages[at]))
  const newest = places.filter(at => messages[at] && !isSystem(messages[at]))
  const chosen = new Set([system, ...newest.slice(-MARKED_MESSAGES)])
  return messages.map((message, at) => {
    if (!chosen.has(at)) return message
    const { content } = message
    const parts = Array.isArray(content) ? content : [{ type: 'text', text: content }]
    const last = parts.length - 1
    return {
      ...message,
      content: parts.map((part, place) =>
        place === last ? { ...part, cache_control: cacheMark(endpoint) } : part,
      ),
    }
  })
}
