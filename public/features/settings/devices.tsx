/** The signed-in devices, and signing them out. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Api } from '../../../router.ts'
import { Button } from '../../parts/button.tsx'
import { Row } from '../../parts/field.tsx'
import { t } from './strings.ts'
import { useShell } from '../../contexts.ts'

type Device = Api['GET /api/auth/devices']['output']['devices'][number]

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** Browser and operating system of a user agent string. */
const nameOf = (agent: string): string => {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\//.exec(agent)?.[1] ?? ''
  const system = /(Android|iPhone|iPad|Windows|Mac OS X|Linux)/.exec(agent)?.[1] ?? ''
  const name = { Edg: 'Edge', OPR: 'Opera' }[browser] ?? browser
  return [name, system].filter(Boolean).join(' · ') || t('devices.unknown')
}

export const Devices = () => {
  const { attempt, auth } = useShell()
  const devices = useSignal<readonly Device[]>([])
  const load = () =>
    attempt(async () => {
      devices.value = await auth.devices()
    })
  useEffect(() => void load(), [])

  const revoke = async (id: string | null) => {
    await attempt(() => auth.revoke(id))
    await load()
  }

  return (
    <section class="view-part rows" aria-label={t('devices.title')}>
      <h3>{t('devices.title')}</h3>
      {devices.value.map(device => (
        <Row
          key={device.id}
          label={
            device.current
              ? t('devices.this', { name: nameOf(device.agent) })
              : nameOf(device.agent)
          }
          hint={t('devices.hint', {
            address: device.address,
            time: TIME.format(device.created_at * 1_000),
          })}
          control={ids =>
            device.current ? null : (
              <Button id={ids.control} onClick={() => void revoke(device.id)}>
                {t('devices.revoke')}
              </Button>
            )
          }
        />
      ))}
      {devices.value.length > 1 && (
        <Row
          label={t('devices.others')}
          control={ids => (
            <Button id={ids.control} kind="danger" onClick={() => void revoke(null)}>
              {t('devices.others')}
            </Button>
          )}
        />
      )}
    </section>
  )
}
