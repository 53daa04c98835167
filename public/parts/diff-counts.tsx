/** How many lines a change adds and removes. */
import { t } from './diff-strings.ts'

export function DiffCounts({ added, removed }: { added: number; removed: number }) {
  return (
    <span class="diff-counts" role="img" aria-label={t('tool.diff.counts', { added, removed })}>
      <span class="diff-plus">+{added}</span> <span class="diff-minus">−{removed}</span>
    </span>
  )
}
