/** Tokens and cost of an answer, where the settings show them. */
import { useComputed } from '@preact/signals'
import type { TurnUsage, Usage } from '../../../lib/schema/usage.ts'
import { cachedPercent, formatCost, formatTokens } from '../../parts/amounts.ts'
import { t } from '../../strings/transcript-strings.ts'
import { useTranscript } from '../messages/transcript-context.ts'

/** `12.3K tokens in (94% cached), 1.2K out, $0.03` */
const describeUsage = (usage: TurnUsage | Usage): string => {
  const [input, output] = [usage.input_tokens, usage.output_tokens].map(count =>
    formatTokens(count),
  ) as [string, string]
  const percent = cachedPercent(usage)
  const tokens =
    percent === null
      ? t('tx.tokens', { input, output })
      : t('tx.tokens.cached', { input, output, percent })
  return usage.estimated_cost > 0 ? `${tokens}, ${formatCost(usage.estimated_cost)}` : tokens
}

/** Null: of the running turn so far. */
export const UsageFacts = ({ usage }: { usage: TurnUsage | null }) => {
  const { live } = useTranscript()
  const current = useComputed(() => usage ?? live.value?.usage).value
  if (!current || current.input_tokens === 0) return null
  return <span class={usage ? undefined : 'tx-facts'}>{describeUsage(current)}</span>
}
