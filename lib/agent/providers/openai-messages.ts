/** The messages of a chat completion: six keys each, with the roles, cache marks and own details some models want. */
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
  /** Messages with calls whose thought is not known get a blank one. */
  blanks: boolean
  /** The same for marks on calls, where Gemini misses its own. */
  signatures: boolean
  /** Calls and results are told in words; roles alternate; ids are short: see `openai-strict.ts`. */
  words: boolean
  turns: boolean
  shortIds: boolean
}

/** Newer models of OpenAI obey a developer, and take a system message for one at best. */
export const wantsDeveloper = (model: string): boolean => /gpt-5|codex/i.test(model)

/** Claude behind the router caches only what is marked. */
export const wantsMarks = ({ provider, baseUrl, model }: ModelEndpoint): boolean =>
  (provider === 'openrouter' || hostname(baseUrl) === 'openrouter.ai') && /claude/i.test(model)

export const toChatMessages = (request: ProviderRequest, shape: ChatShape): ChatMessage[] => {
  const whole = request.messages.map(message => toChat(message, shape))
  const worded = shape.words ? toolCallsAsText(whole) : shape.turns ? alternateRoles(whole) : whole
  const messages = shape.shortIds ? withShortIds(worded) : worded
  return shape.cache && request.sessionKey ? marked(messages, request.endpoint) : messages
}

/** Strict servers want a thought on every message with calls; those of earlier turns and other models have none. */
const BLANK = { reasoning_content: ' ' }

/** The words with which Google lets calls pass that another model made. */
const UNSIGNED = { google: { thought_signature: 'skip_thought_signature_validator' } }

const signed = (calls: readonly ToolCall[] | undefined): Pick<ReturnedFields, 'tool_calls'> =>
  calls
    ? {
        tool_calls: calls.map((call, at) =>
          at > 0 || call.extra_content ? call : { ...call, extra_content: UNSIGNED },
        ),
      }
    : {}

/** A model may have called what never existed, by a name that no server takes back. */
const plainlyNamed = <M extends Pick<WireMessage, 'name' | 'tool_calls'>>(message: M): M => ({
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
  const { providerState, role, content: said, ...given } = message
  const rest = plainlyNamed(given)
  const { content = said, ...back } = returnedFields(
    providerState,
    { ...rest, content: said },
    shape,
  )
  // An assistant message that only calls tools has no content: some servers refuse an empty text.
  const isBare = role === 'assistant' && rest.tool_calls?.length && content === ''
  return {
    role: role === 'system' && shape.developer ? 'developer' : role,
    content: isBare ? null : content,
    ...rest,
    ...(shape.blanks && role === 'assistant' && rest.tool_calls?.length && BLANK),
    ...back,
    ...(shape.signatures && signed(back.tool_calls ?? rest.tool_calls)),
  }
}

const isSystem = ({ role }: ChatMessage) => role === 'system' || role === 'developer'

const marked = (messages: ChatMessage[], endpoint: ModelEndpoint): ChatMessage[] => {
  const places = messages.flatMap((message, at) => (message.content ? [at] : []))
  const system = places.find(at => messages[at] && isSystem(messages[at]))
  const newest = places.filter(at => messages[at] && !isSystem(messages[at]))
  const chosen = new Set([system, ...newest.slice(-CACHED_MESSAGES)])
  return messages.map((message, at) => {
    if (!chosen.has(at)) return message
    const { content } = message
    const parts = Array.isArray(content) ? content : [{ type: 'text', text: content }]
    const last = parts.length - 1
    return {
      ...message,
      content: parts.map((part, place) =>
        place === last ? { ...part, cache_control: cacheControl(endpoint) } : part,
      ),
    }
  })
}
