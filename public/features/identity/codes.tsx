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
  const codes = state.value
  if (!codes) return null

  const turnOn = () =>
    attempt(async () => {
      const { openSetup } = await import('./codes-dialog.tsx')
      const setup = await confirmed(shell, password =>
        api('POST /api/auth/totp/start', { password }),
      )
      if (setup) openSetup(shell, setup, () => void load())
    })

  const turnOff = () =>
    attempt(async () => {
      const result = await confirmed(shell, password =>
        api('POST /api/auth/totp/disable', { password }),
      )
      if (!result) return
      toasts.show(t('codes.off.done'))
      await load()
    })

  const renew = () =>
    attempt(async () => {
      const { openRecovery } = await import('./codes-dialog.tsx')
      const reply = await confirmed(shell, password =>
        api('POST /api/auth/totp/recovery', { password }),
      )
      if (reply) openRecovery(shell, reply.recovery, () => void load())
    })

  return (
    <Section title={t('codes.title')}>
      <Row
        label={t('codes.label')}
        hint={t('codes.hint')}
        status={codes.enabled ? t('codes.on') : undefined}
        control={ids => (
          <Button
            id={ids.control}
            kind={codes.enabled ? 'danger' : 'plain'}
            onClick={() => void (codes.enabled ? turnOff() : turnOn())}
          >
            {t(codes.enabled ? 'codes.turnoff' : 'codes.turnon')}
          </Button>
        )}
      />
      {codes.enabled && (
        <Row
          label={t('codes.recovery')}
          hint={t('codes.recovery.left', { count: codes.recovery_left })}
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
