/** Parses messages written by other programs: imports, files of the former format, and journals edited by hand. */
import { isDeepStrictEqual } from 'node:util'
import type { ZodType } from 'zod'
import { type JsonObject, isObject, isObjectOrArray, asString } from '../base/json.ts'
import { toTime } from '../base/to-time.ts'
import type { Message, NewMessage, Role, ToolCall } from '../schema/message.ts'
import { fileNameOf } from '../schema/attachments.ts'
import { readDecisions } from '../schema/decision.ts'
import { RunsIn } from '../schema/command-place.ts'
import { HookActivity } from '../schema/hook.ts'
import { readImages } from '../schema/image.ts'
import { readSummaries } from '../schema/recorded-summary.ts'
import { RefusedBy } from '../schema/refused-by.ts'
import { Sentences } from '../schema/sentence.ts'

type Part = { type: string; [key: string]: unknown }

const ROLES: Readonly<Record<string, Role>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  human: 'user',
  assistant: 'assistant',
  ai: 'assistant',
  model: 'assistant',
  tool: 'tool',
  function: 'tool',
}

/** Other programs may use numbers as ids. */
const idText = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''

const argumentsOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? {})

/** `{id, function: {name, arguments}}`, `{name, args, id}`, `{id, name, input}`, `{tool_name, …}`: null when no tool is named. */
const toCall = (value: unknown, at: number): ToolCall | null => {
  if (!isObject(value)) return null
  const { function: fn, id, call_id, tid, tool_call_id, ...rest } = value
  const inner = isObject(fn) ? fn : {}
  const {
    name: _,
    tool_name: __,
    arguments: ___,
    args: ____,
    input: _____,
    type: ______,
    ...more
  } = rest
  const name = [inner.name, rest.name, rest.tool_name, fn].map(asString).find(Boolean)
  if (!name) return null
  const called = inner.arguments ?? inner.args ?? rest.arguments ?? rest.args ?? rest.input
  const own = [id, call_id, tid, tool_call_id].map(idText).find(Boolean)
  return {
    ...withoutNulls(more),
    id: own ?? `call_${at + 1}`,
    type: 'function',
    function: { ...inner, name, arguments: argumentsOf(called) },
  }
}

const toList = (value: unknown): unknown[] => {
  if (Array.isArray(value)) return value
  if (isObject(value)) return [value]
  if (typeof value !== 'string') return []
  try {
    const inner: unknown = JSON.parse(value)
    return typeof inner === 'string' ? [] : toList(inner)
  } catch {
    // Not JSON: there are no calls.
    return []
  }
}

const withoutNulls = (bag: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(bag).filter(([, value]) => value !== null))

/** The URL of an image part: Anthropic's `source`, or `image_url` in its three shapes. */
const imageOf = (part: JsonObject): string => {
  const { image_url, source } = part
  if (typeof image_url === 'string') return image_url
  if (isObject(image_url)) return asString(image_url.url)
  if (!isObject(source)) return ''
  if (asString(source.url)) return asString(source.url)
  const { media_type, data } = source
  return asString(data)
    ? `data:${asString(media_type) || 'image/png'};base64,${asString(data)}`
    : ''
}

const TEXT_TYPES = new Set(['text', 'input_text', 'output_text', 'summary_text', ''])

/** One content part with a type and, for text, a string; null for an empty one. */
const toPart = (value: unknown): Part | null => {
  if (typeof value === 'string') return { type: 'text', text: value }
  if (!isObject(value)) return null
  const type = asString(value.type)
  const text =
    typeof value.text === 'string'
      ? value.text
      : isObject(value.text)
        ? asString(value.text.value)
        : null
  if (TEXT_TYPES.has(type) && text !== null) return { ...withoutNulls(value), type: 'text', text }
  const image = imageOf(value)
  if (image) {
    const more = isObject(value.image_url) ? value.image_url : {}
    return { type: 'image_url', image_url: { ...withoutNulls(more), url: image } }
  }
  if (TEXT_TYPES.has(type)) return null
  return { ...withoutNulls(value), type }
}

