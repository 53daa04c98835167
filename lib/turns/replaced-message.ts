/** The message whose place another one takes, and what is sent when only that is said. */
import { invalid, missing } from '../errors.ts'
import { contentText } from '../sessions/entries.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Replaced } from './turn-journal.ts'
import type { TurnInput } from './start-turn.ts'

/** A person replaces messages of people, a program also results. Throws a 404 or 400. */
export const replacedBy = (
  sessions: Sessions,
  sessionId: string,
  { replace, client }: Pick<TurnInput, 'replace' | 'client'>,
): Replaced | undefined => {
  if (replace === undefined) return undefined
  const { messages, numbers } = sessions.load(sessionId)
  const at = messages.findIndex(({ id }) => id === replace)
  const message = messages[at]
  if (!message) throw missing('Message not found', { code: 'message_not_found' })
  // Hooks write in the role of the user.
  if (!client && (message.role !== 'user' || message._hooks))
    throw invalid('Only a message of a person can be replaced.', { code: 'message_not_yours' })
  return { message, after: numbers[at - 1] ?? 0 }
}

/** An empty text repeats the replaced message with its files. Throws a 400 when that has none either. */
export const wordsOf = (
  { text, attachments }: Pick<TurnInput, 'text' | 'attachments'>,
  replaced: Replaced | undefined,
): Pick<TurnInput, 'text' | 'attachments'> => {
  if (text !== '') return { text, attachments }
  const again = replaced ? contentText(replaced.message.content).trim() : ''
  if (!again) throw invalid('message is required', { code: 'missing_fields' })
  return { text: again, attachments: replaced?.message.attachments ?? [] }
}
