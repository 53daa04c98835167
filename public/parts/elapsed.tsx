/** Formats durations; `Elapsed` counts up without re-rendering its parents. */
import { t } from '../strings/transcript-strings.ts'
import { useSeconds } from './use-seconds.ts'
import type { ServerClock } from './server-clock.ts'

export const formatSeconds = (seconds: number): string => {
  const whole = Math.max(0, Math.round(seconds))
  if (seconds > 0 && seconds < 0.95)
    return t('span.seconds', { count: Math.round(seconds * 10) / 10 })
  if (whole < 60) return t('span.seconds', { count: whole })
  if (whole < 3600) {
    return t('span.minutes', { minutes: Math.floor(whole / 60), seconds: whole % 60 })
  }
  return t('span.hours', { hours: Math.floor(whole / 3600), minutes: Math.floor(whole / 60) % 60 })
}

/** Time elapsed since `since` (seconds since 1970, by the server's clock); clamped at 0 because that clock is an estimate. */
export function Elapsed({ since, clock }: { since: number; clock: ServerClock }) {
  const seconds = Math.floor(Math.max(0, useSeconds(clock) - since))
  return <span class="elapsed">{formatSeconds(seconds)}</span>
}
