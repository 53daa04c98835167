/** Footer of a turn: its summary; copy, retry, branch, tokens, cost and time. */
import { pageLocale } from '../../strings/t.ts'
import { Icon } from '../../parts/icon.tsx'
import { firstContent } from '../../parts/first-content.ts'
import { loadLazyCss } from '../../parts/lazy-css.ts'
import { lazy } from '../../parts/lazy.tsx'
import { may } from '../../parts/may.ts'
import type { IconName } from '../../parts/icon.tsx'
import { t } from '../../strings/transcript-strings.ts'
import { secondsOf } from './content.ts'
import { messageText } from '../messages/message-text.ts'
import type { FootRow } from './rows.ts'
import { useTranscript } from '../messages/transcript-context.ts'

/** Off at first. */
export const UsageFacts = lazy(
  async () => (await import('./usage-facts.tsx')).UsageFacts,
  true,
  false,
)

const TurnSummary = lazy(
  async () => {
    await firstContent
    const [{ TurnSummary }] = await Promise.all([import('./turn-summary.tsx'), loadLazyCss()])
    return TurnSummary
  },
  true,
  false,
)

/** Whether the turn called tools, so that it may have changed something. */
const hasSteps = ({ turn }: FootRow): boolean => turn.some(message => message.tool_calls?.length)

/** It most likely has an end line, whose place is kept where that is a line of its own. */
const hasEdits = ({ turn }: FootRow): boolean =>
  turn.some(({ role, name = '', _failed }) => role === 'tool' && EDITS.has(name) && !_failed)

const EDITS = new Set(['write_file', 'patch'])

/** One line, so that a summary that arrives late moves nothing. */
export function FootRowView({ row }: { row: FootRow }) {
  return (
    <div class={hasEdits(row) ? 'tx-foot tx-foot-edits' : 'tx-foot'}>
      {hasSteps(row) && <TurnSummary row={row} />}
      <Tools row={row} />
    </div>
  )
}

/** As it was written until what converts it is there: a browser copies only what is known when a person clicks. */
const plain = { text: (markdown: string) => markdown }
firstContent
  .then(async () => {
    plain.text = (await import('../../markdown/plain-text.ts')).toPlainText
  })
  .catch(() => undefined)

function Tools({ row }: { row: FootRow }) {
  const { actions, showUsage } = useTranscript()
  const last = row.messages.at(-1)
  if (!last) return null
  const markdown = () => row.messages.map(messageText).join('\n\n')
  // Zeros: the provider reported nothing.
  const usage = showUsage && row.usage && row.usage.input_tokens > 0 ? row.usage : null
  const seconds = secondsOf(last)
  const at = seconds === null ? null : new Date(seconds * 1000)
  const tool = (icon: IconName, label: string, onClick: () => void) => (
    <button type="button" class="tx-tool" title={label} aria-label={label} onClick={onClick}>
      <Icon name={icon} />
    </button>
  )
  return (
    <div class={row.last ? 'tx-tools tx-tools-last' : 'tx-tools'}>
      {tool('copy', t('tx.copy.text'), () => actions.copy(plain.text(markdown())))}
      {tool('markdown', t('tx.copy.markdown'), () => actions.copy(markdown()))}
      {may('POST /api/session/truncate') &&
        tool('refresh', t('list.retry'), () => actions.retry(last.id))}
      {may('POST /api/session/branch') &&
        tool('branch', t('tx.branch'), () => actions.branch(last.id))}
      <span class="tx-facts">
        {usage && <UsageFacts usage={usage} />}
        {last.model && <span>{last.model}</span>}
        {at !== null && (
          <time
            dateTime={at.toISOString()}
            title={at.toLocaleString(pageLocale(), { dateStyle: 'full', timeStyle: 'medium' })}
          >
            <a href={actions.hrefOfPlace?.(`${last.id}:0`)}>
              {at.toLocaleTimeString(pageLocale(), { timeStyle: 'short' })}
            </a>
          </time>
        )}
      </span>
    </div>
  )
}
