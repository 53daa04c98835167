/** Reports which chats this page shows while it is visible, so that no device is notified about them. */
import { effect, untracked } from '@preact/signals'
import type { Page } from '../../app.ts'
import { refreshHere } from './this-device.ts'

/** The server counts a page for 90 s. */
const REPEAT_MS = 60_000

/** Never rejects: notifications are no part of what the page shows. */
export const startPresence = (app: Page): void => {
  const page = crypto.getRandomValues(new Uint32Array(4)).join('-')
  let cancel = () => {}
  const look = async (): Promise<void> => {
    cancel()
    const ids = app.panes.value.flatMap(({ openChat }) => openChat.value.sessionId.value || [])
    const sessions = document.hidden ? [] : [...new Set(ids)]
    try {
      const { active } = await app.shell.api('POST /api/notifications/look', { page, sessions })
      cancel()
      if (active && sessions.length > 0)
        cancel = app.shell.platform.clock.timer(REPEAT_MS, () => void look())
    } catch {
      // Offline or signed out: said elsewhere, and reported again with the next change.
    }
  }
  document.addEventListener('visibilitychange', () => void look())
  effect(() => {
    for (const { openChat } of app.panes.value) void openChat.value.sessionId.value
    untracked(() => void look())
  })
  void refreshHere(app.shell).catch(() => undefined)
}
