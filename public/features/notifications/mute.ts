/** Mutes a chat, or sends its notifications again, after asking. */
import type { App } from '../../app.ts'
import { t } from './strings.ts'

export const askMute = async (app: App, session_id: string): Promise<void> => {
  const { muted } = await app.shell.api('GET /api/notifications/mute', { session_id })
  const name = muted ? 'unmute' : 'mute'
  app.shell.layout.confirmation.value = {
    title: t(`${name}.title`),
    text: t(`${name}.text`),
    confirm: t(`${name}.confirm`),
    async run() {
      await app.shell.api('POST /api/notifications/mute', { session_id, muted: !muted })
      app.shell.toasts.show(t(`${name}.done`))
    },
  }
}
