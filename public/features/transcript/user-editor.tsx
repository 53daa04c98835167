/** Editor of a user message; its new text takes the place of the message and of everything below it. */
import { isComposing } from '../../parts/composing.ts'
import { Icon } from '../../parts/icon.tsx'
import {
  type Editing,
  editOf,
  type PastedFile,
  withEdit,
  withoutEdit,
} from '../messages/editing.ts'
import { ATTACHED_CHARS, toPastedFile } from '../composer/long-text.ts'
import { saveAsCommand } from '../own-files/save-as-command.ts'
import { useApp } from '../shell/context.ts'
import { fileName } from '../../parts/file-kind.ts'
import { t } from './user-editor-strings.ts'
import { useTranscript } from '../messages/transcript-context.ts'

export function UserEditor({ id }: { id: string }) {
  const { actions } = useTranscript()
  const { editing } = actions
  const app = useApp()
  const edit = editOf(editing.value, id)
  const draft = edit?.text ?? ''
  const pasted = edit?.files ?? []
  const isUploading = (edit?.uploads ?? 0) > 0
  const isSending = edit?.isSending === true
  const { change, attach, remove } = usePastedFiles(id)
  const canSend = draft.trim() !== '' && !isUploading && !isSending
  const onClose = () => {
    editing.value = withoutEdit(editing.value, id)
  }
  const send = async () => {
    if (!canSend) return
    const names = pasted.map(({ name }) => name)
    await actions.edit(id, draft.trim(), names)
  }
  const onPaste = (event: Event, data: DataTransfer | null) => {
    const text = data?.getData('text/plain') ?? ''
    if (text.length <= ATTACHED_CHARS || isSending) return
    event.preventDefault()
    attach(text)
  }
  const onKey = (event: KeyboardEvent) => {
    if (isComposing(event)) return
    if (event.key === 'Escape') {
      event.stopPropagation()
      onClose()
    }
    if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void send()
  }
  return (
    <div class="user-edit">
      <textarea
        ref={focusOnce}
        aria-label={t('edit.label')}
        value={draft}
        readOnly={isSending}
        rows={Math.min(14, draft.split('\n', 14).length + 1)}
        onInput={event => {
          change({ text: event.currentTarget.value })
        }}
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
          onClick={() => void app.shell.attempt(() => saveAsCommand(app, draft.trim()))}
        >
          {t('edit.command')}
        </button>
        <button type="button" class="ask-button" onClick={onClose}>
          {t('app.cancel')}
        </button>
        <button
          type="button"
          class="ask-button ask-main"
          disabled={!canSend}
          onClick={() => void send()}
        >
          {t('edit.send')}
        </button>
      </div>
    </div>
  )
}

/** A long pasted text becomes a file: a browser lays out a field as a whole with each key. Kept with the text of the message. */
const usePastedFiles = (id: string) => {
  const app = useApp()
  const { editing } = useTranscript().actions
  const now = () => editOf(editing.peek(), id)
  /** Unless the editor was closed meanwhile. */
  const change = (part: Partial<Editing>): void => {
    const edit = now()
    if (edit) editing.value = withEdit(editing.peek(), { ...edit, ...part })
  }
  const setFiles = (next: (files: readonly PastedFile[]) => readonly PastedFile[]) =>
    change({ files: next(now()?.files ?? []) })
  const count = (by: number) => change({ uploads: Math.max(0, (now()?.uploads ?? 0) + by) })
  return {
    change,
    attach: (raw: string) =>
      void app.shell.attempt(async () => {
        const text = raw.replace(/\r\n?/g, '\n')
        const file = toPastedFile(text)
        const sessionId = app.chat.transcript.sessionId.peek()
        count(1)
        try {
          const { filename } = await app.shell.platform.upload({ sessionId, file, name: file.name })
          setFiles(files => [...files, { name: filename, chars: text.length }])
        } finally {
          count(-1)
        }
      }),
    remove: (name: string) => setFiles(files => files.filter(each => each.name !== name)),
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
        {chars === undefined ? fileName(name) : t('edit.attached', { count: chars })}
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
