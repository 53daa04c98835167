/** Footer of a turn: copy, retry, branch, tokens, cost and time. */
import { toPlainText } from '../../markdown/plain-text.ts'
import { Icon } from '../../parts/icon.tsx'
import type { IconName } from '../../parts/icon.tsx'
import { t } from '../../strings/t.ts'
import { secondsOf, textOf } from './content.ts'
import type { FootRow } from './rows.ts'
import { useTranscript } from './transcript-context.ts'

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' })
const money = new Intl.NumberFormat(undefined, {
  style: 'currency',
  currency: 'USD',
  maximumFractionDigits: 4,
})

export function FootRowView({ row }: { row: FootRow }) {
  const { actions, showUsage, chat } = useTranscript()
  const last = row.messages.at(-1)
  // An empty line reserves the space while the turn runs.
  if (row.live || !last) return <div class="tx-tools" />
  const markdown = () => row.messages.map(textOf).join('\n\n')
  const usage = row.last && showUsage ? chat.value.usage : null
  const at = secondsOf(last)
  const tool = (icon: IconName, label: string, onClick: () => void) => (
    <button type="button" class="tx-tool" title={label} aria-label={label} onClick={onClick}>
      <Icon name={icon} />
    </button>
  )
  return (
    <div class={row.last ? 'tx-tools tx-tools-last' : 'tx-tools'}>
      {tool('copy', t('tx.copy.text'), () => actions.copy(toPlainText(markdown())))}
      {tool('markdown', t('tx.copy.markdown'), () => actions.copy(markdown()))}
      {tool('refresh', t('tx.retry'), () => actions.retry(last.id))}
      {tool('branch', t('tx.branch'), () => actions.branch(last.id))}
      <span class="tx-facts">
        {usage && (
          <span>{t('tx.tokens', { input: usage.input_tokens, output: usage.output_tokens })}</span>
        )}
        {usage && usage.estimated_cost > 0 && <span>{money.format(usage.estimated_cost)}</span>}
        {last.model && <span>{last.model}</span>}
        {at !== null && (
          <time dateTime={new Date(at * 1000).toISOString()} title={day.format(at * 1000)}>
            {clock.format(at * 1000)}
          </time>
        )}
      </span>
    </div>
  )
}
