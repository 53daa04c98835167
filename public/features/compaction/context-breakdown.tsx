/** Popover of the context ring: usage, cost and the Compact button. */
import { usePart } from '../../parts/use-part.ts'
import type { SessionRow } from '../../../lib/schema/session.ts'
import { cachedPercent, formatCost, formatTokens } from '../../parts/amounts.ts'
import { Button } from '../../parts/button.tsx'
import { compactNow } from './actions.ts'
import { t } from './strings.ts'
import { useApp } from '../shell/context.ts'

const Line = ({ name, value }: { name: string; value: string }) => (
  <div class="meter-line">
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
)

export const Breakdown = ({ onClose }: { onClose: () => void }) => {
  const app = useApp()
  const { transcript: chat } = app.chat
  const sessions = app.sessions
  const usage = usePart(chat.chat, ({ usage }) => usage)
  if (!usage) return null
  const { last_prompt_tokens: used, context_length: total, threshold_tokens: threshold } = usage
  const tokens = (
    spent: Pick<SessionRow, 'input_tokens' | 'cache_read_tokens' | 'output_tokens'>,
  ) => {
    const percent = cachedPercent(spent)
    const texts = { in: formatTokens(spent.input_tokens), out: formatTokens(spent.output_tokens) }
    return percent === null ? t('tokens', texts) : t('tokens.cached', { ...texts, percent })
  }
  const whole = sessions.row(chat.sessionId.value) ?? chat.details.value
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
          value={t('of', { used: formatTokens(used), total: formatTokens(total) })}
        />
        {threshold > 0 && <Line name={t('threshold')} value={formatTokens(threshold)} />}
        <Line name={t('turn')} value={tokens(usage)} />
        {whole && <Line name={t('session')} value={tokens(whole)} />}
        {whole && whole.estimated_cost > 0 && (
          <Line name={t('cost')} value={formatCost(whole.estimated_cost)} />
        )}
      </dl>
      <div class="meter-compact">
        <Button
          asks="POST /api/session/compress"
          icon="compress"
          onClick={compact}
          disabled={chat.busy.value}
        >
          {t('compact')}
        </Button>
        <p>{t('compact.text')}</p>
      </div>
    </div>
  )
}