const toContent = (value: unknown): Message['content'] => {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(toPart).filter(part => part !== null)
  if (!isObject(value)) return JSON.stringify(value)
  const part = toPart(value)
  return part?.type === 'text' || part?.type === 'image_url' ? [part] : JSON.stringify(value)
}

type Read = (value: unknown) => unknown

const text: Read = value => asString(value) || undefined
const mark: Read = value => value === true || undefined
const either =
  (schema: ZodType): Read =>
  value =>
    schema.safeParse(value).data
const list =
  (read: (value: unknown) => readonly unknown[]): Read =>
  value => {
    const items = read(value)
    return items.length > 0 ? items : undefined
  }
const each =
  (read: (item: unknown) => unknown) =>
  (value: unknown): unknown[] =>
    Array.isArray(value) ? value.map(read).filter(item => item !== null && item !== undefined) : []

/** The keys that the rest of the program relies on; undefined for a value that says nothing. */
const KEYS: Readonly<Record<string, Read>> = {
  tool_call_id: value => idText(value) || undefined,
  name: text,
  refusal: text,
  reasoning: text,
  model: text,
  provider: text,
  timestamp: toTime,
  _ts: toTime,
  _error: mark,
  _partial: mark,
  _failed: mark,
  _refused_by: either(RefusedBy),
  _ran_in: either(RunsIn),
  _sentences: either(Sentences),
  _hooks: list(each(value => HookActivity.safeParse(value).data)),
  attachments: list(each(fileNameOf)),
  _images: list(readImages),
  _decisions: list(readDecisions),
  _tool_summaries: list(readSummaries),
  // Ids in the session it comes from.
  _versions: () => undefined,
}

/** Known keys with valid values, as the role allows them; unknown keys as they are. */
const keysOf = (role: Role, raw: JsonObject): JsonObject => {
  const {
    id: _,
    role: __,
    content: ___,
    _content_length: ____,
    tool_calls,
    function_call,
    reasoning_content,
    ...rest
  } = raw
  const keys = withoutNulls(rest)
  for (const [key, value] of Object.entries(keys))
    if (Object.hasOwn(KEYS, key)) keys[key] = KEYS[key]?.(value)
  // A newer version may know other ones.
  if (keys._refused_by !== undefined) keys._failed = undefined
  else if (rest._refused_by != null) keys._failed = true
  keys.reasoning ??= text(reasoning_content)
  if (role !== 'tool') {
    keys.tool_call_id = undefined
    // Providers reject a participant name with a space in it.
    if (!/^[\w-]{1,64}$/.test(asString(keys.name))) keys.name = undefined
  }
  const calls = [...toList(tool_calls), ...(isObject(function_call) ? [function_call] : [])]
    .map(toCall)
    .filter(call => call !== null)
  if (role === 'assistant' && calls.length > 0) keys.tool_calls = calls
  return Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== undefined))
}

const roleOf = (raw: JsonObject): Role | undefined => {
  const name = asString(raw.role).toLowerCase()
  if (Object.hasOwn(ROLES, name)) return ROLES[name]
  // Items of the OpenAI Responses API have types instead of roles.
  if (raw.type === 'function_call') return 'assistant'
  return raw.type === 'function_call_output' ? 'tool' : undefined
}

/** Converts to exactly one message, for journal lines. Null when the role is unknown. */
export const toMessage = (value: unknown): NewMessage | null => {
  if (!isObject(value)) return null
  const role = roleOf(value)
  if (role === undefined) return null
  return { ...keysOf(role, value), role, content: toContent(value.content) } as NewMessage
}

/** The text of a tool result of any shape. */
const resultText = (content: unknown): string => {
  const whole = toContent(content)
  if (typeof whole === 'string') return whole
  return whole.map(part => (part.type === 'text' ? String(part.text) : `[${part.type}]`)).join('\n')
}

