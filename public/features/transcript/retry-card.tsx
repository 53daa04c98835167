/** Card of a failed model call that is about to be repeated: the cause, a countdown, and buttons to retry now or stop. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { every, toSeconds } from '../../../lib/base/clock.ts'
import { formatSeconds } from '../../parts/elapsed.tsx'
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import type { ServerClock } from '../../parts/server-clock.ts'
import type { ShownRetry } from './pending-retry.ts'
import { causeText } from '../../strings/server-text.ts'
import { t } from './retry-strings.ts'

/** From here on the requested delay is the news, not the limit. */
const LONG_WAIT_MS = 60_000

/** `10 min`, not `10 min 0 s`. */
const formatWait = (seconds: number): string =>
  seconds % 60 === 0 ? t('retry.minutes', { count: seconds / 60 }) : formatSeconds(seconds)

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

const causeOf = ({ reason, provider, delay_ms = 0, message, goal }: ShownRetry): string => {
  const name = provider ?? t('retry.unnamed')
  // Events of older servers have no reason.
  const cause =
    reason === undefined
      ? message
      : reason === 'rate_limit' && delay_ms >= LONG_WAIT_MS
        ? t('retry.asked', { provider: name, time: formatWait(delay_ms / 1_000) })
        : t(`retry.${reason}`, { provider: name })
  // A provider's message may or may not end with a period.
  const what = capitalize(cause.trim().replace(/[.!…]+$/, ''))
  return goal === null ? what : t('retry.subagent', { what })
}

const whenOf = ({ attempt, attempts }: ShownRetry, seconds: number): string => {
  const when = seconds > 0 ? t('retry.in', { time: formatSeconds(seconds) }) : t('retry.now')
  return attempts > attempt
    ? `${when} · ${t('retry.attempt', { next: attempt + 1, all: attempts })}`
    : when
}

type Props = {
  retry: ShownRetry
  clock: ServerClock
  onRetryNow: () => Promise<void>
  onStop: () => void
}

export function RetryCard({ retry, clock, onRetryNow, onStop }: Props) {
  const { until, message, sentences, reason, goal, others } = retry
  const secondsLeft = () => Math.max(0, Math.ceil(until - toSeconds(clock.now())))
  const seconds = useSignal(secondsLeft())
  const isPressed = useSignal(false)
  const announced = useSignal('')
  const cause = causeOf(retry)
  useEffect(() => {
    const update = () => {
      seconds.value = secondsLeft()
    }
    update()
    isPressed.value = false
    // Once per attempt, and after the live region is in the page: screen readers ignore what it is inserted with.
    announced.value = `${cause}. ${whenOf(retry, secondsLeft())}`
    return every(clock, 1_000, update)
  }, [until])
  const press = () => {
    isPressed.value = true
    // The event of the early retry follows; after a failure the button is needed again.
    onRetryNow().catch(() => {
      isPressed.value = false
    })
  }
  return (
    <section class="retry" aria-label={t('retry.label')}>
      <Icon name="refresh" size={18} />
      <div class="retry-text">
        <p class="retry-cause">{cause}</p>
        <p class="retry-when" aria-hidden="true">
          {whenOf(retry, seconds.value)}
        </p>
        {goal && <p class="retry-why">{goal}</p>}
        {reason !== undefined && message && (
          <p class="retry-why">{causeText(message, sentences?.message)}</p>
        )}
        {others > 0 && <p class="retry-why">{t('retry.others', { count: others })}</p>}
      </div>
      {may('POST /api/chat/retry') && (
        <div class="retry-buttons">
          <button
            type="button"
            class="ask-button ask-main"
            disabled={isPressed.value || seconds.value === 0}
            onClick={press}
          >
            {t('retry.button')}
          </button>
          <button type="button" class="ask-button" onClick={onStop}>
            {t('retry.stop')}
          </button>
        </div>
      )}
      <p class="sr-only" role="status">
        {announced.value}
      </p>
    </section>
  )
}
