/** A running turn: what it is doing now, for how long, at what cost; stop and steer. */
import { useSignal } from '@preact/signals'
import { useShell } from '../../contexts.ts'
import { formatCost, formatTokens } from '../../parts/amounts.ts'
import { Button } from '../../parts/button.tsx'
import { Elapsed } from '../../parts/elapsed.tsx'
import { Doing } from './doing.tsx'
import type { RunningTurn } from './inbox-state.ts'
import { t } from './strings.ts'

const focusField = (field: HTMLInputElement | null) => field?.focus()

export const RunningRow = ({ turn, title }: { turn: RunningTurn; title: string }) => {
  const { api, attempt, platform, route, toasts } = useShell()
  const guidance = useSignal<string | null>(null)
  const { session_id, stream_id, usage } = turn
  const tokens = usage ? usage.input_tokens + usage.output_tokens : 0
  const steer = async (event: Event) => {
    event.preventDefault()
    const message = guidance.value?.trim()
    if (!message) return
    await attempt(async () => {
      await api('POST /api/chat/steer', { session_id, message })
      guidance.value = null
      toasts.show(t('running.steered'))
    })
  }
  return (
    <>
      <p class="inbox-title">
        <a href={route.hrefOf({ view: 'chat', sessionId: session_id })} data-key="o" dir="auto">
          {title}
        </a>
      </p>
      <p class="inbox-doing">
        <Doing doing={turn.doing} />
      </p>
      <p class="inbox-facts">
        <Elapsed since={turn.started_at} clock={platform.serverClock} />
        {turn.model && <span>{turn.model}</span>}
        {tokens > 0 && <span>{t('running.tokens', { tokens: formatTokens(tokens) })}</span>}
        {usage && usage.estimated_cost > 0 && <span>{formatCost(usage.estimated_cost)}</span>}
        {turn.subagents > 0 && <span>{t('running.subagents', { count: turn.subagents })}</span>}
      </p>
      {guidance.value !== null && (
        <form class="waiting-reply" onSubmit={event => void steer(event)}>
          <input
            class="input"
            // Opened to write into it.
            ref={focusField}
            aria-label={t('running.guidance')}
            placeholder={t('running.guidance')}
            value={guidance.value}
            onInput={event => {
              guidance.value = event.currentTarget.value
            }}
          />
          <Button kind="primary" type="submit" disabled={!guidance.value.trim()}>
            {t('waiting.send')}
          </Button>
        </form>
      )}
      <div class="waiting-buttons">
        <Button
          asks="POST /api/chat/steer"
          data-key="s"
          aria-expanded={guidance.value !== null}
          onClick={() => {
            guidance.value = guidance.value === null ? '' : null
          }}
        >
          {t('running.steer')}
        </Button>
        <Button
          asks="POST /api/chat/cancel"
          data-key="x"
          onClick={() => void attempt(() => api('POST /api/chat/cancel', { stream_id }))}
        >
          {t('running.stop')}
        </Button>
      </div>
    </>
  )
}
