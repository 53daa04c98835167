/** Messages above the composer that wait for the network. */
import { splitComments } from '../../../lib/base/comment-text.ts'
import { useShell } from '../../contexts.ts'
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { withoutFiles } from '../composer/composer.ts'
import { useApp } from '../shell/context.ts'
import type { Outbox, Waiting } from './outbox.ts'
import { t } from './strings.ts'

const Item = ({ message, outbox }: { message: Waiting; outbox: Outbox }) => {
  const app = useApp()
  const { text, comments } = splitComments(withoutFiles(message.text))
  const reason = message.error ?? message.reason
  const edit = async () => {
    // It may have been sent just now.
    if (!(await outbox.remove(message.id))) return
    app.composer.restoreDraft({ text, comments, files: [...message.files] })
    app.layout.composerFocus.value += 1
  }
  return (
    <li class={`queued${reason ? ' outbox-held' : ''}`}>
      <Icon name={reason ? 'alert' : 'clock'} size={14} />
      <span class="outbox-text">
        <span class="queued-text">{text}</span>
        <span class="outbox-note">{reason ? t('outbox.held', { reason }) : t('outbox.note')}</span>
      </span>
      {reason && (
        <IconButton
          icon="refresh"
          size={14}
          label={t('outbox.retry')}
          onClick={() => void app.attempt(() => outbox.retry(message.id))}
        />
      )}
      <IconButton
        icon="edit"
        size={14}
        label={t('outbox.edit')}
        onClick={() => void app.attempt(edit)}
      />
      <IconButton
        icon="close"
        size={14}
        label={t('outbox.remove')}
        onClick={() => void app.attempt(() => outbox.remove(message.id))}
      />
    </li>
  )
}

export const OutboxList = () => {
  const { outbox, route } = useShell()
  const list = outbox.value?.of(route.sessionId.value) ?? []
  if (!outbox.value || list.length === 0) return null
  return (
    <ul class="queue" aria-label={t('outbox.label', { count: list.length })}>
      {list.map(message => (
        <Item key={message.id} message={message} outbox={outbox.value!} />
      ))}
    </ul>
  )
}
