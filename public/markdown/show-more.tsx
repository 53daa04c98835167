/** Shows a long list in parts, with a button for the next part. */
import { useSignal } from '@preact/signals'

import type { ComponentChild } from 'preact'
import { t } from '../strings/transcript-strings.ts'

export const useShowMore = <T,>(
  all: readonly T[],
  step: number,
): { visible: readonly T[]; button: ComponentChild } => {
  const count = useSignal(step)
  const rest = all.length - count.value
  const button =
    rest > 0 ? (
      <button
        type="button"
        class="tx-more"
        onClick={() => {
          count.value = count.value + step
        }}
      >
        {t('md.more', { count: Math.min(rest, step), total: all.length })}
      </button>
    ) : null
  return { visible: rest > 0 ? all.slice(0, count.value) : all, button }
}
