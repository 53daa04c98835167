/**
 * ChatGPT: `conversations.json`, in newer exports `conversations-000.json` and so on. `mapping` is a tree of nodes with
 * `parent`; `current_node` is its last one that was shown. Files are named by their ids.
 */
import {
  asArray,
  asObject,
  asObjects,
  asString,
  isObject,
  type JsonObject,
} from '../../base/json.ts'
import { toTime } from '../../base/to-time.ts'
import {
  artifact,
  type Block,
  type ConversationNode,
  file,
  link,
  type ReadContext,
  type ReadConversation,
  reasoning,
  text,
  toText,
} from './conversation.ts'

/** `file-service://file-AbC`, `sediment://file_0123` */
const assetId = (pointer: unknown): string =>
  asString(pointer)
    .replace(/^[\w-]+:\/\//, '')
    .split(/[/?#]/)[0] ?? ''

const nameOfAsset = (id: string, attachments: readonly JsonObject[]): string =>
  asString(attachments.find(each => each.id === id)?.name) || id

/** Pictures, recordings and uploads are parts that point to a file; a recording of a conversation has several. */
const partBlocks = (
  part: unknown,
  attachments: readonly JsonObject[],
  context: ReadContext,
): Block[] => {
  if (typeof part === 'string') return text(part)
  const { content_type: type, asset_pointer: pointer, ...rest } = asObject(part)
  if (type === 'audio_transcription') return text(asString(rest.text))
  const inner = [rest.audio_asset_pointer, rest.video_container_asset_pointer].filter(isObject)
  const pointers = pointer === undefined ? inner.map(each => each.asset_pointer) : [pointer]
  const ids = pointers.map(assetId).filter(Boolean)
  if (ids.length === 0 && asString(rest.text) === '') context.leaveOut('part_unknown', toText(type))
  return [
    ...text(asString(rest.text)),
    ...ids.map(id =>
      file({ id, name: nameOfAsset(id, attachments), isImage: type === 'image_asset_pointer' }),
    ),
  ]
}

/** Markers of citations and other elements of the page, in characters for private use. */
const MARKER = /\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue206]/g

/** Citations as links: by the text they stand for, or in older exports by its place. */
const withCitations = (words: string, { content_references, citations }: JsonObject): string => {
  let result = words
  const places = asObjects(citations).toSorted((a, b) => Number(b.start_ix) - Number(a.start_ix))
  for (const { start_ix: start, end_ix: end, metadata } of places) {
    const { title, url } = asObject(metadata)
    if (!Number.isInteger(start) || !Number.isInteger(end) || asString(url) === '') continue
    if ((start as number) >= (end as number)) continue
    result = `${result.slice(0, start as number)} (${link(asString(title), asString(url))})${result.slice(end as number)}`
  }
  for (const reference of asObjects(content_references)) {
    const matched = asString(reference.matched_text)
    // Others stand for words of the answer itself.
    if (!/^[\ue200\u3010]/.test(matched)) continue
    const links = [reference, ...asObjects(reference.items), ...asObjects(reference.sources)]
      .filter(({ url }) => asString(url) !== '')
      .map(({ title, url }) => link(asString(title), asString(url)))
    result = result.replaceAll(matched, () => (links.length > 0 ? ` (${links.join(', ')})` : ''))
  }
  return result.replace(MARKER, '')
}

/** What the assistant sent to a tool: a call, or the document that it created beside the chat. */
const callBlocks = (id: string, recipient: string, words: string): Block[] => {
  if (recipient === 'canmore.create_textdoc') {
    try {
      const { name, type, content } = asObject(JSON.parse(words))
      const language = asString(type).replace(/^code\//, '')
      if (asString(content) !== '')
        return artifact(
          asString(name),
          asString(content),
          language === 'document' ? 'markdown' : language,
        )
    } catch {
      // A document that was cut off while it was written: the call has its text.
    }
  }
  return [
    { type: 'call', id, name: recipient, input: recipient === 'python' ? { code: words } : words },
  ]
}

const thoughts = (content: JsonObject): Block[] =>
  reasoning(
    asObjects(content.thoughts)
      .map(({ summary, content: words }) =>
        [asString(summary), asString(words)].filter(Boolean).join('\n\n'),
      )
      .join('\n\n'),
  )

/** The blocks of a message; null when it is not part of what was shown. */
const blocksOf = (id: string, message: JsonObject, context: ReadContext): Block[] | null => {
  const { leaveOut } = context
  const [author, content, metadata] = [message.author, message.content, message.metadata].map(
    asObject,
  ) as [JsonObject, JsonObject, JsonObject]
  const kind = asString(content.content_type)
  const skip = (code: Parameters<typeof leaveOut>[0]): null => {
    leaveOut(code)
    return null
  }
  if (kind === 'user_editable_context' || metadata.is_user_system_message === true)
    return skip('instructions')
  if (kind === 'model_editable_context' || author.name === 'bio') return skip('memory')
  const isHidden = metadata.is_visually_hidden_from_conversation === true
  const role = asString(author.role)
  if (isHidden || role === 'system') return skip('hidden')
  if (kind === 'thoughts') return thoughts(content)
  // "Thought for 5 seconds".
  if (kind === 'reasoning_recap') return null

  const attachments = asObjects(metadata.attachments)
  const parts = asArray(content.parts)
  const body =
    parts.length > 0
      ? parts.flatMap(part => partBlocks(part, attachments, context))
      : text([content.text, content.result, content.content].map(asString).find(Boolean) ?? '')
  if (
    body.length === 0 &&
    ![
      '',
      'text',
      'code',
      'multimodal_text',
      'execution_output',
      'tether_browsing_display',
    ].includes(kind)
  )
    leaveOut('part_unknown', kind)
  const words = body.flatMap(block => (block.type === 'text' ? [block.text] : [])).join('\n\n')
  const others = body.filter(({ type }) => type !== 'text')
  if (role === 'tool') {
    const outcome = [asString(content.title), asString(content.url), words]
      .filter(Boolean)
      .join('\n')
    const drawn = asObjects(asObject(metadata.aggregate_result).messages)
      .map(({ image_url }) => assetId(image_url))
      .filter(Boolean)
      .map(asset => file({ id: asset, name: asset, isImage: true }))
    return [
      ...(outcome === '' ? [] : [{ type: 'result' as const, text: outcome }]),
      ...others,
      // Pictures that code has made.
      ...drawn,
    ]
  }
  if (role === 'assistant') {
    const recipient = asString(message.recipient)
    const isCall = kind === 'code' || (recipient !== '' && recipient !== 'all')
    if (isCall)
      return words === ''
        ? others
        : callBlocks(id, recipient === 'all' || recipient === '' ? 'python' : recipient, words)
    return [...text(withCitations(words, metadata)), ...others]
  }
  const fileIds = new Set(others.flatMap(block => (block.type === 'file' ? [block.file.id] : [])))
  const more = attachments
    .filter(each => !fileIds.has(asString(each.id)))
    .map(each =>
      file({ id: asString(each.id) || undefined, name: asString(each.name) || asString(each.id) }),
    )
  return [...text(words), ...others, ...more]
}

export const readChatGpt: ReadConversation = (value, context) => {
  const nodes = Object.entries(asObject(value.mapping)).map(([id, node]): ConversationNode => {
    const { parent, message } = asObject(node)
    const blocks = isObject(message) ? blocksOf(id, message, context) : null
    const { author, create_time, metadata } = asObject(message)
    const isUser = asObject(author).role === 'user'
    return {
      id,
      parent: typeof parent === 'string' ? parent : null,
      role: blocks === null || blocks.length === 0 ? null : isUser ? 'user' : 'assistant',
      at: toTime(create_time),
      model: asString(asObject(metadata).model_slug) || undefined,
      blocks: blocks ?? [],
    }
  })
  const gizmo = asString(value.gizmo_id) || asString(value.conversation_template_id)
  // Projects are custom assistants of another kind, and exports do not name them.
  if (gizmo.startsWith('g-p-')) context.leaveOut('project_unnamed', asString(value.title))
  else if (gizmo !== '') context.leaveOut('custom_assistant', asString(value.title))
  return {
    id: asString(value.conversation_id) || asString(value.id),
    title: asString(value.title),
    created: toTime(value.create_time),
    updated: toTime(value.update_time),
    isArchived: value.is_archived === true,
    isPinned: value.is_starred === true || (toTime(value.pinned_time) ?? 0) > 0,
    nodes,
    current: asString(value.current_node) || null,
  }
}
