/** The request format of `POST /v1/chat/completions`. Source: OpenAI API reference, Chat Completions. */
import { z } from 'zod'
import { asObject, isObject, type JsonObject } from '../base/json.ts'
import { parseFormat } from './answer-format.ts'
import type { ApiMessage, ApiPart, ApiRequest } from './api-request.ts'
import {
  AnyTool,
  badParameter,
  EffortName,
  FunctionName,
  isEmptyList,
  isFalse,
  parseBody,
  plainText,
  readTools,
  rejectUnsupported,
} from './parse.ts'
import { pdfPart } from './pdfs.ts'
import { chooseTools, parseToolChoice } from './tool-choice.ts'

const Call = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string().default('{}') }),
})

const Message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).optional(),
  tool_calls: z.array(Call).optional(),
  tool_call_id: z.string().optional(),
  refusal: z.string().optional(),
})
type Message = z.output<typeof Message>

const FunctionTool = z.looseObject({
  function: z.looseObject({
    name: FunctionName,
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
    strict: z.boolean().optional(),
  }),
})

const Body = z.looseObject({
  model: z.string().default('agent'),
  messages: z.array(Message).min(1).max(10_000),
  tools: z.array(AnyTool).default([]),
  tool_choice: z.unknown().optional(),
  response_format: z.looseObject({ json_schema: z.unknown().optional() }).optional(),
  parallel_tool_calls: z.boolean().default(true),
  reasoning_effort: EffortName.optional(),
  stream: z.boolean().default(false),
  stream_options: z.looseObject({ include_usage: z.boolean().default(false) }).optional(),
  metadata: z.record(z.string(), z.string()).optional(),
})

const UNSUPPORTED = {
  n: (value: unknown) => value === 1,
  stop: (value: unknown) => value === '' || isEmptyList(value),
  logprobs: isFalse,
  top_logprobs: (value: unknown) => value === 0,
  modalities: (value: unknown) => JSON.stringify(value) === '["text"]',
  audio: () => false,
  functions: isEmptyList,
  function_call: (value: unknown) => value === 'auto' || value === 'none',
  web_search_options: () => false,
}

const partsOf = (content: Message['content'], param: string): ApiPart[] => {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return (content ?? []).map((part, at): ApiPart => {
    if (part.type === 'text' && typeof part.text === 'string')
      return { type: 'text', text: part.text }
    const image = part.image_url
    const url = isObject(image) ? image.url : image
    if (part.type === 'image_url' && typeof url === 'string') return { type: 'image', url }
    const { file_data: data, filename } = asObject(part.file)
    const pdf = part.type === 'file' ? pdfPart(data, filename, `${param}.${at}`) : null
    if (pdf) return pdf
    throw badParameter(`${param}.${at}`, `Parts of the type "${part.type}" are not supported.`)
  })
}

const toMessage = (message: Message, param: string): ApiMessage => {
  const { role, content, tool_calls: calls = [], tool_call_id: callId, refusal } = message
  if (role === 'user') return { role, parts: partsOf(content, `${param}.content`) }
  if (role === 'assistant') {
    const text = plainText(content, `${param}.content`) || (refusal ?? '')
    return { role, text, calls: calls.map(({ id, function: called }) => ({ id, ...called })) }
  }
  if (role === 'tool' && callId !== undefined)
    return { role: 'result', callId, parts: partsOf(content, `${param}.content`) }
  throw badParameter(param, 'Messages of tools need a "tool_call_id".')
}

export type ChatRequest = ApiRequest & { includeUsage: boolean }

export const parseChatRequest = (raw: JsonObject): ChatRequest => {
  rejectUnsupported(raw, UNSUPPORTED)
  const body = parseBody(Body, raw)
  const isInstruction = ({ role }: Message) => role === 'system' || role === 'developer'
  const tools = readTools(
    body.tools,
    'function',
    (tool, within) => parseBody(FunctionTool, tool, within).function,
  )
  return {
    model: body.model,
    instructions: body.messages
      .flatMap((message, at) =>
        isInstruction(message) ? [plainText(message.content, `messages.${at}.content`)] : [],
      )
      .join('\n\n'),
    messages: body.messages.flatMap((message, at) =>
      isInstruction(message) ? [] : [toMessage(message, `messages.${at}`)],
    ),
    ...chooseTools(tools, parseToolChoice(body.tool_choice)),
    format: parseFormat(
      body.response_format,
      'response_format',
      body.response_format?.json_schema,
      'response_format.json_schema',
    ),
    oneCall: !body.parallel_tool_calls,
    effort: body.reasoning_effort,
    stream: body.stream,
    includeUsage: body.stream_options?.include_usage ?? false,
    conversation: body.metadata?.session_id ?? null,
    previous: null,
  }
}
