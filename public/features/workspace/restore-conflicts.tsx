/** What overwriting files that changed since would do to each of them, in the question about it. */
import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { visibleName } from '../../../lib/base/visible.ts'
import { type DiffLine, type FileDiff, parseDiff } from '../../parts/diff.ts'
import { DiffCounts } from '../../parts/diff-counts.tsx'
import { Diff } from '../../parts/diff-view.tsx'
import { t } from './turn-changes-strings.ts'

const MAX_FILES = 20

type PastDiff = { diff: string; binary: boolean; truncated: boolean }
/** The difference between the state to restore and the file now. */
type Load = (path: string) => Promise<PastDiff>

const OPPOSITE = { added: 'removed', removed: 'added' } as const
const opposite = (kind: DiffLine['kind']): DiffLine['kind'] =>
  kind === 'added' || kind === 'removed' ? OPPOSITE[kind] : kind

/** From now to the state that would be restored: what is removed would be lost. */
const reversed = ({ lines, added, removed, ...file }: FileDiff): FileDiff => ({
  ...file,
  added: removed,
  removed: added,
  lines: lines.map(line => ({ ...line, kind: opposite(line.kind) })),
})

function Conflict({ path, load, open }: { path: string; load: Load; open: boolean }) {
  const difference = useSignal<FileDiff | 'none' | 'failed' | null>(null)
  useEffect(() => {
    let current = true
    load(path).then(
      ({ diff, binary, truncated }) => {
        const [file] = binary || truncated ? [] : parseDiff(diff)
        if (current) difference.value = file ? reversed(file) : 'none'
      },
      () => {
        if (current) difference.value = 'failed'
      },
    )
    return () => {
      current = false
    }
  }, [path])
  const file = typeof difference.value === 'object' ? difference.value : null
  return (
    <details class="conflict-file" open={open}>
      <summary>
        <bdi>{visibleName(path)}</bdi>
        {file && <DiffCounts added={file.added} removed={file.removed} />}
      </summary>
      {file ? (
        <Diff file={file} />
      ) : (
        <p class="panel-note">
          {t(
            difference.value === null
              ? 'conflict.loading'
              : difference.value === 'none'
                ? 'conflict.none'
                : 'conflict.failed',
          )}
        </p>
      )}
    </details>
  )
}

export const restoreConflicts = (paths: readonly string[], load: Load): ComponentType =>
  function RestoreConflicts() {
    return (
      <div class="conflict-files">
        {paths.slice(0, MAX_FILES).map(path => (
          <Conflict key={path} path={path} load={load} open={paths.length === 1} />
        ))}
      </div>
    )
  }
