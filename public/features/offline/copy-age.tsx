/** How old the chats are that the page shows from storage, in the connection pill. */
import { useMemo } from 'preact/hooks'
import { fromSeconds } from '../../../lib/base/clock.ts'
import { useSessions, useShell } from '../../contexts.ts'
import { pageLocale } from '../../strings/t.ts'
import { t } from './strings.ts'

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
]

/** In the largest unit that fits. A clock that was set back makes no time in the future. */
const ageInWords = (ms: number, nowMs: number, locale = pageLocale()): string => {
  const age = Math.max(0, Math.round((nowMs - ms) / 1_000))
  const [unit, length] = UNITS.find(([, seconds]) => age >= seconds) ?? UNITS.at(-1)!
  return new Intl.RelativeTimeFormat(locale).format(-Math.floor(age / length), unit)
}

export const CopyAge = ({ ms }: { ms: number }) => {
  const { platform } = useShell()
  const sessions = useSessions()
  const text = t('copy.age', {
    ago: ageInWords(ms, Math.max(platform.clock.now(), fromSeconds(sessions.now.value))),
  })
  // A screen reader announces it once, not every minute.
  const announced = useMemo(() => text, [ms])
  return (
    <>
      <span aria-hidden="true">{text}</span>
      <span class="sr-only">{announced}</span>
    </>
  )
}
