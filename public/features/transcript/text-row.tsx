/** A piece of an answer; only this row re-renders while it streams. */
import { useSignal } from '@preact/signals'

import { Markdown } from '../../markdown/markdown.tsx'
import { Icon } from '../../parts/icon.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { t } from '../../strings/transcript-strings.ts'
import { messageText } from '../messages/message-text.ts'
import type { TextRow } from './rows.ts'
import { usePerFrame, useTranscript } from '../messages/transcript-context.ts'

/** The sentences of the server are a third of the page's words. */
export const ServerNotice = lazy(
  async () => (await import('./server-notice.tsx')).ServerNotice,
  true,
)

export function TextRowView({ row }: { row: TextRow }) {
  const { liveText, botName } = useTranscript()
  const streamed = usePerFrame(row.live ? liveText : null, '')
  const whole = useSignal<string | null>(null)
  const text = row.live ? streamed : (whole.value ?? row.text)
  return (
    <>
      {row.first && <h3 class="tx-sr">{t('tx.agent', { name: botName })}</h3>}
      <Markdown text={text} open={row.live} id={row.key} />
      {row.cut !== null && whole.value === null && (
        <Whole
          row={row}
          cut={row.cut}
          onLoaded={next => {
            whole.value = next
          }}
        />
      )}
      {row.partial && (
        <p class="tx-mark">
          <Icon name="stop" /> {t('tx.stopped')}
        </p>
      )}
      {row.refusal !== null && <ServerNotice text={row.refusal} coded={row.coded} />}
    </>
  )
}

type WholeProps = { row: TextRow; cut: number; onLoaded: (text: string) => void }

function Whole({ row, cut, onLoaded }: WholeProps) {
  const { actions } = useTranscript()
  const state = useSignal<'idle' | 'loading' | 'failed'>('idle')
  const load = () => {
    state.value = 'loading'
    actions.loadMessage(row.id).then(
      // Earlier pieces of this message are separate rows that end where this one begins.
      message => onLoaded(messageText(message).slice(messageText(message).indexOf(row.text))),
      () => {
        state.value = 'failed'
      },
    )
  }
  return (
    <button type="button" class="tx-more" onClick={load} disabled={state.value === 'loading'}>
      {state.value === 'idle'
        ? t('tx.whole', { count: cut })
        : t(state.value === 'loading' ? 'tx.loading' : 'tx.whole.failed')}
    </button>
  )
}
