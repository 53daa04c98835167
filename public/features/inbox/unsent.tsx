/** A message in the inbox that the server rejected when it was sent later. */
import { splitComments } from '../../../lib/base/comment-text.ts'
import { useOutbox, useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { withoutFiles } from '../messages/message-text.ts'
import type { Listed } from '../messages/outbox.ts'
import { t } from './strings.ts'

export const Unsent = ({ message, title }: { message: Listed; title: string | null }) => {
  const { attempt, copy, route } = useShell()
  const outbox = useOutbox()
  const { id, session_id, error } = message
  const { text } = splitComments(withoutFiles(message.text))
  return (
    <>
      {title && <p class="waiting-in">{t('waiting.in', { title })}</p>}
      <p class="inbox-unsent" dir="auto">
        {text}
      </p>
      <p class="inbox-facts">
        <span class="inbox-needed">{t('unsent.reason', { reason: error ?? '' })}</span>
      </p>
      <div class="waiting-buttons">
        {session_id && (
          <Button data-key="o" onClick={() => route.openSession(session_id)}>
            {t('trouble.open')}
          </Button>
        )}
        <Button onClick={() => void attempt(() => outbox.retry(id))}>{t('unsent.retry')}</Button>
        <Button onClick={() => void copy(text)}>{t('unsent.copy')}</Button>
        <Button kind="quiet" onClick={() => void attempt(() => outbox.remove(id))}>
          {t('unsent.remove')}
        </Button>
      </div>
    </>
  )
}
