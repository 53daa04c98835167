/** Line above an answer: the current activity, or the duration and number of steps. */
import type { ComponentChildren } from 'preact'
import { Elapsed, formatSeconds } from '../../parts/elapsed.tsx'
import type { ServerClock } from '../../parts/server-clock.ts'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../strings/transcript-strings.ts'

export type ActivityProps = {
  /** Current activity; null when the turn has ended. */
  now: { text: ComponentChildren; waits: boolean } | null
  since: number | null
  clock: ServerClock
  seconds: number | null
  thought: boolean
  steps: number
  failed: number
  /** No one allowed any of them. */
  nothingRan: boolean
  open: boolean
  /** There are no steps to show yet. */
  empty: boolean
  onToggle: () => void
}

const pastLabel = ({ seconds, thought, nothingRan }: ActivityProps): string => {
  if (nothingRan) return t('node.state.refused')
  if (seconds === null) return thought ? t('act.thought') : t('act.worked')
  const time = formatSeconds(seconds)
  return thought ? t('act.thought.for', { time }) : t('act.worked.for', { time })
}

export function ActivityLine(props: ActivityProps) {
  const { now, since, clock, steps, failed, nothingRan, open, empty } = props
  return (
    <button
      type="button"
      class={now ? 'act act-live' : 'act'}
      aria-expanded={empty ? undefined : open}
      aria-disabled={empty ? true : undefined}
      onClick={empty ? undefined : props.onToggle}
    >
      <span class="act-icon">
        <Icon
          name={now ? (now.waits ? 'clock' : 'spinner') : open ? 'chevron-down' : 'chevron-right'}
        />
      </span>
      {now ? (
        <span class="act-now">{now.text}</span>
      ) : (
        <span class={nothingRan ? 'act-failed' : undefined}>{pastLabel(props)}</span>
      )}
      {now && since !== null && (
        <span class="act-part">
          <Elapsed since={since} clock={clock} />
        </span>
      )}
      {steps > 0 && <span class="act-part act-steps">{t('act.steps', { count: steps })}</span>}
      {failed > 0 && <span class="act-part act-failed">{t('act.failed', { count: failed })}</span>}
    </button>
  )
}
