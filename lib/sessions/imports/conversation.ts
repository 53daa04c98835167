/** A conversation of any program, as the readers of the formats return it and the writer of sessions takes it. */
import { codeBlock } from '../../base/code-block.ts'
import type { JsonObject } from '../../base/json.ts'
import type { LeftOutCode } from '../../schema/import.ts'

/** A file of a message: by what the archive calls it, or with its content. */
export type FileRef = {
  name: string
  id?: string | undefined
  data?: Buffer | undefined
  /** Where the archive calls it `.dat`. */
  isImage?: boolean
}

export type Block =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'call'; id: string; name: string; input: unknown }
  /** Without `id`: of the last call that has none. */
  | { type: 'result'; id?: string | undefined; text: string }
  | { type: 'file'; file: FileRef }

export type ConversationNode = {
  id: string
  parent: string | null
  /** Null: nothing of it is shown; what follows it follows its parent. */
  role: 'user' | 'assistant' | null
  /** Seconds since 1970. */
  at?: number | undefined
  model?: string | undefined
  blocks: readonly Block[]
}

export type Conversation = {
  /** Stable: the same in each export of it. */
  id: string
  title: string
  created?: number | undefined
  updated?: number | undefined
  isArchived?: boolean
  isPinned?: boolean
  project?: string | undefined
  tags?: readonly string[]
  nodes: readonly ConversationNode[]
  /** The last message of what was shown. */
  current: string | null
}

/** Counts something that is not imported; `name` is what a person knows it by. */
export type LeaveOut = (code: LeftOutCode, name?: string) => void

export type ReadContext = {
  leaveOut: LeaveOut
  /** Names of projects by their ids, where the export has them. */
  projects: ReadonlyMap<string, string>
}

/** Throws for what is no conversation of this format. */
export type ReadConversation = (value: JsonObject, context: ReadContext) => Conversation

export const text = (words: string): Block[] =>
  words.trim() === '' ? [] : [{ type: 'text', text: words }]
export const reasoning = (words: string): Block[] =>
  words.trim() === '' ? [] : [{ type: 'reasoning', text: words }]
export const file = (ref: FileRef): Block => ({ type: 'file', file: ref })

const TEXT_FILE =
  /\.(?:txt|md|csv|json|html?|xml|ya?ml|[cm]?[jt]sx?|py|sh|css|log|sql|c|h|cpp|java|go|rs|rb|php)$/i

/** The text that the other program took from a file. */
export const textFile = (name: string, content: string): FileRef => ({
  name: TEXT_FILE.test(name) ? name : `${name}.txt`,
  data: Buffer.from(content),
})

/** A block of code in a language that the export names. */
export const code = (words: string, language: string): string =>
  codeBlock(words, /^[\w+#.-]*$/.test(language) ? language : '')

/** A document that the assistant wrote beside its answer. */
export const artifact = (title: string, content: string, language: string): Block[] =>
  text(
    `${title.trim() === '' ? '' : `**${title.trim()}**\n\n`}${language === 'markdown' ? content : code(content, language)}`,
  )

/** A Markdown link; only its title for an address that is none of the web. */
export const link = (title: string, url: string): string => {
  const words = (title.trim() || url).replace(/\s+/g, ' ').replace(/[[\]\\]/g, '\\$&')
  if (!/^https?:/i.test(url) || !URL.canParse(url)) return words
  return `[${words}](${new URL(url).href.replace(/[()]/g, sign => (sign === '(' ? '%28' : '%29'))})`
}

export const sources = (links: readonly string[]): Block[] =>
  links.length === 0 ? [] : text([...new Set(links)].map(each => `- ${each}`).join('\n'))

/** JSON that is text already stays as it is. */
export const toText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value, null, 2)
