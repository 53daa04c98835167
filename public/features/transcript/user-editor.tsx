/** Editor of a user message; resending it deletes everything below. */
import { useState } from 'preact/hooks'
import { saveAsCommand } from '../own-files/save-as-command.ts'
import { useApp } from '../shell/context.ts'
import { t } from './user-editor-strings.ts'
import { useTranscript } from './transcript-context.ts'

export function UserEditor({
  text,
  id,
  onClose,
}: {
  text: string
  id: string
  onClose: () => void
}) {
  const { actions } = useTranscript()
  const app = useApp()
  const [draft, setDraft] = useState(text)
  const send = () => {
    if (!draft.trim()) return
    onClose()
    actions.edit(id, draft.trim())
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.isComposing) return
    if (event.key === 'Escape') {
      event.stopPropagation()
      onClose()
    }
    if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) send()
  }
  return (
    <div class="user-edit">
      <textarea
        ref={focusOnce}
        aria-label={t('edit.label')}
        value={draft}
        rows={Math.min(14, draft.split('\n', 14).length + 1)}
        onInput={event => setDraft(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      <div class="user-edit-foot">
        <span>{t('edit.note')}</span>
        <button
          type="button"
          class="ask-button"
          disabled={!draft.trim()}
          onClick={() => void app.attempt(() => saveAsCommand(app, draft.trim()))}
        >
          {t('edit.command')}
        </button>
        <button type="button" class="ask-button" onClick={onClose}>
          {t('edit.cancel')}
        </button>
        <button type="button" class="ask-button ask-main" disabled={!draft.trim()} onClick={send}>
          {t('edit.send')}
        </button>
      </div>
    </div>
  )
}

/** Focuses the field once, with the caret at the end. */
const focusOnce = (element: HTMLTextAreaElement | null) => {
  if (!element || element.dataset.focused) return
  element.dataset.focused = 'true'
  element.focus()
  element.setSelectionRange(element.value.length, element.value.length)
}
