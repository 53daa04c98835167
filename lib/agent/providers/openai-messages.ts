/** Messages of the format `chat_completions`: the standard keys, plus roles, cache breakpoints and reasoning some models need. */
import type { ToolCall } from '../../schema/message.ts'
import type { ModelEndpoint, ProviderRequest, WireMessage } from '../types.ts'
import { hostname } from './stream-request.ts'
import { type ReturnOptions, type ReturnedFields, returnedFields } from './openai-reasoning.ts'
import { toolCallsAsText, withShortIds, alternateRoles } from './openai-strict.ts'
import { sanitizeToolName } from './sanitize-ids.ts'
import { cacheControl, CACHED_MESSAGES } from './prompt-cache.ts'

export type ChatMessage = Omit<WireMessage, 'role' | 'content'> &
  Omit<ReturnedFields, 'content'> & {
    role: WireMessage['role'] | 'developer'
    content: WireMessage['content'] | null
  }

export type ChatShape = ReturnOptions & {
  developer: boolean
  cache: boolean
  /** Add blank reasoning to the model's messages that have none. */
  blanks: boolean
  /** Add placeholder signatures to calls without one, for Gemini. */
  signatures: boolean
  /** Calls and results as text; alternating roles; short ids: see `openai-strict.ts`. */
  words: boolean
  turns: boolean
  shortIds: boolean
}

/** Newer OpenAI models expect instructions in the `developer` role. */
export const wantsDeveloper = (model: string): boolean => /gpt-5|codex/i.test(model)

/** Claude behind OpenRouter caches only up to explicit breakpoints. */
export const wantsCacheBreakpoints = ({ provider, baseUrl, model }: ModelEndpoint): boolean =>
  (provider === 'openrouter' || hostname(baseUrl) === 'openrouter.ai') && /claude/i.test(model)

export const toChatMessages = (request: ProviderRequest, shape: ChatShape): ChatMessage[] => {
  const whole = request.messages.map(message => toChat(message, shape))
  const worded = shape.words ? toolCallsAsText(whole) : shape.turns ? alternateRoles(whole) : whole
  const messages = shape.shortIds ? withShortIds(worded) : worded
  return shape.cache && request.sessionKey ? withBreakpoints(messages, request.endpoint) : messages
}

/** Strict servers require reasoning on every message of a turn with calls; those of other models have none. */
const BLANK = { reasoning_content: ' ' }

/** Google's documented placeholder for calls of other models. */
const UNSIGNED = { google: { thought_signature: 'skip_thought_signature_validator' } }

const signed = (calls: readonly ToolCall[] | undefined): { tool_calls?: ToolCall[] } =>
  calls
    ? {
        tool_calls: calls.map((call, at) =>
          at > 0 || call.extra_content ? call : { ...call, extra_content: UNSIGNED },
        ),
      }
    : {}

/** Models may have called tools with names that servers reject. */
const withValidNames = <M extends { name?: string; tool_calls?: ToolCall[] }>(message: M): M => ({
  ...message,
  ...(message.name !== undefined && { name: sanitizeToolName(message.name) }),
  ...(message.tool_calls && {
    tool_calls: message.tool_calls.map(call => ({
      ...call,
      function: { ...call.function, name: sanitizeToolName(call.function.name) },
    })),
  }),
})

const toChat = (message: ProviderRequest['messages'][number], shape: ChatShape): ChatMessage => {
  const { providerState, role, content: text, ...others } = message
  const rest = withValidNames(others)
  const { content = text, ...returned } = returnedFields(
    providerState,
    { ...rest, content: text },
    shape,
  )
  // Null content for messages with only tool calls: some servers reject an empty string.
  const isBare = role === 'assistant' && rest.tool_calls?.length && content === ''
  return {
    role: role === 'system' && shape.developer ? 'developer' : role,
    content: isBare ? null : content,
    ...rest,
    ...(shape.blanks && role === 'assistant' && BLANK),
    ...returned,
    ...(shape.signatures && signed(returned.tool_calls ?? rest.tool_calls)),
  }
}

const isSystem = ({ role }: ChatMessage) => role === 'system' || role === 'developer'

const withBreakpoints = (messages: ChatMessage[], endpoint: ModelEndpoint): ChatMessage[] => {
  const places = messages.flatMap((message, at) => (message.content ? [at] : []))
  const system = places.find(at => messages[at] && isSystem(messages[at]))
  const newest = places.filter(at => messages[at] && !isSystem(messages[at]))
  const chosen = new Set([system, ...newest.slice(-CACHED_MESSAGES)])
  return messages.map((message, at) => {
    if (!chosen.has(at)) return message
    const { content } = message
    const parts = Array.isArray(content) ? content : [{ type: 'text', text: content }]
    // Only text may be marked.
    const last = parts.findLastIndex(({ type }) => type === 'text')
    return {
      ...message,
      content: parts.map((part, place) =>
        place === last ? { ...part, cache_control: cacheControl(endpoint) } : part,
      ),
    }
  })
}
