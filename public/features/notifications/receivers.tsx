/** Devices and services that receive notifications: what was sent last, a test, and removing one. */
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Row } from '../../parts/field.tsx'
import type { PartProps } from './view.tsx'
import { pageLocale } from '../../strings/t.ts'
import { t } from './strings.ts'
import type { NotificationState } from './this-device.ts'
import { unsubscribeHere } from './this-device.ts'

const TIME = new Intl.DateTimeFormat(pageLocale(), { dateStyle: 'medium', timeStyle: 'short' })

type Receiver = { id: string; problem: string | null; last_sent_at: number | null }

export type ReceiverRowProps = {
  receiver: Receiver
  name: string
  /** Where it is. */
  place: string
  change: PartProps['change']
  beforeRemoval?: () => Promise<void>
}

export const ReceiverRow = ({ receiver, name, place, change, beforeRemoval }: ReceiverRowProps) => {
  const { attempt, api, layout, toasts } = useShell()
  const { id, problem, last_sent_at: at } = receiver
  const said =
    problem ??
    (at === null ? t('notify.unsent') : t('notify.sent', { time: TIME.format(at * 1_000) }))

  const test = () =>
    void attempt(async () => {
      try {
        await api('POST /api/notifications/test', { id })
        toasts.show(t('notify.tested'))
      } finally {
        await change(() => api('GET /api/notifications'))
      }
    })
  const askRemove = () => {
    layout.confirmation.value = {
      title: t('notify.remove.title', { name }),
      text: t('notify.remove.text'),
      confirm: t('notify.remove'),
      danger: true,
      async run() {
        await beforeRemoval?.()
        await change(() => api('POST /api/notifications/remove', { id }))
      },
    }
  }
  return (
    <Row
      label={name}
      hint={`${place} · ${said}`}
      failed={problem !== null}
      control={ids => (
        <>
          <Button id={ids.control} aria-label={t('notify.test.what', { name })} onClick={test}>
            {t('notify.test')}
          </Button>
          <Button kind="danger" aria-label={t('notify.remove.what', { name })} onClick={askRemove}>
            {t('notify.remove')}
          </Button>
        </>
      )}
    />
  )
}

export const Receivers = ({
  state,
  here,
  change,
}: PartProps & { state: NotificationState; here: string | null }) =>
  state.devices.length === 0 ? null : (
    <section class="view-part rows" aria-label={t('notify.devices')}>
      <h3>{t('notify.devices')}</h3>
      {state.devices.map(device => (
        <ReceiverRow
          key={device.id}
          receiver={device}
          name={device.id === here ? t('notify.devices.this', { name: device.name }) : device.name}
          place={device.service}
          change={change}
          {...(device.id === here && { beforeRemoval: unsubscribeHere })}
        />
      ))}
    </section>
  )
