/** Somebody else wrote to what is being edited: two ways on, and nothing is lost before one is chosen. */
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import { tk } from '../features/knowledge-strings.ts'

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
      <strong>{tk('conflict.title')}</strong>
      <p>{text ?? tk('conflict.text')}</p>
      <div class="form-actions form-actions-start">
        {onTheirs && <Button onClick={onTheirs}>{tk('conflict.theirs')}</Button>}
        <Button kind="danger" onClick={onMine}>
          {tk('conflict.mine')}
        </Button>
      </div>
    </div>
  </div>
)
