/** Takes a message that waits back to where it was written. */
import { splitComments } from '../../../lib/base/comment-text.ts'
import type { App } from '../../app.ts'
import { t as tPage } from '../../strings/t.ts'
import type { Listed } from '../messages/outbox.ts'
import type { Transcript } from '../messages/transcript.ts'
import { withoutFiles } from '../messages/message-text.ts'
import { t } from '../offline/strings.ts'

type Place = Pick<App, 'chat' | 'outbox' | 'pane' | 'shell'>

export const editWaiting = async (app: Place, message: Listed): Promise<void> => {
  const { outbox, pane, shell } = app
  const { transcript: chat, draft } = app.chat
  const { id, replace } = message
  const { text, comments } = splitComments(withoutFiles(message.text))
  const replaced = replace === undefined ? null : await findReplaced(chat, replace)
  // It may have been sent just now.
  if (!(await outbox.remove(id))) return
  // Another one may have been opened meanwhile: then it is put into the composer.
  if (replaced && !chat.editing.peek()) {
    const given = chat.messages.promptOf(replaced)?.attachments ?? []
    // The message that is replaced has the others, and its comments.
    const files = message.files.filter(name => !given.includes(name)).map(name => ({ name }))
    chat.editing.value = { id: replaced, text, files, uploads: 0 }
    if (pane.isShown.peek()) shell.route.jumpTo(replaced)
    return
  }
  const choice = { ...message.choice, ...(message.place && { place: message.place }) }
  draft.restoreDraft({ text, comments, files: [...message.files], choice })
  pane.focusComposer()
}

/** Its id; null when the chat has no such message any more: then the text can only be a message of its own. */
const findReplaced = async (chat: Transcript, id: string): Promise<string | null> => {
  if (chat.editing.peek()) throw new Error(t('outbox.edit.open'))
  if (chat.state.peek() !== 'ready') throw new Error(tPage('chat.failed.title'))
  return (await chat.messages.loadUntil(id)) ? id : null
}
