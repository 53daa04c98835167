/** The text of a message, and without what was attached to it. */
import type { Message } from '../../../lib/schema/message.ts'

export const messageText = (message: Pick<Message, 'content'>): string =>
  typeof message.content === 'string'
    ? message.content
    : message.content
        .map(part => (part.type !== 'thinking' && typeof part.text === 'string' ? part.text : ''))
        .filter(Boolean)
        .join('\n\n')

/** The text as the user wrote it. */
export const withoutFiles = (text: string): string =>
  text.replace(/(?:^|\s*\n)\[Attached files: [^\n]*\]$/, '')
