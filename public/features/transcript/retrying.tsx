/** Countdown to the next attempt of a failed call. */
import { useEffect, useState } from 'preact/hooks'
import { t } from '../../strings/t.ts'

type Props = { why: string; until: number; next: number; all: number }

const secondsTo = (until: number) => Math.max(0, Math.ceil(until - Date.now() / 1_000))

export function Retrying({ why, until, next, all }: Props) {
  const [left, setLeft] = useState(() => secondsTo(until))
  useEffect(() => {
    setLeft(secondsTo(until))
    const timer = setInterval(() => setLeft(secondsTo(until)), 1_000)
    return () => clearInterval(timer)
  }, [until])
  // A provider's message may or may not end with a period.
  const reason = why.trim().replace(/[.!…]+$/, '')
  return (
    <span>
      {left > 0
        ? t('tx.retrying', { reason, count: left, next, all })
        : t('tx.retrying.now', { reason, next, all })}
    </span>
  )
}
