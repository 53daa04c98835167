/** Context ring of the composer with its popover. */
import { usePart } from '../../parts/use-part.ts'
import { useSignal } from '@preact/signals'
import { useCallback, useRef } from 'preact/hooks'
import { ContextRing } from './context-ring.tsx'
import { Popover } from '../../parts/popover.tsx'
import { t } from './strings.ts'
import { Breakdown } from './context-breakdown.tsx'
import { useChat } from '../../contexts.ts'

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
