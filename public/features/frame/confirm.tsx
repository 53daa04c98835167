/** Confirmation dialog for actions that can't be undone. */
import { useSignal } from '@preact/signals'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import type { Confirmation } from '../shell/layout.ts'
import { t } from '../../strings/t.ts'
import { useShell } from '../../contexts.ts'

export const Confirm = ({ ask }: { ask: Confirmation }) => {
  const { layout, attempt } = useShell()
  const busy = useSignal(false)
  const close = () => {
    layout.confirmation.value = null
  }
  const agree = async () => {
    busy.value = true
    await attempt(async () => ask.run())
    close()
  }
  return (
    <Dialog title={ask.title} onClose={close}>
      <p class="dialog-text">{ask.text}</p>
      {ask.detail && <ask.detail />}
      <div class="form-actions">
        <Button onClick={close}>{t('app.cancel')}</Button>
        <Button
          kind={ask.danger ? 'danger' : 'primary'}
          disabled={busy.value}
          onClick={() => void agree()}
        >
          {ask.confirm}
        </Button>
      </div>
    </Dialog>
  )
}
