/** The request format of `POST /v1/messages`. Source: Anthropic API reference, Messages. */
import { z } from 'zod'
import type { JsonObject } from '../base/json.ts'
import type { ApiMessage, ApiPart, ApiRequest } from './api-request.ts'
import {
  badParameter,
  EffortName,
  FunctionName,
  isEmptyList,
  parseBody,
  plainText,
  rejectUnsupported,
  toTools,
} from './parse.ts'

const Block = z.looseObject({ type: z.string() })
type Block = z.output<typeof Block>

const Message = z.looseObject({
  role: z.enum(['user', 'assistant']),
  content: z.union([z.string(), z.array(Block)]),
})
type Message = z.output<typeof Message>

const ClientTool = z.looseObject({
  type: z.literal('custom', 'only tools of the client are possible here').optional(),
  name: FunctionName,
  description: z.string().optional(),
  input_schema: z.record(z.string(), z.unknown()).optional(),
  strict: z.boolean().optional(),
})

const Body = z.looseObject({
  model: z.string(),
  /** Required by the API. A turn of the agent is not limited by it. */
  max_tokens: z.number().int().min(1).optional(),
  messages: z.array(Message).min(1).max(10_000),
  system: z.union([z.string(), z.array(Block)]).optional(),
  tools: z.array(ClientTool).default([]),
  tool_choice: z
    .looseObject({ type: z.string(), disable_parallel_tool_use: z.boolean().default(false) })
    .optional(),
  output_config: z.looseObject({ effort: EffortName.optional() }).optional(),
  stream: z.boolean().default(false),
  metadata: z.looseObject({ session_id: z.string().optional() }).optional(),
})

const UNSUPPORTED = {
  stop_sequences: isEmptyList,
  mcp_servers: isEmptyList,
  container: () => false,
}

const imageOf = ({ source }: Block, param: string): ApiPart => {
  const { type, url, data, media_type: media } = (source ?? {}) as Record<string, unknown>
  if (type === 'url' && typeof url === 'string') return { type: 'image', url }
  if (type === 'base64' && typeof data === 'string' && typeof media === 'string')
    return { type: 'image', url: `data:${media};base64,${data}` }
  throw badParameter(param, 'An image needs a source of the type "base64" or "url".')
}

const partsOf = (content: unknown, param: string): ApiPart[] => {
  if (content === undefined) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  const blocks = parseBody(z.array(Block), content)
  return blocks.map((block, at): ApiPart => {
    if (block.type === 'text' && typeof block.text === 'string')
      return { type: 'text', text: block.text }
    if (block.type === 'image') return imageOf(block, `${param}.${at}`)
    throw badParameter(`${param}.${at}`, `Blocks of the type "${block.type}" are not supported.`)
  })
}

/** Results come first in a user message, as the API requires. */
const fromUser = (content: Block[], param: string): ApiMessage[] => {
  const isResult = ({ type }: Block) => type === 'tool_result'
  const results = content.filter(isResult).map((block, at): ApiMessage => {
    if (typeof block.tool_use_id !== 'string')
      throw badParameter(`${param}.${at}`, 'A tool_result needs a "tool_use_id".')
    const parts = partsOf(block.content, `${param}.${at}.content`)
    const marked: ApiPart[] = block.is_error === true ? [{ type: 'text', text: 'Error:' }] : []
    return { role: 'result', callId: block.tool_use_id, parts: [...marked, ...parts] }
  })
  const rest = content.filter(block => !isResult(block))
  return rest.length === 0 ? results : [...results, { role: 'user', parts: partsOf(rest, param) }]
}

/** Thinking of earlier answers is left out: the agent keeps its own. */
const fromAssistant = (content: Block[], param: string): ApiMessage => ({
  role: 'assistant',
  text: content
    .flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []))
    .join('\n'),
  calls: content.flatMap((block, at) => {
    if (block.type !== 'tool_use') return []
    if (typeof block.id !== 'string' || typeof block.name !== 'string')
      throw badParameter(`${param}.${at}`, 'A tool_use needs an "id" and a "name".')
    return [{ id: block.id, name: block.name, arguments: JSON.stringify(block.input ?? {}) }]
  }),
})

const toMessages = ({ role, content }: Message, param: string): ApiMessage[] => {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return role === 'user' ? fromUser(blocks, param) : [fromAssistant(blocks, param)]
}

export const parseMessagesRequest = (given: JsonObject): ApiRequest => {
  rejectUnsupported(given, UNSUPPORTED)
  const body = parseBody(Body, given)
  const choice = body.tool_choice?.type ?? 'auto'
  if (choice !== 'auto' && choice !== 'none')
    throw badParameter('tool_choice', 'Only "auto" and "none" are supported: the agent decides.')
  const tools = toTools(
    body.tools.map(({ input_schema: parameters, ...tool }) => ({ ...tool, parameters })),
  )
  return {
    model: body.model,
    instructions: plainText(body.system, 'system'),
    messages: body.messages.flatMap((message, at) => toMessages(message, `messages.${at}.content`)),
    functions: choice === 'none' ? [] : tools,
    oneCall: body.tool_choice?.disable_parallel_tool_use ?? false,
    effort: body.output_config?.effort,
    stream: body.stream,
    conversation: body.metadata?.session_id ?? null,
    previous: null,
  }
}