const withoutBlocks = (parts: readonly Part[], types: ReadonlySet<string>): Message['content'] => {
  const rest = parts.filter(({ type }) => !types.has(type))
  const [only] = rest
  if (rest.length === 0) return ''
  return rest.length === 1 && only?.type === 'text' ? String(only.text) : rest
}

const TAKEN = {
  assistant: new Set(['tool_use', 'thinking', 'redacted_thinking']),
  user: new Set(['tool_result']),
}

/** Splits Anthropic content: tool calls, thinking and tool results become keys and separate messages. */
const unfold = (message: NewMessage): NewMessage[] => {
  const { role, content, tool_calls = [], reasoning: thought } = message as Message
  if (!Array.isArray(content)) return [message]
  if (role === 'assistant' && content.some(({ type }) => TAKEN.assistant.has(type))) {
    const ids = new Set(tool_calls.map(({ id }) => id))
    const calls = content
      .filter(({ type }) => type === 'tool_use')
      .map(toCall)
      .filter(call => call !== null && !ids.has(call.id))
    const thoughts = content
      .filter(({ type }) => type === 'thinking')
      .map(part => asString(part.thinking))
    const reasoning = [thought ?? '', ...thoughts].filter(Boolean).join('\n\n')
    const all = [...tool_calls, ...calls]
    return [
      {
        ...message,
        content: withoutBlocks(content, TAKEN.assistant),
        ...(all.length > 0 ? { tool_calls: all } : {}),
        ...(reasoning ? { reasoning } : {}),
      },
    ]
  }
  if (role === 'user' && content.some(({ type }) => TAKEN.user.has(type))) {
    const { timestamp } = message
    const results = content
      .filter(({ type }) => type === 'tool_result')
      .map(
        (part): NewMessage => ({
          role: 'tool',
          content: resultText(part.content),
          tool_call_id: idText(part.tool_use_id),
          ...(timestamp === undefined ? {} : { timestamp }),
        }),
      )
    const rest = withoutBlocks(content, TAKEN.user)
    return rest.length > 0 ? [...results, { ...message, content: rest }] : results
  }
  return [message]
}

const asItem = (value: unknown): unknown => {
  if (!isObject(value) || value.role !== undefined) return value
  const { type, call_id, name, output, arguments: args, ...rest } = value
  if (type === 'function_call')
    return { ...rest, type, tool_calls: [{ call_id, name, arguments: args }] }
  if (type === 'function_call_output')
    return { ...rest, type, tool_call_id: call_id, content: resultText(output) }
  return value
}

/** Converts a message of another program: usually to one, to none when its role is unknown. Every call gets its own id. */
export const toMessages = (value: unknown): NewMessage[] => {
  const message = toMessage(asItem(value))
  return message ? unfold(message) : []
}

/** Reading a long journal must not rebuild every call. */
const isCall = (value: unknown): boolean =>
  isObject(value) &&
  typeof value.id === 'string' &&
  isObject(value.function) &&
  typeof value.function.name === 'string' &&
  typeof value.function.arguments === 'string'

const isValid = (key: string, value: unknown): boolean => {
  if (key === 'tool_calls') return Array.isArray(value) && value.every(isCall)
  if (!Object.hasOwn(KEYS, key)) return true
  const result = KEYS[key]?.(value)
  return result === value
    ? value !== undefined
    : isObjectOrArray(value) && isDeepStrictEqual(result, value)
}

/** True when every key has the type that the rest of the program relies on. */
export const isValidMessage = (message: JsonObject): boolean => {
  const { role, content } = message
  if (role !== 'user' && role !== 'assistant' && role !== 'tool' && role !== 'system') return false
  if (typeof content !== 'string') {
    if (!Array.isArray(content)) return false
    for (const part of content) {
      if (!isObject(part) || typeof part.type !== 'string') return false
      if (part.type === 'text' && typeof part.text !== 'string') return false
    }
  }
  for (const key in message) if (!isValid(key, message[key])) return false
  return true
}
