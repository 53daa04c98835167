/** The notice that the edited file changed on disk: compare, load from disk, or overwrite. */
import { useEffect, useState } from 'preact/hooks'
import { type FileDiff, parseDiff } from '../../parts/diff.ts'
import { Diff } from '../../parts/diff-view.tsx'
import { Icon } from '../../parts/icon.tsx'
import type { Doc } from './document.ts'
import { t } from './strings.ts'
import { useWorkspacePanel } from './context.ts'

/** The diff from the text on disk to the draft. */
const Comparison = ({ doc, theirs }: { doc: Doc; theirs: string }) => {
  const [file, setFile] = useState<FileDiff | null | 'same'>(null)
  useEffect(() => {
    let current = true
    import('diff').then(
      ({ createTwoFilesPatch }) => {
        const text = createTwoFilesPatch('a', 'b', theirs, doc.draft ?? '')
        const [found] = parseDiff(text.replace(/^=+\n/, ''))
        if (current) setFile(found && found.lines.length > 0 ? found : 'same')
      },
      // Offline; the other two actions do not need the diff.
      () => undefined,
    )
    return () => {
      current = false
    }
  }, [theirs, doc.draft])
  if (file === null) return null
  if (file === 'same') return <p class="panel-note">{t('edit.same')}</p>
  return <Diff file={file} />
}

export const Conflict = ({ doc }: { doc: Doc }) => {
  const { openFile: preview } = useWorkspacePanel()
  return (
    <div class="conflict" role="alert">
      <p class="conflict-text">
        <Icon name="alert" size={14} />
        <span>{t('edit.conflict')}</span>
      </p>
      <div class="conflict-ways">
        <button
          type="button"
          class="button button-small"
          aria-expanded={doc.theirs !== null}
          onClick={() => void preview.compare()}
        >
          {t(doc.theirs === null ? 'edit.compare' : 'edit.compare.hide')}
        </button>
        <button
          type="button"
          class="button button-small"
          onClick={() => void preview.loadFromDisk()}
        >
          {t('edit.reload')}
        </button>
        <button
          type="button"
          class="button button-small button-danger"
          disabled={doc.saving}
          onClick={() => void preview.overwrite()}
        >
          {t('edit.overwrite')}
        </button>
      </div>
      {doc.theirs !== null && <Comparison doc={doc} theirs={doc.theirs} />}
    </div>
  )
}
