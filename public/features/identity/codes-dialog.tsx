/** Dialogs that set up one-time codes and show the recovery codes. */
import { useSignal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, FormActions, TextField } from '../../parts/form.tsx'
import type { Shell } from './confirm-password.tsx'
import { QrCode } from './qr-code.tsx'
import { t } from './strings.ts'

type TotpSetup = Api['POST /api/auth/totp/start']['output']

type SetupProps = {
  setup: TotpSetup
  onDone: (recovery: readonly string[]) => void
  onClose: () => void
}

const Setup = ({ setup, onDone, onClose }: SetupProps) => {
  const { api } = useShell()
  const code = useSignal('')
  const submit = async () =>
    onDone((await api('POST /api/auth/totp/enable', { code: code.value })).recovery)
  return (
    <Dialog title={t('codes.setup')} onClose={onClose} closeLabel={t('app.cancel')}>
      <Form
        class="pair-body"
        submit={t('codes.turnon')}
        isIncomplete={code.value.trim() === ''}
        onSubmit={submit}
        onCancel={onClose}
      >
        <p>{t('codes.scan')}</p>
        <div class="pair-link">
          <QrCode text={setup.uri} label={t('codes.qr')} />
        </div>
        <div>
          <p class="field-hint">{t('codes.secret')}</p>
          <div class="codes-secret">
            <code dir="ltr">{setup.secret.match(/.{1,4}/g)?.join(' ')}</code>
            <CopyButton text={setup.secret} label={t('codes.secret.copy')} />
          </div>
        </div>
        <TextField
          label={t('codes.code')}
          autocomplete="one-time-code"
          autofocus
          dir="ltr"
          maxLength={10}
          text={code}
        />
      </Form>
    </Dialog>
  )
}

/** Closes only with its button: the codes are shown once. */
const Recovery = ({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) => (
  <Dialog title={t('codes.recovery')}>
    <div class="pair-body">
      <p>{t('codes.recovery.text')}</p>
      <ul class="codes-recovery" dir="ltr">
        {codes.map(code => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <FormActions>
        <CopyButton text={codes.join('\n')} label={t('codes.recovery.copy')} />
        <Button kind="primary" onClick={onClose}>
          {t('codes.recovery.done')}
        </Button>
      </FormActions>
    </div>
  </Dialog>
)

export const openRecovery = (
  { layout }: Shell,
  codes: readonly string[],
  onClose: () => void,
): void => {
  layout.overlay.value = (
    <Recovery
      codes={codes}
      onClose={() => {
        layout.overlay.value = null
        onClose()
      }}
    />
  )
}

export const openSetup = (shell: Shell, setup: TotpSetup, onClose: () => void): void => {
  shell.layout.overlay.value = (
    <Setup
      setup={setup}
      onDone={recovery => openRecovery(shell, recovery, onClose)}
      onClose={() => {
        shell.layout.overlay.value = null
        onClose()
      }}
    />
  )
}
