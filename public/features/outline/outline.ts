/** The outline of a chat: its requests, and the headings of their answers. */
import { lex, type Token, type Tokens } from '../../../lib/base/markdown/lexer.ts'
import { toPlainText } from '../../markdown/plain-text.ts'
import type { Message } from '../../../lib/schema/message.ts'
import { messageText, withoutFiles } from '../messages/message-text.ts'
import { isCompaction, secondsOf, splitText } from '../transcript/content.ts'

/** `row` and `heading`: the place in the transcript. `level`: 0 for a request, else the depth of the heading. */
export type OutlineEntry = {
  row: string
  heading: number | null
  level: number
  text: string
  /** Seconds since 1970; null when unknown, and for headings. */
  at: number | null
}

const MAX_CHARS = 160
/** Below this depth, headings are details of their section. */
const MAX_DEPTH = 3

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, MAX_CHARS)

const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading'

/** Text without such a line has no heading, and is not parsed. */
const MAY_HAVE_HEADING = /^ {0,3}(?:#{1,6}\s|=+\s*$|-+\s*$)/m

const headingsOf = (message: Message): OutlineEntry[] => {
  const text = messageText(message)
  if (!MAY_HAVE_HEADING.test(text)) return []
  return splitText(text).flatMap((piece, index) => {
    const headings = lex(piece).filter(isHeading)
    return headings.flatMap(({ depth, text: title }, heading): OutlineEntry[] =>
      depth > MAX_DEPTH
        ? []
        : [
            {
              row: `${message.id}:${index}`,
              heading,
              level: depth,
              text: oneLine(toPlainText(title)),
              at: null,
            },
          ],
    )
  })
}

const entriesOf = (message: Message): OutlineEntry[] => {
  if (message.role === 'assistant') return message._error ? [] : headingsOf(message)
  if (message.role !== 'user' || message._hooks || isCompaction(message)) return []
  const text = messageText(message)
  const line = oneLine(message.attachments?.length ? withoutFiles(text) : text)
  return [{ row: message.id, heading: null, level: 0, text: line, at: secondsOf(message) }]
}

/** Messages do not change, so each is parsed once. */
const cache = new WeakMap<Message, OutlineEntry[]>()

export const outlineOf = (messages: readonly Message[]): OutlineEntry[] =>
  messages.flatMap(message => {
    const entries = cache.get(message) ?? entriesOf(message)
    cache.set(message, entries)
    return entries
  })

/** The entry that contains the message at the top of the viewport: the last one that does not follow it. -1 before the first. */
export const currentEntry = (
  entries: readonly OutlineEntry[],
  messages: readonly Message[],
  messageId: string | null,
): number => {
  const order = new Map(messages.map(({ id }, at) => [id, at]))
  const top = order.get(messageId ?? '') ?? -1
  return entries.findLastIndex(({ row }) => (order.get(/^[^:]*/.exec(row)![0]) ?? 0) <= top)
}

/** Entries that contain all words, with the request above each heading. */
export const filterOutline = (
  entries: readonly OutlineEntry[],
  query: string,
): readonly OutlineEntry[] => {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return entries
  const matches = ({ text }: OutlineEntry) => words.every(word => text.toLowerCase().includes(word))
  return entries.filter((entry, at) => {
    if (matches(entry)) return true
    if (entry.level > 0) return false
    const next = entries.findIndex(({ level }, index) => index > at && level === 0)
    return entries.slice(at + 1, next < 0 ? undefined : next).some(matches)
  })
}
