/** Reads each finished answer of a chat aloud, where this device is set to. */
import type { App } from '../../app.ts'
import { partsOf, speechOf } from './page-speech.ts'
import { onTurnEnd } from './turn-answers.ts'

/** Key of the setting in this browser. */
const KEY = 'read-aloud'

export const readsAloud = ({ platform }: Pick<App, 'platform'>): boolean =>
  platform.device.read(KEY, false)

export const setReadsAloud = ({ platform }: Pick<App, 'platform'>, on: boolean): void =>
  platform.device.write(KEY, on)

/** Of two chats side by side, an answer does not interrupt the one that is read; hands-free mode reads by itself. */
export const startAutoRead = (app: App): (() => void) =>
  onTurnEnd(app.chat.chat, answer => {
    if (!answer || !readsAloud(app)) return
    const speech = speechOf(app)
    if (!speech.isHandsFree.peek() && speech.reading.peek() === null)
      void speech.read(answer.id, partsOf(answer.markdown))
  })
