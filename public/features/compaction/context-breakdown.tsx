/** Popover of the context ring: usage, cost and the Compact button. */
import { Button } from '../../parts/button.tsx'
import { compactNow } from './actions.ts'
import { t } from './strings.ts'
import { useApp } from '../shell/context.ts'

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

export const Breakdown = ({ onClose }: { onClose: () => void }) => {
  const app = useApp()
  const { chat, sessions } = app
  const usage = chat.chat.value.usage
  if (!usage) return null
  const { last_prompt_tokens: used, context_length: total, threshold_tokens: threshold } = usage
  const tokens = (input: number, output: number) =>
    t('tokens', { in: short.format(input), out: short.format(output) })
  const whole = sessions.row(chat.chat.value.sessionId) ?? chat.details.value
  const compact = () => {
    onClose()
    void compactNow(app)
  }
  return (
    <div class="meter">
      <h3>{t('title')}</h3>
      <div class="meter-bar" aria-hidden="true">
        <div class="meter-fill" style={{ width: `${Math.min(100, (used / total) * 100)}%` }} />
      </div>
      <dl>
        <Line
          name={t('used')}
          value={t('of', { used: short.format(used), total: short.format(total) })}
        />
        {threshold > 0 && <Line name={t('threshold')} value={short.format(threshold)} />}
        <Line name={t('turn')} value={tokens(usage.input_tokens, usage.output_tokens)} />
        {whole && (
          <Line name={t('session')} value={tokens(whole.input_tokens, whole.output_tokens)} />
        )}
        {whole && whole.estimated_cost > 0 && (
          <Line name={t('cost')} value={money.format(whole.estimated_cost)} />
        )}
      </dl>
      <div class="meter-compact">
        <Button icon="compress" onClick={compact} disabled={chat.busy.value}>
          {t('compact')}
        </Button>
        <p>{t('compact.text')}</p>
      </div>
    </div>
  )
}
