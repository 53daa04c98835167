/** The request format of `POST /v1/responses`. Source: OpenAI API reference, Responses. */
import { z } from 'zod'
import { asObject, asObjects, isObject, type JsonObject } from '../base/json.ts'
import { missing } from '../errors.ts'
import { parseFormat } from './answer-format.ts'
import type { ApiMessage, ApiPart, ApiRequest } from './api-request.ts'
import {
  AnyTool,
  badParameter,
  EffortName,
  FunctionName,
  isFalse,
  parseBody,
  plainText,
  readTools,
  rejectUnsupported,
} from './parse.ts'
import { pdfPart } from './pdfs.ts'
import { responseId } from './responses-reply.ts'
import { chooseTools, parseToolChoice } from './tool-choice.ts'

const Item = z.looseObject({
  type: z.string().default('message'),
  role: z.enum(['user', 'assistant', 'system', 'developer']).optional(),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).optional(),
  call_id: z.string().optional(),
  name: z.string().optional(),
  arguments: z.string().optional(),
  input: z.string().optional(),
  output: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).optional(),
})
type Item = z.output<typeof Item>

const FunctionTool = z.looseObject({
  name: FunctionName,
  description: z.string().optional(),
  parameters: z.record(z.string(), z.unknown()).optional(),
  strict: z.boolean().optional(),
})

const Body = z.looseObject({
  model: z.string().default('agent'),
  input: z.union([z.string(), z.array(Item).max(10_000)]),
  instructions: z.string().optional(),
  previous_response_id: z.string().optional(),
  conversation: z.union([z.string(), z.looseObject({ id: z.string() })]).optional(),
  tools: z.array(AnyTool).default([]),
  tool_choice: z.unknown().optional(),
  parallel_tool_calls: z.boolean().default(true),
  text: z.looseObject({ format: z.unknown().optional() }).optional(),
  reasoning: z.looseObject({ effort: EffortName.optional() }).optional(),
  store: z.boolean().default(true),
  stream: z.boolean().default(false),
  metadata: z.record(z.string(), z.string()).default({}),
})

const UNSUPPORTED = {
  background: isFalse,
  prompt: () => false,
  max_tool_calls: () => false,
  top_logprobs: (value: unknown) => value === 0,
  // Everything else that can be included belongs to what an answer does not have here.
  include: (value: unknown) =>
    Array.isArray(value) && !value.includes('message.output_text.logprobs'),
}

const partsOf = (content: Item['content'], param: string): ApiPart[] => {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return (content ?? []).map((part, at): ApiPart => {
    if (/^(?:input_|output_)?text$/.test(part.type) && typeof part.text === 'string')
      return { type: 'text', text: part.text }
    if (part.type === 'input_image' && typeof part.image_url === 'string')
      return { type: 'image', url: part.image_url }
    const pdf =
      part.type === 'input_file' ? pdfPart(part.file_data, part.filename, `${param}.${at}`) : null
    if (pdf) return pdf
    throw badParameter(`${param}.${at}`, `Parts of the type "${part.type}" are not supported.`)
  })
}

/** Items of a conversation that another server has begun. */
const OF_PROVIDERS = new Set([
  'reasoning',
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_list_tools',
  'mcp_call',
  'tool_search_call',
  'tool_search_output',
])

const isInstruction = ({ type, role }: Item): boolean =>
  type === 'message' && (role === 'system' || role === 'developer')

const toMessage = (item: Item, param: string): ApiMessage | null => {
  const { type, role, content, call_id: callId, name, output } = item
  // The agent keeps its own reasoning; what ran at another provider is not known here.
  if (OF_PROVIDERS.has(type)) return null
  if (type === 'message' && role === 'user')
    return { role, parts: partsOf(content, `${param}.content`) }
  if (type === 'message' && role === 'assistant')
    return { role, text: plainText(content, `${param}.content`), calls: [] }
  if (type === 'function_call' && callId !== undefined && name !== undefined) {
    const call = { id: callId, name, arguments: item.arguments ?? '{}' }
    return { role: 'assistant', text: '', calls: [call] }
  }
  if (type === 'custom_tool_call' && callId !== undefined && name !== undefined) {
    const call = { id: callId, name, arguments: JSON.stringify({ input: item.input ?? '' }) }
    return { role: 'assistant', text: '', calls: [call] }
  }
  if (/^(?:function|custom_tool)_call_output$/.test(type) && callId !== undefined)
    return { role: 'result', callId, parts: partsOf(output, `${param}.output`) }
  throw badParameter(param, `Input items of the type "${type}" are not supported, or incomplete.`)
}

