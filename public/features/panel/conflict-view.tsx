/** Notices that the edited file can't just be saved: it changed on disk, or the chat works in another folder. */
import { createTwoFilesPatch } from 'diff'
import { useMemo } from 'preact/hooks'
import { parseDiff } from '../../parts/diff.ts'
import { Diff } from '../../parts/diff-view.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useShell } from '../../contexts.ts'
import type { Doc } from '../workspace/document.ts'
import { fileName } from '../../parts/file-kind.ts'
import { t } from '../workspace/strings.ts'
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
          onClick={() => void preview.saver.compare()}
        >
          {t(doc.theirs === null ? 'edit.compare' : 'edit.compare.hide')}
        </button>
        <button
          type="button"
          class="button button-small"
          onClick={() => void preview.saver.loadFromDisk()}
        >
          {t('edit.reload')}
        </button>
        <button
          type="button"
          class="button button-small button-danger"
          disabled={doc.saving}
          onClick={() => void preview.saver.overwrite()}
        >
          {t('edit.overwrite')}
        </button>
      </div>
      {doc.theirs !== null && <Comparison doc={doc} theirs={doc.theirs} />}
    </div>
  )
}

/** The text can be copied, or given up for the file of the new folder. */
export const Moved = ({ doc }: { doc: Doc }) => {
  const { openFile: preview } = useWorkspacePanel()
  const { copy } = useShell()
  return (
    <div class="conflict" role="alert">
      <p class="conflict-text">
        <Icon name="alert" size={14} />
        <span>{t('edit.moved', { name: fileName(doc.path) })}</span>
      </p>
      <div class="conflict-ways">
        <button
          type="button"
          class="button button-small"
          onClick={() => void copy(doc.draft ?? doc.content)}
        >
          {t('preview.copy.text')}
        </button>
        <button
          type="button"
          class="button button-small button-danger"
          onClick={() => preview.setMode('view')}
        >
          {t('files.discard')}
        </button>
      </div>
    </div>
  )
}
