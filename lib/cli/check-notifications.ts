/** Checks of notifications: what is set up, and why something could not be sent to it. */
import { join } from 'node:path'
import { fromSeconds, systemClock } from '../base/clock.ts'
import { NOTIFICATION_PROBLEMS } from '../base/notification-problems.ts'
import { Outbox, OUTBOX } from '../notifications/outbox.ts'
import type { Receiver } from '../notifications/receivers.ts'
import { NotificationStore, SETTINGS } from '../notifications/store.ts'
import { type Check, type CheckContext, ok, warn } from './check.ts'

const nameOf = (receiver: Receiver): string =>
  'subscription' in receiver ? receiver.name : `${receiver.type} ${new URL(receiver.url).host}`

export const notificationChecks = ({ config: { stateDir } }: CheckContext): Check[] => {
  const problems: Check[] = []
  // Files that cannot be read have a check of their own.
  const store = new NotificationStore(join(stateDir, SETTINGS), { clock: systemClock })
  const outbox = new Outbox(join(stateDir, OUTBOX), () => undefined)
  const receivers: Receiver[] = [...store.devices(), ...store.services()]
  if (problems.length === 0 && receivers.length === 0) return [ok('notifications', 'not set up')]
  if (store.services().length > 0 && !store.settings().base_url)
    problems.push(
      warn(
        'page_address_missing',
        'notifications',
        'links and buttons of ntfy, Gotify, and webhooks need the address of the page',
        'Enter it under Settings → Notifications → Address of this page.',
      ),
    )
  return [
    ...problems,
    ...receivers.map(receiver => {
      const about = `notifications to ${nameOf(receiver)}`
      const { problem, problem_code: code, last_sent_at: at } = outbox.statusOf(receiver.id)
      if (problem !== null && code !== null)
        return warn('notification_failed', about, problem, NOTIFICATION_PROBLEMS[code])
      return ok(
        about,
        at === null ? 'nothing sent yet' : `last sent ${new Date(fromSeconds(at)).toISOString()}`,
      )
    }),
  ]
}
