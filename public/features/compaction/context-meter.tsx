/** Context ring of the composer with its popover. */
import { usePart } from '../../parts/use-part.ts'
import { useSignal } from '@preact/signals'
import { useCallback, useRef } from 'preact/hooks'
import { Popover } from '../../parts/popover.tsx'
import { t } from './strings.ts'
import { Breakdown } from './context-breakdown.tsx'
import { useChat } from '../../contexts.ts'

export const levelOf = (percent: number): 'low' | 'middle' | 'high' =>
  percent < 50 ? 'low' : percent <= 75 ? 'middle' : 'high'

const RADIUS = 6.5
const AROUND = 2 * Math.PI * RADIUS

const ContextRing = ({ percent }: { percent: number }) => (
  <svg class={`ring ring-${levelOf(percent)}`} viewBox="0 0 18 18" aria-hidden="true">
    <circle class="ring-track" cx="9" cy="9" r={RADIUS} />
    <circle
      class="ring-value"
      cx="9"
      cy="9"
      r={RADIUS}
      transform="rotate(-90 9 9)"
      stroke-dasharray={`${(Math.min(100, percent) / 100) * AROUND} ${AROUND}`}
    />
  </svg>
)

export const ContextMeter = () => {
  const { transcript: chat } = useChat()
  const open = useSignal(false)
  const anchor = useRef<HTMLButtonElement>(null)
  const close = useCallback(() => {
    open.value = false
  }, [])
  const usage = usePart(chat.chat, ({ usage }) => usage)
  if (!usage || usage.context_length === 0) return null
  const percent = Math.round((usage.last_prompt_tokens / usage.context_length) * 100)
  // Until then there is nothing to decide.
  if (percent <= 50 && !open.value) return null
  const label = t('label', { percent })
  return (
    <>
      <button
        ref={anchor}
        type="button"
        class="icon-button ring-button"
        aria-label={label}
        aria-expanded={open.value}
        aria-haspopup="dialog"
        title={label}
        onClick={() => {
          open.value = !open.value
        }}
      >
        <ContextRing percent={percent} />
      </button>
      {open.value && (
        <Popover
          anchor={anchor}
          onClose={close}
          side="above"
          align="end"
          role="dialog"
          label={t('title')}
        >
          <Breakdown onClose={close} />
        </Popover>
      )}
    </>
  )
}
