/** Divider of a compaction: shows its summary and can be undone. */
import { useSignal } from '@preact/signals'

import type { Message } from '../../../lib/schema/message.ts'
import { compactionActions } from '../compaction/actions.ts'
import { Markdown } from '../../markdown/markdown.tsx'
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { t } from '../compaction/strings.ts'
import { useApp } from '../shell/context.ts'
import { messageText } from '../messages/message-text.ts'

/** `message`: a summary written by another program. `n`: number of one of ours. */
export const SummaryRow = ({ message, n }: { message: Message | null; n: number }) => {
  const app = useApp()
  const id = app.chat.transcript.sessionId.value
  const text = useSignal(message ? messageText(message) : '')
  const hasFailed = useSignal(false)
  const read = () => {
    if (text.value) return
    hasFailed.value = false
    compactionActions.read(app, id, n).then(
      next => {
        text.value = next
      },
      () => {
        hasFailed.value = true
      },
    )
  }
  return (
    <details class="tx-compact" onToggle={event => event.currentTarget.open && read()}>
      <summary>
        <Icon name="compress" size={14} /> <span>{t('divider')}</span>
      </summary>
      {!message && (
        <p class="tx-compact-note">
          {t('divider.note')}{' '}
          {may('POST /api/session/uncompress') && (
            <button
              type="button"
              class="tx-link"
              onClick={() => void compactionActions.undo(app, id, n)}
            >
              {t('undo')}
            </button>
          )}
        </p>
      )}
      {text.value ? (
        <Markdown text={text.value} id={message?.id ?? `summary-${n}`} />
      ) : (
        <p class="tx-compact-note">{t(hasFailed.value ? 'failed' : 'loading')}</p>
      )}
    </details>
  )
}
