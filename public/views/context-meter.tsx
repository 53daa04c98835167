/** The context ring of the composer and the breakdown behind it. */
import { useSignal } from '@preact/signals'
import { useCallback, useRef } from 'preact/hooks'
import { ContextRing } from '../parts/context-ring.tsx'
import { Popover } from '../parts/popover.tsx'
import { t } from '../strings/t.ts'
import { useApp } from './context.ts'

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const money = new Intl.NumberFormat('en', {
  style: 'currency',
  currency: 'USD',
  maximumFractionDigits: 4,
})

const Line = ({ name, value }: { name: string; value: string }) => (
  <div class="meter-line">
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
)

const Breakdown = () => {
  const { chat, sessions } = useApp()
  const usage = chat.chat.value.usage
  if (!usage) return null
  const { last_prompt_tokens: used, context_length: total, threshold_tokens: threshold } = usage
  const tokens = (input: number, output: number) =>
    t('ring.tokens', { in: short.format(input), out: short.format(output) })
  const whole = sessions.row(chat.chat.value.sessionId) ?? chat.details.value
  return (
    <div class="meter">
      <h3>{t('ring.title')}</h3>
      <div class="meter-bar" aria-hidden="true">
        <div class="meter-fill" style={{ width: `${Math.min(100, (used / total) * 100)}%` }} />
      </div>
      <dl>
        <Line
          name={t('ring.used')}
          value={t('ring.of', { used: short.format(used), total: short.format(total) })}
        />
        {threshold > 0 && <Line name={t('ring.threshold')} value={short.format(threshold)} />}
        <Line name={t('ring.turn')} value={tokens(usage.input_tokens, usage.output_tokens)} />
        {whole && (
          <Line name={t('ring.session')} value={tokens(whole.input_tokens, whole.output_tokens)} />
        )}
        {whole && whole.estimated_cost > 0 && (
          <Line name={t('ring.cost')} value={money.format(whole.estimated_cost)} />
        )}
      </dl>
    </div>
  )
}

export const ContextMeter = () => {
  const { chat } = useApp()
  const open = useSignal(false)
  const anchor = useRef<HTMLButtonElement>(null)
  const close = useCallback(() => {
    open.value = false
  }, [])
  const usage = chat.chat.value.usage
  if (!usage || usage.context_length === 0) return null
  const percent = Math.round((usage.last_prompt_tokens / usage.context_length) * 100)
  const label = t('ring.label', { percent })
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
          label={t('ring.title')}
        >
          <Breakdown />
        </Popover>
      )}
    </>
  )
}
