/** What of a message is searched, and searching sessions without the index, one file after the other. */
import { setImmediate } from 'node:timers/promises'
import { redact } from '../base/redact/redact.ts'
import type { Message } from '../schema/message.ts'
import { foldText } from './catalog-schema.ts'
import { contentText } from './entries.ts'
import type { SessionFiles } from './files.ts'
import { excerptOf, type Term } from './search-query.ts'

/** The best message of a session. */
export type IndexHit = {
  session: string
  n: number
  message_id: string
  /** The text around the match. Not masked: the search worker does not know the secrets of the process. */
  excerpt: string
}

const TOOL_CHARS = 2_000
/** A secret that begins in the indexed part of an output is masked before the output is cut. */
const SECRET_CHARS = 2_000

/** The strings of a tool result, without its keys: a person searches for what the tool returned. */
const resultText = (content: string): string => {
  if (!content.startsWith('{') && !content.startsWith('[')) return content
  try {
    const strings: string[] = []
    JSON.parse(content, (_, value: unknown) => {
      if (typeof value === 'string') strings.push(value)
    })
    return strings.join('\n')
  } catch {
    // Text that begins like JSON.
    return content
  }
}

/** The text of a message to search: tool output is truncated, system messages are excluded. */
export const searchText = (message: Message): string => {
  if (message.role === 'system') return ''
  const text = contentText(message.content)
  if (message.role !== 'tool') return text
  const result = resultText(text)
  if (result.length <= TOOL_CHARS) return result
  return redact(result.slice(0, TOOL_CHARS + SECRET_CHARS)).slice(0, TOOL_CHARS)
}

/** The newest matching message of each of these sessions, until `isOver`. */
export const scanSessions = async (
  files: SessionFiles,
  ids: readonly string[],
  terms: readonly Term[],
  isOver: (hits: number) => boolean = () => false,
): Promise<IndexHit[]> => {
  const words = terms.map(({ text }) => foldText(text))
  const hits: IndexHit[] = []
  for (const id of ids) {
    if (isOver(hits.length)) break
    const { messages = [], numbers = [] } = files.fold(id)?.folded ?? {}
    const at = messages.findLastIndex(message => {
      const text = foldText(searchText(message))
      return words.every(word => text.includes(word))
    })
    const message = messages[at]
    if (message) {
      const excerpt = excerptOf(searchText(message), terms)
      hits.push({ session: id, n: numbers[at] ?? 0, message_id: message.id, excerpt })
    }
    // Lets other work go on.
    await setImmediate()
  }
  return hits
}
