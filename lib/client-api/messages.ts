/** The request format of `POST /v1/messages`. Source: Anthropic API reference, Messages. */
import { z } from 'zod'
import { asObject, asObjects, type JsonObject } from '../base/json.ts'
import { parseFormat } from './answer-format.ts'
import { missing } from '../errors.ts'
import type { ApiMessage, ApiPart, ApiRequest } from './api-request.ts'
import {
  AnyTool,
  badParameter,
  EffortName,
  FunctionName,
  isEmptyList,
  parseBody,
  plainText,
  readTools,
  rejectUnsupported,
} from './parse.ts'
import { pdfPart } from './pdfs.ts'
import { chooseTools, type OfferedTools } from './tool-choice.ts'

const Block = z.looseObject({ type: z.string() })
type Block = z.output<typeof Block>

const Message = z.looseObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), z.array(Block)]),
})
type Message = z.output<typeof Message>

const ClientTool = z.looseObject({
  name: FunctionName,
  description: z.string().optional(),
  input_schema: z.record(z.string(), z.unknown()).optional(),
  strict: z.boolean().optional(),
  defer_loading: z.boolean().optional(),
})

const Body = z.looseObject({
  model: z.string(),
  /** Required by the API. A turn of the agent is not limited by it. */
  max_tokens: z.number().int().min(1).optional(),
  messages: z.array(Message).min(1).max(10_000),
  system: z.union([z.string(), z.array(Block)]).optional(),
  tools: z.array(AnyTool).default([]),
  tool_choice: z
    .looseObject({
      type: z.enum(['auto', 'none', 'any', 'tool']),
      name: z.string().optional(),
      disable_parallel_tool_use: z.boolean().default(false),
    })
    .optional(),
  output_config: z
    .looseObject({ effort: EffortName.optional(), format: z.unknown().optional() })
    .optional(),
  /** Its name while it was a beta. */
  output_format: z.unknown().optional(),
  thread: z.looseObject({ type: z.string() }).optional(),
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

/** Of the blocks that are text in another form; null for others. */
const textOfBlock = (block: Block): string | null => {
  const { type, source, content, title, tool_name: tool } = block
  // What a tool search of the client found: such a tool is described from then on.
  if (type === 'tool_reference') return typeof tool === 'string' ? `[tool: ${tool}]` : null
  if (type === 'search_result') return [title, plainText(content, 'content')].join('\n')
  if (type !== 'document') return null
  const { type: kind, data, media_type: media, content: inside } = asObject(source)
  if (kind === 'text' && typeof data === 'string') return data
  if (kind === 'content') return plainText(inside, 'content')
  return kind === 'base64' && typeof data === 'string' && /^text\//.test(String(media))
    ? Buffer.from(data, 'base64').toString('utf8')
    : null
}

const partsOf = (content: unknown, param: string): ApiPart[] => {
  if (content === undefined) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  const blocks = parseBody(z.array(Block), content)
  return blocks.map((block, at): ApiPart => {
    if (block.type === 'text' && typeof block.text === 'string')
      return { type: 'text', text: block.text }
    if (block.type === 'image') return imageOf(block, `${param}.${at}`)
    const text = textOfBlock(block)
    if (text !== null) return { type: 'text', text }
    const { type: kind, data, media_type: media } = asObject(block.source)
    const isFile = block.type === 'document' && kind === 'base64'
    const url = `data:${media};base64,${data}`
    const pdf = isFile ? pdfPart(url, block.title, `${param}.${at}`) : null
    if (pdf) return pdf
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

const blocksOf = ({ content }: Message): Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content

const toMessages = (message: Message, param: string): ApiMessage[] => {
  const { role } = message
  if (role === 'system') return []
  const blocks = blocksOf(message)
  return role === 'user' ? fromUser(blocks, param) : [fromAssistant(blocks, param)]
}

/** Of messages with the role `system`, which Claude Code sends among the others. */
const systemTexts = (messages: readonly Message[]): string[] =>
  messages.flatMap((message, at) =>
    message.role === 'system'
      ? blocksOf(message).flatMap((block, index) =>
          TOOL_CHANGES.has(block.type)
            ? []
            : [plainText([block], `messages.${at}.content.${index}`)],
        )
      : [],
  )

const TOOL_CHANGES = new Set(['tool_addition', 'tool_removal'])

/** The tools that the conversation has added and removed, and those that a search of the client has found. */
const toolChanges = (messages: readonly Message[]) => {
  const added = new Map<string, unknown>()
  const references = new Set<string>()
  const removed = new Set<string>()
  for (const block of messages.flatMap(blocksOf)) {
    const tool = asObject(block.tool)
    const { name = tool.name ?? tool.tool_name, ...rest } = asObject(tool.definition)
    if (block.type === 'tool_addition') {
      if (tool.type === 'tool_definition') added.set(String(name), { name, ...rest })
      references.add(String(name))
      removed.delete(String(name))
    }
    if (block.type === 'tool_removal') removed.add(String(name))
    if (block.type === 'tool_result')
      for (const { type, tool_name } of asObjects(block.content))
        if (type === 'tool_reference') references.add(String(tool_name))
  }
  return { added, references, removed }
}

/** Tools that are loaded later are described once they were found; without a search of the client they never would be. */
const offeredTools = ({
  messages,
  tools: requestTools,
  tool_choice: choice,
}: z.output<typeof Body>): OfferedTools => {
  const { added, references, removed } = toolChanges(messages)
  const names = new Set(requestTools.map(({ name }) => name))
  const others = [...added].flatMap(([name, tool]) => (names.has(name) ? [] : [tool]))
  const tools = [...requestTools, ...parseBody(z.array(AnyTool), others, ['messages'])]
  const isSearchedHere = tools.some(({ type }) => type?.startsWith('tool_search'))
  const offered = readTools(tools, 'custom', (tool, within) => {
    const { input_schema: parameters, ...rest } = parseBody(ClientTool, tool, within)
    return { ...rest, parameters }
  })
  const isLater = (name: string) =>
    !isSearchedHere &&
    !references.has(name) &&
    choice?.name !== name &&
    requestTools.some(tool => tool.name === name && tool.defer_loading === true)
  const functions = offered.functions.filter(({ name }) => !removed.has(name) && !isLater(name))
  return { ...offered, functions }
}

const CHOICES = { auto: 'auto', none: 'none', any: 'required', tool: 'required' } as const

const formatIn = ({ output_config: config, output_format: former }: z.output<typeof Body>) => {
  if (config?.format !== undefined && former !== undefined)
    throw badParameter('output_format', 'Send "output_config.format" only.')
  const format =
    former === undefined
      ? parseFormat(config?.format, 'output_config.format')
      : parseFormat(former, 'output_format')
  // The API has no other way to say it.
  return format && { ...format, strict: true }
}

export const parseMessagesRequest = (raw: JsonObject): ApiRequest => {
  rejectUnsupported(raw, UNSUPPORTED)
  const body = parseBody(Body, raw)
  // Conversations are found by their history: the client's library sends it again when it reads this.
  if (body.thread?.type === 'continue')
    throw missing('This server keeps no threads: send the whole conversation.', {
      param: 'thread',
      details: { error_code: 'thread_not_found' },
    })
  const { type: choice = 'auto', name } = body.tool_choice ?? {}
  if (choice === 'tool' && name === undefined)
    throw badParameter('tool_choice.name', 'The name of the tool is missing.')
  return {
    model: body.model,
    instructions: [plainText(body.system, 'system'), ...systemTexts(body.messages)]
      .filter(Boolean)
      .join('\n\n'),
    messages: body.messages.flatMap((message, at) => toMessages(message, `messages.${at}.content`)),
    ...chooseTools(offeredTools(body), {
      mode: CHOICES[choice],
      ...(choice === 'tool' && name !== undefined && { names: [name] }),
    }),
    format: formatIn(body),
    oneCall: body.tool_choice?.disable_parallel_tool_use ?? false,
    effort: body.output_config?.effort,
    stream: body.stream,
    conversation: body.metadata?.session_id ?? null,
    previous: null,
  }
}
