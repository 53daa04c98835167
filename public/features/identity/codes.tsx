/** Settings → Access: one-time codes after the password. */
import { useLoaded } from '../shell/use-loaded.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Row, Section } from '../../parts/field.tsx'
import { confirmed } from './confirm-password.tsx'
import { t } from './strings.ts'

export const Codes = () => {
  const shell = useShell()
  const { attempt, api, toasts } = shell
  const [state, load] = useLoaded(() => api('GET /api/auth/totp'))
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
    <Section title={t('codes.title')}>
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
    </Section>
  )
}
