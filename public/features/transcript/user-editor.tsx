/** Editor of a user message; resending it deletes everything below. */
import { useState } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { ATTACHED_CHARS, toPastedFile } from '../composer/long-text.ts'
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
  const { pasted, isUploading, attach, remove } = usePastedFiles()
  const canSend = draft.trim() !== '' && !isUploading
  const send = () => {
    if (!canSend) return
    onClose()
    actions.edit(
      id,
      draft.trim(),
      pasted.map(({ name }) => name),
    )
  }
  const onPaste = (event: Event, data: DataTransfer | null) => {
    const given = data?.getData('text/plain') ?? ''
    if (given.length <= ATTACHED_CHARS) return
    event.preventDefault()
    attach(given)
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
        onPaste={event => onPaste(event, event.clipboardData)}
        onDrop={event => onPaste(event, event.dataTransfer)}
      />
      <PastedFiles files={pasted} onRemove={remove} />
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
        <button type="button" class="ask-button ask-main" disabled={!canSend} onClick={send}>
          {t('edit.send')}
        </button>
      </div>
    </div>
  )
}

type PastedFile = { name: string; chars: number }

/** A long pasted text becomes a file: a browser lays out a field as a whole with each key. */
const usePastedFiles = () => {
  const app = useApp()
  const [pasted, setPasted] = useState<readonly PastedFile[]>([])
  const [uploads, setUploads] = useState(0)
  return {
    pasted,
    isUploading: uploads > 0,
    attach: (given: string) =>
      void app.attempt(async () => {
        const text = given.replace(/\r\n?/g, '\n')
        const file = toPastedFile(text)
        const { sessionId } = app.chat.chat.peek()
        setUploads(count => count + 1)
        try {
          const { filename } = await app.platform.upload({ sessionId, file, name: file.name })
          setPasted(before => [...before, { name: filename, chars: text.length }])
        } finally {
          setUploads(count => count - 1)
        }
      }),
    remove: (name: string) => setPasted(before => before.filter(each => each.name !== name)),
  }
}

const PastedFiles = ({
  files,
  onRemove,
}: {
  files: readonly PastedFile[]
  onRemove: (name: string) => void
}) => (
  <>
    {files.map(({ name, chars }) => (
      <p key={name} class="user-edit-file" role="status">
        <Icon name="file" size={14} />
        {t('edit.attached', { count: chars })}
        <button
          type="button"
          class="icon-button"
          aria-label={t('edit.remove', { name })}
          onClick={() => onRemove(name)}
        >
          <Icon name="close" size={14} />
        </button>
      </p>
    ))}
  </>
)

/** Focuses the field once, with the caret at the end. */
const focusOnce = (element: HTMLTextAreaElement | null) => {
  if (!element || element.dataset.focused) return
  element.dataset.focused = 'true'
  element.focus()
  element.setSelectionRange(element.value.length, element.value.length)
}
