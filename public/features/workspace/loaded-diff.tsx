/** A loaded diff, or its loading or error message. */
import { useMemo } from 'preact/hooks'
import { parseDiff } from '../../parts/diff.ts'
import { Diff, DiffCounts } from '../../parts/diff-view.tsx'
import type { LoadedDiff } from './git-changes.ts'
import { t } from './strings.ts'

export const LoadedDiffView = ({ loaded }: { loaded: LoadedDiff | undefined }) => {
  const files = useMemo(() => parseDiff(loaded?.diff ?? ''), [loaded?.diff])
  if (!loaded || loaded.state === 'loading') {
    return <p class="panel-note panel-late">{t('git.diff.loading')}</p>
  }
  if (loaded.state === 'failed') return <p class="panel-note">{t('git.diff.failed')}</p>
  if (loaded.binary) return <p class="panel-note">{t('git.diff.binary')}</p>
  const shown = files.filter(({ lines }) => lines.length > 0)
  if (shown.length === 0)
    return <p class="panel-note">{t(loaded.truncated ? 'git.diff.cut' : 'git.diff.none')}</p>
  return (
    <>
      {shown.map((file, index) => (
        <div key={index}>
          <p class="change-counts">
            <DiffCounts added={file.added} removed={file.removed} />
          </p>
          <Diff file={file} />
        </div>
      ))}
      {loaded.truncated && <p class="panel-note">{t('git.diff.cut')}</p>}
    </>
  )
}
