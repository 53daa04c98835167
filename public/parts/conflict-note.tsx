/** Somebody else wrote to what is being edited: two ways on, and nothing is lost before one is chosen. */
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import { enEditing } from '../strings/editing.ts'
import { translator } from '../strings/t.ts'

const t = translator(enEditing)

export type ConflictProps = {
  /** Absent: it is gone, and can only be written anew. */
  onTheirs?: (() => void) | undefined
  onMine: () => void
  text?: string
}

export const ConflictNote = ({ onTheirs, onMine, text }: ConflictProps) => (
  <div class="note-box note-warn" role="alert">
    <Icon name="alert" size={18} />
    <div class="note-text">
      <strong>{t('conflict.title')}</strong>
      <p>{text ?? t('conflict.text')}</p>
      <div class="form-actions form-actions-start">
        {onTheirs && <Button onClick={onTheirs}>{t('conflict.theirs')}</Button>}
        <Button kind="danger" onClick={onMine}>
          {t('conflict.mine')}
        </Button>
      </div>
    </div>
  </div>
)
