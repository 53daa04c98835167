/**
 * LibreChat: one conversation a file. `messages` with `parentMessageId`, or with `recursive` trees of `children`, in older
 * exports below `messagesTree`. Files are named only.
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
import {
  type Block,
  type ConversationNode,
  file,
  type LeaveOut,
  type ReadConversation,
  reasoning,
  text,
  toText,
} from './conversation.ts'

/** The name at the end of a path or an address. */
const lastName = (path: string): string => path.split(/[?#]/)[0]?.split('/').at(-1) ?? ''

/** `text: '…'` or `text: { value: '…' }` */
const wordsOf = (value: unknown): string => asString(value) || asString(asObject(value).value)

const partBlocks = (part: unknown, leaveOut: LeaveOut): Block[] => {
  if (typeof part === 'string') return text(part)
  if (!isObject(part)) return []
  switch (part.type) {
    case 'text':
    case 'error':
      return text(wordsOf(part.text) || wordsOf(part.error))
    case 'think':
      return reasoning(wordsOf(part.think))
    case 'tool_call': {
      const call = asObject(part.tool_call)
      const inner = asObject(call.function)
      const id = asString(call.id)
      const code = asObject(call.code_interpreter)
      const name = asString(call.name) || asString(inner.name) || asString(call.type) || 'tool'
      const output = call.output ?? inner.output ?? code.outputs
      return [
        { type: 'call', id, name, input: call.args ?? inner.arguments ?? code.input ?? {} },
        ...(output === undefined || output === null
          ? []
          : [{ type: 'result' as const, id, text: toText(output) }]),
      ]
    }
    case 'image_file': {
      const { filename, filepath, file_id } = asObject(part.image_file)
      return [
        file({
          name: asString(filename) || lastName(asString(filepath)) || asString(file_id) || 'image',
          id: asString(file_id) || undefined,
        }),
      ]
    }
    case 'image_url': {
      const url = asString(asObject(part.image_url).url) || asString(part.image_url)
      return [file({ name: lastName(url) || 'image', id: undefined })]
    }
    case 'agent_update':
      return []
    default:
      leaveOut('part_unknown', toText(part.type))
      return []
  }
}

const blocksOf = (message: JsonObject, leaveOut: LeaveOut): Block[] => {
  const parts = asArray(message.content).flatMap(part => partBlocks(part, leaveOut))
  if (isObject(message.feedback)) leaveOut('rating')
  const files = [...asObjects(message.files), ...asObjects(message.attachments)]
    .map(({ filename, filepath, file_id }) => ({
      name: asString(filename) || lastName(asString(filepath)),
      id: asString(file_id) || undefined,
    }))
    .filter(({ name }) => name !== '')
  return [...(parts.length > 0 ? parts : text(asString(message.text))), ...files.map(file)]
}

/** All messages of a tree, each with its parent, the parent first. A conversation may be thousands of messages deep. */
const flatten = (roots: readonly JsonObject[]): JsonObject[] => {
  const flat: JsonObject[] = []
  const open = roots.map(message => ({ message, parent: null as unknown })).reverse()
  for (let next = open.pop(); next; next = open.pop()) {
    const { message, parent } = next
    const { children, ...rest } = message
    const nested = asObjects(children)
    const id = asString(message.messageId) || `${flat.length}`
    flat.push({ ...rest, messageId: id, parentMessageId: parent ?? rest.parentMessageId })
    for (const child of nested.toReversed()) open.push({ message: child, parent: id })
  }
  return flat
}

export const readLibreChat: ReadConversation = (value, { leaveOut }) => {
  const messages = flatten(asObjects(value.messagesTree ?? value.messages))
  const ids = new Set(messages.map(({ messageId }) => messageId))
  const isTree = messages.some(({ parentMessageId: id }) => ids.has(id))
  const nodes = messages.map((message, index): ConversationNode => {
    const blocks = blocksOf(message, leaveOut)
    const isUser =
      message.isCreatedByUser === true || asString(message.sender).toLowerCase() === 'user'
    const { parentMessageId } = message
    const before = index === 0 || isTree ? null : asString(messages[index - 1]?.messageId)
    return {
      id: asString(message.messageId),
      parent: ids.has(parentMessageId) ? asString(parentMessageId) : before,
      role: blocks.length === 0 ? null : isUser ? 'user' : 'assistant',
      at: toTime(message.createdAt),
      model: asString(message.model) || undefined,
      blocks,
    }
  })
  const options = asObject(value.options)
  const instructions = [options.promptPrefix, options.system, options.instructions].map(asString)
  if (instructions.some(Boolean)) leaveOut('instructions', asString(value.title))
  return {
    id: asString(value.conversationId),
    title: asString(value.title),
    created: toTime(value.createdAt),
    updated: toTime(value.updatedAt),
    isArchived: value.isArchived === true,
    tags: asArray(value.tags ?? options.tags).filter(tag => typeof tag === 'string'),
    nodes,
    // The export does not say what was shown: the last message is the newest branch.
    current: nodes.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0)).at(-1)?.id ?? null,
  }
}
