/** The dialog that moves a chat into a worktree of its own: from the Changes tab, the composer, or the palette. */
import { useSignal } from '@preact/signals'

import type { App } from '../../app.ts'
import { loadLazyCss } from '../../parts/lazy-css.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { workspaceFacts } from './workspace-facts.ts'
import { t } from './worktree-strings.ts'

type Props = {
  isDirty: boolean
  onClose: () => void
  onCreate: (branch: string, carry: boolean) => void
}

export const NewWorktreeDialog = ({ isDirty, onClose, onCreate }: Props) => {
  const branch = useSignal('')
  const carry = useSignal(false)
  return (
    <Dialog title={t('title')} onClose={onClose} closeLabel={t('app.close')}>
      <p class="dialog-text">{t('text')}</p>
      <Form
        submit={t('create')}
        isIncomplete={!branch.value.trim()}
        onSubmit={() => {
          onClose()
          onCreate(branch.value.trim(), carry.value)
        }}
        onCancel={onClose}
      >
        <TextField label={t('git.branch.name')} dir="ltr" autofocus text={branch} />
        {isDirty && (
          <label class="git-check">
            <input
              type="checkbox"
              checked={carry.value}
              onChange={event => {
                carry.value = event.currentTarget.checked
              }}
            />
            {t('carry')}
          </label>
        )}
      </Form>
    </Dialog>
  )
}

/** Moves the open chat, or the one that the first message would create. */
export const openNewWorktree = async (app: App): Promise<void> => {
  const [facts] = await Promise.all([workspaceFacts(app), loadLazyCss()])
  // About another chat by now.
  if (!app.pane.isShown.peek()) return
  const close = () => {
    app.shell.layout.overlay.value = null
  }
  const create = async (branch: string, carry: boolean): Promise<void> => {
    const session_id = await app.chat.choices.ensureSession()
    const { path } = await app.shell.api('POST /api/git/worktree/create', {
      session_id,
      branch,
      carry,
    })
    await app.chat.choices.chooseWorkspace(path)
  }
  app.shell.layout.overlay.value = (
    <NewWorktreeDialog
      isDirty={(facts.changed_files ?? 0) > 0}
      onClose={close}
      onCreate={(branch, carry) => void app.shell.attempt(() => create(branch, carry))}
    />
  )
}
