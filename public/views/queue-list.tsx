/** Messages that wait for the running turn to end. */
import { IconButton } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { withoutFiles } from '../state/composer.ts'
import { t } from '../strings/t.ts'
import { useApp } from './context.ts'

export const QueueList = () => {
  const app = useApp()
  const id = app.route.sessionId.value ?? ''
  const list = app.queue.all.value[id] ?? []
  if (list.length === 0) return null
  const idle = !app.chat.busy.value
  return (
    <ul class="queue" aria-label={t('queue.label', { count: list.length })}>
      {list.map((item, index) => (
        <li key={item.id} class="queued">
          <Icon name="clock" size={14} />
          <span class="queued-text">{withoutFiles(item.text)}</span>
          {idle && index === 0 && (
            <IconButton
              icon="send"
              size={14}
              label={t('queue.send')}
              onClick={() => void app.sendNext(id)}
            />
          )}
          <IconButton
            icon="edit"
            size={14}
            label={t('queue.edit')}
            onClick={() => app.editQueued(id, item.id)}
          />
          <IconButton
            icon="close"
            size={14}
            label={t('queue.remove')}
            onClick={() => app.queue.remove(id, item.id)}
          />
        </li>
      ))}
    </ul>
  )
}
