/** The form of a file of the profile: Ctrl+S saves it, and says when the file was changed elsewhere. */
import type { ComponentChildren } from 'preact'
import { t } from '../strings/editing-strings.ts'
import { Button } from './button.tsx'
import type { EditedFile } from './edited-file.ts'
import { FormActions } from './form.tsx'
import { Icon } from './icon.tsx'

type ConflictProps = {
  /** The sentence for a file that was deleted. */
  goneText: string
  isGone: boolean
  onDiscardMine: () => void
  onOverwrite: () => void
}

const ConflictNote = ({ goneText, isGone, onDiscardMine, onOverwrite }: ConflictProps) => (
  <div class="note-box note-warn" role="alert">
    <Icon name="alert" size={18} />
    <div class="note-text">
      <strong>{t('conflict.title')}</strong>
      <p>{isGone ? goneText : t('conflict.text')}</p>
      <div class="button-row">
        {!isGone && <Button onClick={onDiscardMine}>{t('conflict.theirs')}</Button>}
        <Button kind="danger" onClick={onOverwrite}>
          {t('conflict.mine')}
        </Button>
      </div>
    </div>
  </div>
)

export type EditFormProps<D extends { version: string | null }> = {
  file: EditedFile<D>
  label?: string
  class?: string
  /** Nothing can be saved yet. */
  isIncomplete?: boolean
  /** Why it cannot be saved, in place of what the server said. */
  error?: string | null
  goneText?: string
  /** Above the notice of a conflict. */
  head?: ComponentChildren
  onSave: (overwrite: boolean) => void
  /** Replaces the draft with the version on disk. */
  onDiscardMine: () => void
  children: ComponentChildren
}

export const EditForm = <D extends { version: string | null }>(props: EditFormProps<D>) => {
  const { file, label, isIncomplete = false, error, goneText = '', head, onSave, children } = props
  const { value: conflict } = file.conflict
  return (
    <form
      class={`form form-wide ${props.class ?? ''}`}
      aria-label={label}
      onSubmit={event => {
        event.preventDefault()
        onSave(false)
      }}
      onKeyDown={event => {
        if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        if (!isIncomplete) onSave(false)
      }}
    >
      {head}
      {conflict && (
        <ConflictNote
          goneText={goneText}
          isGone={conflict.version === null}
          onDiscardMine={props.onDiscardMine}
          onOverwrite={() => onSave(true)}
        />
      )}
      {children}
      <FormActions error={error || file.problem.value}>
        <Button onClick={() => file.cancel()}>{t('app.cancel')}</Button>
        <Button kind="primary" type="submit" disabled={isIncomplete || file.busy.value}>
          {file.busy.value ? t('app.saving') : t('app.save')}
        </Button>
      </FormActions>
    </form>
  )
}
