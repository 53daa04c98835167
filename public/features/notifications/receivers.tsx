/** Devices and services that receive notifications: what was sent last, a test, and removing one. */
import type { NotificationProblem } from '../../../lib/schema/notification.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Row, Section } from '../../parts/field.tsx'
import { formatFull } from '../../parts/relative-time.ts'
import type { PartProps } from './view.tsx'
import { problems, t } from './strings.ts'
import type { NotificationState } from './this-device.ts'
import { unsubscribeHere } from './this-device.ts'

type Receiver = {
  id: string
  problem: string | null
  problem_code: NotificationProblem | null
  last_sent_at: number | null
}

/** What the receiver or the network answered, without the sentence around it: a status, or why there was no connection. */
const detailOf = (problem: string): string =>
  / status (\d+)\.$/.exec(problem)?.[1] ??
  /^It could not be reached: (.*)\.$/.exec(problem)?.[1] ??
  problem

const wordsOf = ({ problem, problem_code: code, last_sent_at: at }: Receiver) => {
  if (problem)
    return (
      <span class="field-failed">
        {code ? problems(code) : problem} {code && <bdi>({detailOf(problem)})</bdi>}
      </span>
    )
  return at === null ? t('notify.unsent') : t('notify.sent', { time: formatFull(at) })
}

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
  const { id } = receiver

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
      hint={
        <>
          <bdi>{place}</bdi>
          <br />
          {wordsOf(receiver)}
        </>
      }
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
    <Section title={t('notify.devices')}>
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
    </Section>
  )
