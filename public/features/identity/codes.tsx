/** Settings → Security: one-time codes after the password. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Api } from '../../../router.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Row } from '../../parts/field.tsx'
import { confirmed } from './confirm-password.tsx'
import { t } from './strings.ts'

type State = Api['GET /api/auth/totp']['output']

export const Codes = () => {
  const shell = useShell()
  const { attempt, api, toasts } = shell
  const state = useSignal<State | null>(null)
  const load = () =>
    attempt(async () => {
      state.value = await api('GET /api/auth/totp')
    })
  useEffect(() => void load(), [])
  const shown = state.value
  if (!shown) return null

  const turnOn = () =>
    attempt(async () => {
      const { openSetup } = await import('./codes-dialog.tsx')
      const made = await confirmed(shell, password =>
        api('POST /api/auth/totp/start', { password }),
      )
      if (made) openSetup(shell, made, () => void load())
    })

  const turnOff = () =>
    attempt(async () => {
      const done = await confirmed(shell, password =>
        api('POST /api/auth/totp/disable', { password }),
      )
      if (!done) return
      toasts.show(t('codes.off.done'))
      await load()
    })

  const renew = () =>
    attempt(async () => {
      const { openRecovery } = await import('./codes-dialog.tsx')
      const made = await confirmed(shell, password =>
        api('POST /api/auth/totp/recovery', { password }),
      )
      if (made) openRecovery(shell, made.recovery, () => void load())
    })

  return (
    <section class="view-part rows" aria-label={t('codes.title')}>
      <h3>{t('codes.title')}</h3>
      <Row
        label={t('codes.label')}
        hint={t('codes.hint')}
        status={shown.enabled ? t('codes.on') : undefined}
        control={ids => (
          <Button
            id={ids.control}
            kind={shown.enabled ? 'danger' : 'plain'}
            onClick={() => void (shown.enabled ? turnOff() : turnOn())}
          >
            {t(shown.enabled ? 'codes.turnoff' : 'codes.turnon')}
          </Button>
        )}
      />
      {shown.enabled && (
        <Row
          label={t('codes.recovery')}
          hint={t('codes.recovery.left', { count: shown.recovery_left })}
          control={ids => (
            <Button id={ids.control} onClick={() => void renew()}>
              {t('codes.recovery.new')}
            </Button>
          )}
        />
      )}
    </section>
  )
}
