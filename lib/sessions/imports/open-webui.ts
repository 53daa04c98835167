/**
 * Open WebUI: a list of chats. `chat.history.messages` is a tree with `parentId`, `currentId` its last message that was shown.
 * Reasoning, tool calls, and code are in `output`, or in older chats `<details>` elements of the text.
 */
import {
  asArray,
  asObject,
  asObjects,
  asString,
  type JsonObject,
  isObject,
} from '../../base/json.ts'
import { toTime } from '../../base/to-time.ts'
import { parseDataUrl } from '../../base/data-url.ts'
import {
  type Block,
  code,
  type ConversationNode,
  file,
  type FileRef,
  type LeaveOut,
  link,
  type ReadConversation,
  reasoning,
  sources,
  text,
  textFile,
  toText,
} from './conversation.ts'

const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#x27;': "'",
  '&#39;': "'",
  '&amp;': '&',
}
const unescapeHtml = (words: string): string =>
  words.replace(/&(?:lt|gt|quot|#x27|#39|amp);/g, entity => ENTITIES[entity] ?? entity)

/** JSON text in JSON text, as attributes of a tool call have it. */
const innerText = (words: string): string => {
  try {
    const value: unknown = JSON.parse(words)
    return typeof value === 'string' ? value : words
  } catch {
    // Plain text.
    return words
  }
}

const DETAILS =
  /<details\b([^<>]*\btype="(?:reasoning|tool_calls|code_interpreter)"[^<>]*)>([\s\S]*?)(?:<\/details>|$)/g

const detailsBlocks = (attributes: string, content: string): Block[] => {
  const of = (name: string): string =>
    unescapeHtml(new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '')
  const body = content.replace(/^\s*<summary>[\s\S]*?<\/summary>/, '').trim()
  if (of('type') === 'reasoning') return reasoning(unescapeHtml(body).replace(/^> ?/gm, ''))
  const id = of('id')
  if (of('type') === 'tool_calls')
    return [
      { type: 'call', id, name: of('name') || 'tool', input: innerText(of('arguments')) },
      { type: 'result', id, text: innerText(of('result')) || unescapeHtml(body) },
    ]
  const lines = body.split('\n')
  const isFenced =
    lines.length > 1 && lines[0]?.startsWith('```') && lines.at(-1)?.startsWith('```')
  return [
    {
      type: 'call',
      id,
      name: 'code_interpreter',
      input: { code: isFenced ? lines.slice(1, -1).join('\n') : body },
    },
    ...(of('output') === '' ? [] : [{ type: 'result' as const, id, text: of('output') }]),
  ]
}

/** `split` puts the two groups of each element between the texts around them. */
const contentBlocks = (content: string): Block[] =>
  content
    .split(DETAILS)
    .flatMap((part, at, all) =>
      at % 3 === 0 ? text(part.trim()) : at % 3 === 1 ? detailsBlocks(part, all[at + 1] ?? '') : [],
    )

const itemText = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : asObjects(value)
        .map(part => asString(part.text))
        .join('\n')

/** Items of newer chats, which have the order of what happened. */
const outputBlocks = (item: JsonObject, leaveOut: LeaveOut): Block[] => {
  const id = asString(item.call_id) || asString(item.id)
  switch (item.type) {
    case 'message':
      return text(itemText(item.content))
    case 'reasoning':
      return reasoning(itemText(item.content) || itemText(item.summary))
    case 'function_call':
      return [{ type: 'call', id, name: asString(item.name) || 'tool', input: item.arguments }]
    case 'function_call_output':
      return [{ type: 'result', id, text: itemText(item.output) }]
    case 'open_webui:code_interpreter':
    case 'code_interpreter':
      return [
        { type: 'call', id, name: 'code_interpreter', input: { code: asString(item.code) } },
        ...(item.output === undefined || item.output === null
          ? []
          : [{ type: 'result' as const, id, text: toText(item.output) }]),
      ]
    default:
      leaveOut('part_unknown', toText(item.type))
      return text(itemText(item.content))
  }
}

/** With its content: a picture in the export itself, or the text that was taken from a document. */
const fileRef = (ref: JsonObject): FileRef => {
  const inner = asObject(ref.file)
  const url = asString(ref.url)
  const picture = parseDataUrl(url)
  const name = [ref.name, inner.filename, asObject(inner.meta).name].map(asString).find(Boolean)
  if (picture)
    return {
      name: name ?? `image.${picture.mediaType.split('/')[1]?.replace(/\W.*/, '') ?? 'png'}`,
      data: Buffer.from(picture.data, 'base64'),
    }
  const content = asString(asObject(inner.data).content)
  const id = asString(ref.id) || asString(inner.id) || undefined
  if (content !== '') return textFile(name ?? 'document', content)
  return { name: name ?? (url || id || 'file'), id }
}

const sourceLinks = (message: JsonObject): string[] =>
  [...asObjects(message.sources), ...asObjects(message.citations)].flatMap(source => {
    const { name, url } = asObject(source.source)
    const places = asObjects(source.metadata).map(each => asString(each.source))
    const addresses = [asString(url), ...places, asString(name)].filter(each =>
      /^https?:/i.test(each),
    )
    return addresses.length > 0
      ? addresses.map(address => link(asString(name) || address, address))
      : asString(name) === ''
        ? []
        : [link(asString(name), '')]
  })

const blocksOf = (message: JsonObject, leaveOut: LeaveOut): Block[] => {
  const output = asObjects(message.output).flatMap(item => outputBlocks(item, leaveOut))
  const isUser = message.role === 'user'
  const content = itemText(message.content)
  const pictures = asObjects(message.content)
    .map(part => asObject(part.image_url))
    .filter(({ url }) => url)
  const spoken = output.length > 0 ? output : isUser ? text(content) : contentBlocks(content)
  const runs = asObjects(message.code_executions).map(({ name, code: words, language, result }) =>
    [asString(name), code(asString(words), asString(language)), toText(asObject(result).output)]
      .filter(Boolean)
      .join('\n\n'),
  )
  if (isObject(message.annotation) && message.annotation.rating !== undefined) leaveOut('rating')
  const { error } = message
  const failure = typeof error === 'string' ? error : itemText(asObject(error).content)
  return [
    ...spoken,
    ...text(failure),
    ...text(asString(asObject(message.merged).content)),
    ...runs.flatMap(text),
    ...sources(sourceLinks(message)),
    ...[...asObjects(message.files), ...asObjects(message.images), ...pictures].map(ref =>
      file(fileRef(ref)),
    ),
  ]
}

export const readOpenWebUi: ReadConversation = (value, { leaveOut }) => {
  const chat = isObject(value.chat) ? value.chat : value
  const history = asObject(chat.history)
  const list = asObjects(chat.messages)
  const tree = Object.entries(asObject(history.messages)).filter(([, message]) => isObject(message))
  const entries: [string, JsonObject][] =
    tree.length > 0
      ? (tree as [string, JsonObject][])
      : list.map((message, index) => [
          `${index}`,
          { ...message, parentId: index === 0 ? null : `${index - 1}` },
        ])
  const nodes = entries.map(([id, message]): ConversationNode => {
    const isSystem = message.role === 'system'
    if (isSystem) leaveOut('instructions', asString(value.title))
    const blocks = isSystem ? [] : blocksOf(message, leaveOut)
    return {
      id,
      parent: asString(message.parentId) || null,
      role: blocks.length === 0 ? null : message.role === 'user' ? 'user' : 'assistant',
      at: toTime(message.timestamp),
      model: asString(message.model) || undefined,
      blocks,
    }
  })
  const title = asString(value.title) || asString(chat.title)
  const isInstructed = [chat.system, asObject(chat.params).system].map(asString).some(Boolean)
  if (isInstructed) leaveOut('instructions', title)
  if (asString(value.folder_id) !== '') leaveOut('project_unnamed', title)
  const tags = [...asArray(asObject(value.meta).tags), ...asArray(chat.tags)]
    .map(tag => asString(tag) || asString(asObject(tag).name))
    .filter(Boolean)
  return {
    id: asString(value.id) || asString(chat.id),
    title,
    created: toTime(value.created_at) ?? toTime(chat.timestamp),
    updated: toTime(value.updated_at),
    isArchived: value.archived === true,
    isPinned: value.pinned === true,
    tags,
    nodes,
    current:
      asString(history.currentId) || asString(history.current_id) || nodes.at(-1)?.id || null,
  }
}
