/** Asks for the password when the server wants a change confirmed. */
import { useSignal } from '@preact/signals'
import { ApiError } from '../../api.ts'
import type { useShell } from '../../contexts.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { t } from './strings.ts'

export type Shell = ReturnType<typeof useShell>

type Props = {
  /** Throws when the password is wrong. */
  run: (password: string) => Promise<void>
  onCancel: () => void
}

const ConfirmPassword = ({ run, onCancel }: Props) => {
  const password = useSignal('')
  return (
    <Dialog title={t('confirm.title')} onClose={onCancel}>
      <Form
        submit={t('confirm.continue')}
        isIncomplete={password.value === ''}
        onSubmit={() => run(password.value)}
        onCancel={onCancel}
      >
        <p>{t('confirm.text')}</p>
        <TextField
          label={t('confirm.password')}
          type="password"
          autocomplete="current-password"
          autofocus
          text={password}
        />
      </Form>
    </Dialog>
  )
}

/** Calls `run`, and again with the password when the server asks for it. Undefined: the person canceled. */
export const confirmed = async <T,>(
  { layout }: Shell,
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
