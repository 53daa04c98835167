/** The message fields shared by `POST /api/chat/steer`, `/interrupt` and `/api/queue/*`. */
import { z } from 'zod'
import { invalid } from '../errors.ts'
import { Attachments } from '../schema/attachments.ts'
import { ClientMessageId, OneSession } from '../schema/ids.ts'

export const MAX_MESSAGE_CHARS = 500_000

export const MessageInput = OneSession.extend({
  message: z.string().max(MAX_MESSAGE_CHARS).optional(),
  /** What other clients call `message`. */
  text: z.string().max(MAX_MESSAGE_CHARS).optional(),
  attachments: Attachments.default([]),
})

/** The id of the stored draft that the message was written from, if that is not its own `client_message_id`: another device's. */
export const DraftId = ClientMessageId.optional()

/** The trimmed text. Throws a 400 when it is empty. */
export const requireText = ({ message, text }: { message?: string; text?: string }): string => {
  const trimmed = (message ?? text ?? '').trim()
  if (!trimmed) throw invalid('message is required', { code: 'missing_fields' })
  return trimmed
}
