/** Asks for the password when the server wants a change confirmed. */
import { useSignal } from '@preact/signals'
import { ApiError } from '../../api.ts'
import type { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { FormActions, TextField } from '../../parts/form.tsx'
import { t } from './strings.ts'

export type Shell = ReturnType<typeof useShell>

type Props = {
  /** Throws when the password is wrong. */
  run: (password: string) => Promise<void>
  onCancel: () => void
}

const ConfirmPassword = ({ run, onCancel }: Props) => {
  const password = useSignal('')
  const error = useSignal('')
  const isBusy = useSignal(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    isBusy.value = true
    error.value = ''
    try {
      await run(password.value)
    } catch (caught) {
      error.value = caught instanceof Error ? caught.message : String(caught)
    }
    isBusy.value = false
  }
  return (
    <Dialog title={t('confirm.title')} onClose={onCancel}>
      <form class="form" onSubmit={event => void submit(event)}>
        <p>{t('confirm.text')}</p>
        <TextField
          label={t('confirm.password')}
          type="password"
          autocomplete="current-password"
          autofocus
          error={error.value}
          value={password.value}
          onInput={text => {
            password.value = text
          }}
        />
        <FormActions>
          <Button onClick={onCancel}>{t('app.cancel')}</Button>
          <Button kind="primary" type="submit" disabled={isBusy.value || password.value === ''}>
            {t('confirm.continue')}
          </Button>
        </FormActions>
      </form>
    </Dialog>
  )
}

/** Calls `run`, and again with the password when the server asks for it. Undefined: the person canceled. */
export const confirmed = async <T,>(
  { layout }: Pick<Shell, 'layout'>,
  run: (password?: string) => Promise<T>,
): Promise<T | undefined> => {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'confirm_password') throw error
  }
  return new Promise(resolve => {
    const close = (value?: T) => {
      layout.overlay.value = null
      resolve(value)
    }
    layout.overlay.value = (
      <ConfirmPassword run={async password => close(await run(password))} onCancel={close} />
    )
  })
}
