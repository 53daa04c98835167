/** The signed-in devices: their names, how and when they were used, renaming them and signing them out. */
import { useLoaded } from '../shell/use-loaded.ts'
import { type Clock, toSeconds } from '../../../lib/base/clock.ts'
import { formatFull } from '../../parts/relative-time.ts'
import { useSignal } from '@preact/signals'
import { visibleName } from '../../../lib/base/visible.ts'
import type { Api } from '../../../router.ts'
import { useShell } from '../../contexts.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Row, Section } from '../../parts/field.tsx'
import { deviceName } from './device-name.ts'
import { RenameForm } from './rename-form.tsx'
import { t } from './strings.ts'

type Device = Api['GET /api/auth/devices']['output']['devices'][number]

/** The server records uses to the minute. */
const ACTIVE_S = 120

const nameOf = ({ name, agent }: Device): string =>
  visibleName(name) || deviceName(agent) || t('devices.unknown')

const hintOf = (
  { how, current, created_at, seen_at, seen_address }: Device,
  { now }: Clock,
): string => {
  const isActive = current || toSeconds(now()) - seen_at < ACTIVE_S
  return [
    isActive ? t('devices.now') : t('devices.seen', { time: formatFull(seen_at) }),
    seen_address,
    t(`devices.how.${how}`),
    t('devices.since', { time: formatFull(created_at) }),
  ].join(' · ')
}

export const Devices = () => {
  const shell = useShell()
  const { attempt, api, layout, toasts } = shell
  const [devices, load] = useLoaded(() => api('GET /api/auth/devices'))
  const renaming = useSignal<string | null>(null)

  const revoke = (id: string) =>
    attempt(async () => {
      await api('POST /api/auth/revoke', { id })
      toasts.show(t('devices.revoked'))
      await load()
    })

  const askRevokeOthers = () => {
    layout.confirmation.value = {
      title: t('devices.others.title'),
      text: t('devices.others.text'),
      confirm: t('devices.others'),
      danger: true,
      async run() {
        await api('POST /api/auth/revoke', { others: true })
        toasts.show(t('devices.others.done'))
        await load()
      },
    }
  }

  const all = devices.value?.devices ?? []
  return (
    <Section title={t('devices.title')}>
      <Row
        label={t('pair.row')}
        hint={t('pair.row.hint')}
        control={ids => (
          <Button
            id={ids.control}
            onClick={() =>
              void attempt(async () =>
                (await import('./pair-dialog.tsx')).openPairing(shell, () => void load()),
              )
            }
          >
            {t('pair.button')}
          </Button>
        )}
      />
      {all.map(device =>
        device.id === renaming.value ? (
          <RenameForm
            key={device.id}
            name={nameOf(device)}
            hint={t('devices.name.hint')}
            save={name => api('POST /api/auth/device/rename', { id: device.id, name })}
            onDone={() => {
              renaming.value = null
              void load()
            }}
          />
        ) : (
          <Row
            key={device.id}
            label={device.current ? t('devices.this', { name: nameOf(device) }) : nameOf(device)}
            hint={hintOf(device, shell.platform.serverClock)}
            control={ids => (
              <>
                <IconButton
                  id={device.current ? ids.control : undefined}
                  icon="edit"
                  label={t('devices.rename', { name: nameOf(device) })}
                  onClick={() => {
                    renaming.value = device.id
                  }}
                />
                {/* The proxy signs this one in with each request. */}
                {!device.current && device.how !== 'proxy' && (
                  <Button
                    id={ids.control}
                    aria-label={t('devices.revoke.what', { name: nameOf(device) })}
                    onClick={() => void revoke(device.id)}
                  >
                    {t('devices.revoke')}
                  </Button>
                )}
              </>
            )}
          />
        ),
      )}
      {all.length > 1 && (
        <Row
          label={t('devices.others')}
          hint={t('devices.others.hint')}
          control={ids => (
            <Button id={ids.control} kind="danger" onClick={askRevokeOthers}>
              {t('devices.revoke')}
            </Button>
          )}
        />
      )}
    </Section>
  )
}
