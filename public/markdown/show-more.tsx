/** Shows a long list in parts, with a button for the next part. */
import { useState } from 'preact/hooks'
import type { ComponentChild } from 'preact'
import { t } from '../strings/transcript-strings.ts'

export const useShowMore = <T,>(
  all: readonly T[],
  step: number,
): { shown: readonly T[]; button: ComponentChild } => {
  const [count, setCount] = useState(step)
  const left = all.length - count
  const button =
    left > 0 ? (
      <button type="button" class="tx-more" onClick={() => setCount(count + step)}>
        {t('md.more', { count: Math.min(left, step), total: all.length })}
      </button>
    ) : null
  return { shown: left > 0 ? all.slice(0, count) : all, button }
}