/** A message and the calls after it are one answer. */
const joinAnswers = (messages: readonly ApiMessage[]): ApiMessage[] => {
  const joined: ApiMessage[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    if (message.role === 'assistant' && last?.role === 'assistant') {
      const text = [last.text, message.text].filter(Boolean).join('\n\n')
      joined[joined.length - 1] = { ...last, text, calls: [...last.calls, ...message.calls] }
    } else joined.push(message)
  }
  return joined
}

export type ResponsesRequest = ApiRequest & {
  /** Whether the response can be fetched and continued later. */
  store: boolean
  /** Fields that the response repeats. */
  echo: JsonObject
}

export const parseResponsesRequest = (raw: JsonObject): ResponsesRequest => {
  rejectUnsupported(raw, UNSUPPORTED)
  const body = parseBody(Body, raw)
  const { conversation } = body
  if (conversation !== undefined && body.previous_response_id !== undefined)
    throw badParameter(
      'previous_response_id',
      'Send either "previous_response_id" or "conversation", not both.',
    )
  const items: Item[] =
    typeof body.input === 'string'
      ? [{ type: 'message', role: 'user', content: body.input }]
      : body.input
  const instructions = items.flatMap((item, at) =>
    isInstruction(item) ? [plainText(item.content, `input.${at}.content`)] : [],
  )
  const offered = readTools(body.tools, 'function', (tool, within) =>
    parseBody(FunctionTool, tool, within),
  )
  const tools = chooseTools(offered, parseToolChoice(body.tool_choice))
  return {
    model: body.model,
    instructions: [body.instructions ?? '', ...instructions].filter(Boolean).join('\n\n'),
    messages: joinAnswers(
      items.flatMap((item, at) =>
        isInstruction(item) ? [] : (toMessage(item, `input.${at}`) ?? []),
      ),
    ),
    ...tools,
    format: parseFormat(body.text?.format, 'text.format'),
    oneCall: !body.parallel_tool_calls,
    effort: body.reasoning?.effort,
    stream: body.stream,
    conversation: typeof conversation === 'object' ? conversation.id : (conversation ?? null),
    previous: body.previous_response_id ?? null,
    store: body.store,
    echo: {
      instructions: body.instructions ?? null,
      metadata: body.metadata,
      parallel_tool_calls: body.parallel_tool_calls,
      previous_response_id: body.previous_response_id ?? null,
      reasoning: { effort: body.reasoning?.effort ?? null, summary: null },
      store: body.store,
      text: { format: body.text?.format ?? { type: 'text' } },
      tool_choice: body.tool_choice ?? 'auto',
      // Without those that are ignored.
      tools: body.tools.filter(({ type = 'function' }) => type === 'function'),
    },
  }
}

/** Our ids of items contain that of their response: `msg_<id>`, `fc_<id>_<number>`. */
const ITEM = /^(?:msg|fc)_([0-9a-f]+)(?:_\d+)?$/

const referenceIn = (item: unknown): string | null => {
  if (!isObject(item) || typeof item.id !== 'string') return null
  const isBare = (item.type ?? null) === null && item.role === undefined
  return item.type === 'item_reference' || isBare ? item.id : null
}

/**
 * The body with the items of stored responses that it names instead of repeating them, as the AI SDK does. `bodyOf`: the JSON text
 * of a response by its id. Throws a 404.
 */
export const withItems = (
  body: JsonObject,
  bodyOf: (responseId: string) => string | null | undefined,
): JsonObject => {
  if (!Array.isArray(body.input)) return body
  const input = body.input.map((item: unknown, at) => {
    const id = referenceIn(item)
    if (id === null) return item
    const [, answer] = ITEM.exec(id) ?? []
    const text = answer === undefined ? null : bodyOf(responseId(answer))
    const match = text && asObjects(asObject(JSON.parse(text)).output).find(each => each.id === id)
    if (match) return match
    throw missing(
      `There is no item with the id "${id.slice(0, 100)}". Items of responses with "store": false are not kept.`,
      { param: `input.${at}`, api_code: 'item_not_found' },
    )
  })
  return { ...body, input }
}
