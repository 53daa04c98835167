/** What a stored draft is, and which message it was sent as. Pure. See docs/decisions for why a message names its draft. */
import { withComments } from '../base/comment-text.ts'
import { messageOf } from '../base/draft-message.ts'
import { isObject } from '../base/json.ts'
import type { Draft } from '../schema/session.ts'
import type { Meta, MetaPatch } from './entries.ts'

export const NO_DRAFT: Draft = { text: '', files: [] }

/** Whether there is something to lose: text, files, or comments. */
export const isDraft = (draft: unknown): boolean =>
  isObject(draft) &&
  (Boolean(draft.text) ||
    [draft.files, draft.comments].some(list => Array.isArray(list) && list.length > 0))

/** A message that a person sent from a composer. */
export type Composed = {
  text: string
  attachments: readonly string[]
  /** The ids of the draft that it was written in. */
  ids: readonly (string | undefined)[]
}

/** Everything in the draft is in the message. A client that does not name its draft shows so which one it sent. */
const contains = ({ text, attachments }: Composed, draft: Draft): boolean =>
  text === messageOf(draft).trim() ||
  (text === withComments(draft.text, draft.comments ?? []) &&
    draft.files.every(file => attachments.includes(file)))

/** The patch that clears the stored draft when it is the one that was sent. */
export const sentDraftPatch = (
  { composer_draft: draft }: Meta,
  sent: Composed | undefined,
): MetaPatch => {
  if (!sent || !draft || !isDraft(draft)) return {}
  const { client_message_id: id } = draft
  const isSent = (id !== undefined && sent.ids.includes(id)) || contains(sent, draft)
  return isSent ? { composer_draft: NO_DRAFT } : {}
}
