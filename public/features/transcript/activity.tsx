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
  /** Calls that a person denied, and those that no one allowed in time. */
  denied: number
  missed: number
  open: boolean
  /** There are no steps to show yet. */
  empty: boolean
  onToggle: () => void
}

const pastLabel = ({ seconds, thought, steps, denied, missed }: ActivityProps): string => {
  if (steps > 0 && denied + missed === steps) return t('act.nothing')
  if (seconds === null) return thought ? t('act.thought') : t('act.worked')
  const time = formatSeconds(seconds)
  return thought ? t('act.thought.for', { time }) : t('act.worked.for', { time })
}

export function ActivityLine(props: ActivityProps) {
  const { now, since, clock, steps, failed, denied, missed, open, empty } = props
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
      {now ? <span class="act-now">{now.text}</span> : <span>{pastLabel(props)}</span>}
      {now && since !== null && (
        <span class="act-part">
          <Elapsed since={since} clock={clock} />
        </span>
      )}
      {steps > 0 && <span class="act-part act-steps">{t('act.steps', { count: steps })}</span>}
      {missed > 0 && <span class="act-part act-failed">{t('act.missed', { count: missed })}</span>}
      {denied > 0 && <span class="act-part act-failed">{t('act.denied', { count: denied })}</span>}
      {failed > 0 && <span class="act-part act-failed">{t('act.failed', { count: failed })}</span>}
    </button>
  )
}
