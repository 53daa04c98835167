/** The notice that the edited file changed on disk: compare, load from disk, or overwrite. */
import { createTwoFilesPatch } from 'diff'
import { useMemo } from 'preact/hooks'
import { parseDiff } from '../../parts/diff.ts'
import { Diff } from '../../parts/diff-view.tsx'
import { Icon } from '../../parts/icon.tsx'
import type { Doc } from './document.ts'
import { t } from './strings.ts'
import { useWorkspacePanel } from './context.ts'

/** The diff from the text on disk to the draft. */
const Comparison = ({ doc, theirs }: { doc: Doc; theirs: string }) => {
  const [file] = useMemo(
    () => parseDiff(createTwoFilesPatch('a/', 'b/', theirs, doc.draft ?? '')),
    [theirs, doc.draft],
  )
  return file && file.lines.length > 0 ? (
    <Diff file={file} />
  ) : (
    <p class="panel-note">{t('edit.same')}</p>
  )
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
