/**
 * Claude: `conversations.json` with `chat_messages`, `projects.json` with the names of projects. Messages stand in the order
 * of time; newer exports have `parent_message_uuid` as well. Files are named, their extracted text is in the export.
 */
import { asArray, asObject, asObjects, asString, type JsonObject } from '../../base/json.ts'
import { toTime } from '../../base/to-time.ts'
import {
  artifact,
  type Block,
  type ConversationNode,
  file,
  type LeaveOut,
  link,
  type ReadConversation,
  reasoning,
  sources,
  text,
  textFile,
  toText,
} from './conversation.ts'

/** The parent of a first message. */
const NO_PARENT = '00000000-0000-4000-8000-000000000000'

/** Documents in older answers are elements of the text. The bound keeps text that begins many of them from taking forever. */
const withArtifacts = (words: string): Block[] =>
  words.split(/(<antArtifact\b[^>]{0,500}>[\s\S]*?(?:<\/antArtifact>|$))/).flatMap(part => {
    const [, attributes = '', content = ''] =
      /^<antArtifact\b([^>]*)>([\s\S]*?)(?:<\/antArtifact>)?$/.exec(part) ?? []
    if (attributes === '')
      return text(part.replace(/<antThinking>[\s\S]*?(?:<\/antThinking>|$)/g, ''))
    const attrs = Object.fromEntries(
      [...attributes.matchAll(/\b(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [
        name,
        value,
      ]),
    )
    return artifact(attrs.title ?? '', content.trim(), languageOf(attrs.language, attrs.type))
  })

const TYPES: Readonly<Record<string, string>> = {
  'text/markdown': 'markdown',
  'text/html': 'html',
  'image/svg+xml': 'svg',
  'application/vnd.ant.mermaid': 'mermaid',
  'application/vnd.ant.react': 'jsx',
}
const languageOf = (language: unknown, type: unknown): string =>
  asString(language) || (Object.hasOwn(TYPES, asString(type)) ? TYPES[asString(type)]! : '')

/** Of a tool's answer: a list of parts, or text. */
const outcomeOf = (content: unknown): string =>
  asArray(typeof content === 'string' ? [content] : content)
    .map(part => {
      const { type, text: words, title, url } = asObject(part)
      if (typeof part === 'string') return part
      if (type === 'image') return '[Image]'
      return (
        asString(words) || (asString(url) ? link(asString(title), asString(url)) : toText(part))
      )
    })
    .filter(Boolean)
    .join('\n')

const partBlocks = (part: JsonObject, leaveOut: LeaveOut): Block[] => {
  const id = asString(part.id)
  switch (part.type) {
    case 'text': {
      const links = asObjects(part.citations).flatMap(citation => {
        const { url, title } = { ...citation, ...asObject(citation.details) } as JsonObject
        return asString(url) ? [link(asString(title), asString(url))] : []
      })
      return [...withArtifacts(asString(part.text)), ...sources(links)]
    }
    case 'thinking':
      return reasoning(
        asString(part.thinking) ||
          asObjects(part.summaries)
            .map(({ summary }) => asString(summary))
            .join('\n\n'),
      )
    case 'tool_use': {
      const input = asObject(part.input)
      const { title, content, language, type } = input
      if (part.name === 'artifacts' && asString(content) !== '')
        return artifact(asString(title), asString(content), languageOf(language, type))
      return [
        { type: 'call', id, name: asString(part.name) || 'tool', input: part.input },
        // Its results say nothing.
        ...(part.name === 'artifacts' ? [{ type: 'result' as const, id, text: 'OK' }] : []),
      ]
    }
    case 'tool_result':
      if (part.name === 'artifacts') return []
      return [{ type: 'result', id: asString(part.tool_use_id), text: outcomeOf(part.content) }]
    case 'token_budget':
    case 'flag':
      return []
    default:
      leaveOut('part_unknown', toText(part.type))
      return text(asString(part.text))
  }
}

/** The text that was taken from a file is kept as a file. */
const attached = (message: JsonObject): Block[] => [
  ...asObjects(message.attachments).map(({ file_name, extracted_content: content }) => {
    const name = asString(file_name) || 'pasted.txt'
    return file(asString(content) === '' ? { name } : textFile(name, asString(content)))
  }),
  ...[...asObjects(message.files_v2), ...asObjects(message.files)]
    .map(each => ({
      name: asString(each.file_name) || asString(each.file_uuid),
      id: asString(each.file_uuid) || asString(each.uuid) || undefined,
    }))
    .filter(({ name, id }, at, all) => {
      const isSame = (other: { name: string; id: string | undefined }) =>
        other.name === name && (!id || !other.id || other.id === id)
      return name !== '' && all.findIndex(isSame) === at
    })
    .map(file),
]

export const readClaude: ReadConversation = (value, { leaveOut, projects }) => {
  const messages = asObjects(value.chat_messages)
  const ids = new Set(messages.flatMap(({ uuid }) => asString(uuid) || []))
  const nodes = messages.map((message, index): ConversationNode => {
    const parts = asObjects(message.content)
    const spoken = parts.length > 0 ? parts.flatMap(part => partBlocks(part, leaveOut)) : []
    const blocks = [
      ...(spoken.length > 0 ? spoken : withArtifacts(asString(message.text))),
      ...attached(message),
    ]
    const parent = asString(message.parent_message_uuid)
    const before = index === 0 ? null : asString(messages[index - 1]?.uuid) || `${index - 1}`
    return {
      id: asString(message.uuid) || `${index}`,
      parent: parent === NO_PARENT ? null : ids.has(parent) ? parent : before,
      role: blocks.length === 0 ? null : message.sender === 'human' ? 'user' : 'assistant',
      at: toTime(message.created_at),
      blocks,
    }
  })
  const project = asObject(value.project)
  const uuid = asString(project.uuid) || asString(value.project_uuid)
  const name = asString(project.name) || projects.get(uuid)
  if (uuid !== '' && !name) leaveOut('project_unnamed', asString(value.name))
  return {
    id: asString(value.uuid),
    title: asString(value.name),
    created: toTime(value.created_at),
    updated: toTime(value.updated_at),
    isPinned: value.is_starred === true,
    project: name,
    nodes,
    current: asString(value.current_leaf_message_uuid) || nodes.at(-1)?.id || null,
  }
}

/** The names of the projects. Their files and instructions are not imported. */
export const readClaudeProjects = (
  value: unknown,
  leaveOut: LeaveOut,
): ReadonlyMap<string, string> =>
  new Map(
    asObjects(value).map(({ uuid, name, docs, prompt_template }) => {
      for (const { filename } of asObjects(docs)) leaveOut('project_files', asString(filename))
      if (asString(prompt_template).trim() !== '') leaveOut('instructions', asString(name))
      return [asString(uuid), asString(name)]
    }),
  )
