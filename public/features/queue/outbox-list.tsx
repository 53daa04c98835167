/** Messages above the composer that wait for the network. */
import { splitComments } from '../../../lib/base/comment-text.ts'
import { useChat, useOutbox } from '../../contexts.ts'
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { isListed, type Listed } from '../messages/outbox.ts'
import { editOf, withEdit } from '../messages/editing.ts'
import { withoutFiles } from '../messages/message-text.ts'
import { useApp } from '../shell/context.ts'
import { t } from '../offline/strings.ts'
import type { App } from '../../app.ts'
import { t as tPage } from '../../strings/t.ts'
import type { Transcript } from '../messages/transcript.ts'

type Place = App

export const editWaiting = async (app: Place, message: Listed): Promise<void> => {
  const { outbox, pane, shell } = app
  const { transcript: chat, draft } = app.chat
  const { id, replace } = message
  const { text, comments } = splitComments(withoutFiles(message.text))
  const replaced = replace === undefined ? null : await findReplaced(chat, replace)
  // It may have been sent just now.
  if (!(await outbox.remove(id))) return
  // Another one may have been opened meanwhile: then it is put into the composer.
  if (replaced && !editOf(chat.editing.peek(), replaced)) {
    const attachments = chat.messages.promptOf(replaced)?.attachments ?? []
    // The message that is replaced has the others, and its comments.
    const files = message.files.filter(name => !attachments.includes(name)).map(name => ({ name }))
    const edit = { id: replaced, text, files, uploads: 0 }
    chat.editing.value = withEdit(chat.editing.peek(), edit)
    if (pane.isShown.peek()) shell.route.jumpTo(replaced)
    return
  }
  const choice = { ...message.choice, ...(message.place && { place: message.place }) }
  draft.restoreDraft({ text, comments, files: [...message.files], choice })
  pane.focusComposer()
}

/** Its id; null when the chat has no such message any more: then the text can only be a message of its own. */
const findReplaced = async (chat: Transcript, id: string): Promise<string | null> => {
  if (editOf(chat.editing.peek(), id)) throw new Error(t('outbox.edit.open'))
  if (chat.state.peek() !== 'ready') throw new Error(tPage('chat.failed.title'))
  return (await chat.messages.loadUntil(id)) ? id : null
}

const Item = ({ message }: { message: Listed }) => {
  const app = useApp()
  const { attempt } = app.shell
  const outbox = app.outbox
  const { text } = splitComments(withoutFiles(message.text))
  const reason = message.error ?? message.reason
  return (
    <li class={`queued${reason ? ' outbox-held' : ''}`}>
      <Icon name={reason ? 'alert' : 'clock'} size={14} />
      <span class="outbox-text">
        <span class="queued-text">{text}</span>
        {message.state === 'waiting' && (
          <span class="outbox-note">
            {reason ? t('outbox.held', { reason }) : t('outbox.note')}
          </span>
        )}
      </span>
      {reason && (
        <IconButton
          icon="refresh"
          size={14}
          label={t('list.retry')}
          onClick={() => void attempt(() => outbox.retry(message.id))}
        />
      )}
      {message.state === 'waiting' && (
        <>
          <IconButton
            icon="edit"
            size={14}
            label={t('outbox.edit')}
            onClick={() => void attempt(() => editWaiting(app, message))}
          />
          <IconButton
            icon="close"
            size={14}
            label={t('outbox.remove')}
            onClick={() => void attempt(() => outbox.remove(message.id))}
          />
        </>
      )}
    </li>
  )
}

export const OutboxList = () => {
  const outbox = useOutbox()
  const { transcript: chat, key } = useChat()
  const session = chat.sessionId.value || null
  // A message of another new chat has no other place.
  const own = session ? outbox.of(key, session) : outbox.list.value.filter(each => !each.session_id)
  const list = own.filter(isListed)
  if (list.length === 0) return null
  return (
    <ul class="queue" aria-label={t('outbox.label', { count: list.length })}>
      {list.map(message => (
        <Item key={message.id} message={message} />
      ))}
    </ul>
  )
}
