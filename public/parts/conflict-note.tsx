/** Conflict notice: the edited file was changed elsewhere. Offers to discard or overwrite. */
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import { t } from '../strings/editing-strings.ts'

export type ConflictProps = {
  /** Absent when the file was deleted. */
  onDiscardMine?: (() => void) | undefined
  onOverwrite: () => void
  text?: string
}

export const ConflictNote = ({ onDiscardMine, onOverwrite, text }: ConflictProps) => (
  <div class="note-box note-warn" role="alert">
    <Icon name="alert" size={18} />
    <div class="note-text">
      <strong>{t('conflict.title')}</strong>
      <p>{text ?? t('conflict.text')}</p>
      <div class="button-row">
        {onDiscardMine && <Button onClick={onDiscardMine}>{t('conflict.theirs')}</Button>}
        <Button kind="danger" onClick={onOverwrite}>
          {t('conflict.mine')}
        </Button>
      </div>
    </div>
  </div>
)
