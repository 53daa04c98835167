/** Messages above the composer that wait for the network. */
import { splitComments } from '../../../lib/base/comment-text.ts'
import { useChat, useOutbox } from '../../contexts.ts'
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { isListed, type Listed } from '../messages/outbox.ts'
import { withoutFiles } from '../messages/message-text.ts'
import { useApp } from '../shell/context.ts'
import { editWaiting } from './edit-waiting.ts'
import { t } from '../offline/strings.ts'

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
          label={t('outbox.retry')}
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
