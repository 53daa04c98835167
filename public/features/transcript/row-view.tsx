/** Renders a transcript row by its kind. */
import { usePart } from '../../parts/use-part.ts'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../strings/transcript-strings.ts'
import { type Lazy, lazy } from '../../parts/lazy.tsx'
import { ActivityRowView, StepRowView, WorkWords } from './activity-row.tsx'
import { FootRowView } from './foot-row.tsx'
import type { TranscriptRow } from './rows.ts'
import { useTranscript } from '../messages/transcript-context.ts'
import { ServerNotice, TextRowView } from './text-row.tsx'
import { partOfUser, UserRowView } from './user-row.tsx'

/** Its place is kept while it loads. */
const DecisionRowView = lazy(
  async () => (await import('./decision-row.tsx')).DecisionRowView,
  () => <p class="tx-mark" />,
)
const ErrorCard = lazy(async () => (await import('./error-card.tsx')).ErrorCard, true)
const StepLimitCard = lazy(async () => (await import('./step-limit-card.tsx')).StepLimitCard, true)
const SummaryRow = lazy(async () => (await import('./summary-row.tsx')).SummaryRow, true)

/** What is loaded for rows of this kind. When it comes after the row, it moves what is below. */
export const partOf = (row: TranscriptRow): Pick<Lazy<never>, 'preload'> | null => {
  switch (row.kind) {
    case 'user':
      return partOfUser(row.message)
    case 'activity':
      return WorkWords
    case 'step':
      return StepRowView
    case 'text':
      return row.refusal === null ? null : ServerNotice
    case 'decision':
      return DecisionRowView
    case 'error':
      return ErrorCard
    case 'limit':
      return StepLimitCard
    case 'notice':
      return ServerNotice
    case 'compaction':
      return SummaryRow
    case 'foot':
    case 'cancelled':
      return null
  }
}

export function RowView({ row }: { row: TranscriptRow }) {
  switch (row.kind) {
    case 'user':
      return <UserRowView message={row.message} />
    case 'activity':
      return <ActivityRowView row={row} />
    case 'step':
      return <StepRowView rowKey={row.key} step={row.step} last={row.last} alone={row.alone} />
    case 'text':
      return <TextRowView row={row} />
    case 'decision':
      return <DecisionRowView row={row} />
    case 'foot':
      return <FootRowView row={row} />
    case 'error':
      return <ErrorRow row={row} />
    case 'limit':
      return <StepLimitCard steps={row.steps} last={row.last} />
    case 'cancelled':
      return (
        <p class="tx-mark">
          <Icon name="stop" /> {t('tx.stopped')}
        </p>
      )
    case 'notice':
      return <ServerNotice text={row.text} coded={row.coded} />
    case 'compaction':
      return <SummaryRow message={row.message} n={row.n} />
  }
}

/** The live event has a more precise cause than the stored text. */
function ErrorRow({ row }: { row: TranscriptRow & { kind: 'error' } }) {
  const { chat, actions } = useTranscript()
  const error = usePart(chat, ({ error }) => error)
  const current = row.last ? error : null
  return (
    <ErrorCard
      error={current ?? row.message}
      onRetry={row.last ? () => actions.retry(row.message.id) : null}
      onSwitchModel={actions.switchModel}
      onAddKey={actions.addKey}
      onCompact={actions.compact}
    />
  )
}
