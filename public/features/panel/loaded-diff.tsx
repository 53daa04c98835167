/** A loaded diff, or its loading or error message. */
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { parseDiff } from '../../parts/diff.ts'
import { DiffCounts } from '../../parts/diff-counts.tsx'
import { DiffHunks, type HunkSlots } from '../review/diff-hunks.tsx'
import type { LoadedDiff } from '../workspace/git-changes.ts'
import { t } from '../workspace/strings.ts'

type LoadedDiffProps = {
  path: string
  diff: LoadedDiff | undefined
  /** Undoes the part with this header. */
  onUndo?: (header: string) => void
  slots?: HunkSlots
  /** Beside the counts. */
  tool?: ComponentChildren
}

export const LoadedDiffView = ({ path, diff: loaded, onUndo, slots, tool }: LoadedDiffProps) => {
  const files = useMemo(() => parseDiff(loaded?.diff ?? ''), [loaded?.diff])
  if (!loaded || loaded.state === 'loading') {
    return <p class="panel-note panel-late">{t('git.diff.loading')}</p>
  }
  if (loaded.state === 'failed') return <p class="panel-note">{t('git.diff.failed')}</p>
  if (loaded.binary) return <p class="panel-note">{t('git.diff.binary')}</p>
  const visible = files.filter(({ lines }) => lines.length > 0)
  if (visible.length === 0)
    return <p class="panel-note">{t(loaded.truncated ? 'git.diff.cut' : 'git.diff.none')}</p>
  const sum = (side: 'added' | 'removed') => visible.reduce((total, file) => total + file[side], 0)
  return (
    <>
      <div class="change-counts">
        <DiffCounts added={sum('added')} removed={sum('removed')} />
        {tool}
      </div>
      <DiffHunks
        path={path}
        diff={loaded.diff}
        onUndo={onUndo ?? null}
        undone={loaded.undone}
        slots={slots}
      />
      {loaded.truncated && <p class="panel-note">{t('git.diff.cut')}</p>}
    </>
  )
}
