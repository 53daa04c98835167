/** What a person does while a turn runs, beyond sending: loaded with the first use of any of it. */
import type { App } from '../../app.ts'
import { withoutFiles } from '../composer/composer.ts'
import { ts } from './strings.ts'

/** What to tell the person; nothing when the effect is plain to see. */
type Said = Promise<string | undefined>

export const steeringActions = {
  async queue(app: App, id: string, text: string): Said {
    if (!text) return ts('usage.queue')
    await app.queue.add(id, text, [])
    return undefined
  },
  async steer(app: App, id: string, text: string): Said {
    if (!text) return ts('usage.steer')
    if (!app.chat.busy.value) return ts('said.idle')
    await app.queue.steer(id, text, [])
    return undefined
  },
  async interrupt(app: App, id: string, text: string): Said {
    if (!text) return ts('usage.interrupt')
    await app.api('POST /api/chat/interrupt', { session_id: id, message: text })
    return undefined
  },
  async btw(app: App, id: string, question: string): Said {
    if (!question) return ts('usage.btw')
    const { stream_id: stream } = await app.api('POST /api/btw', { session_id: id, question })
    app.queue.aside.value = stream
    return undefined
  },
  async background(app: App, id: string, prompt: string): Said {
    if (!prompt) return ts('usage.background')
    const reply = await app.api('POST /api/background', { session_id: id, prompt })
    const run = () => app.route.openSession(reply.session_id)
    app.toasts.show(ts('said.background'), { action: { label: ts('said.open'), run } })
    return undefined
  },
  async yolo(app: App, id: string): Said {
    const isOn = app.sessions.row(id)?.yolo === true
    await steeringActions.setYolo(app, id, !isOn)
    return ts(isOn ? 'said.yolo.off' : 'said.yolo.on')
  },
  async setYolo(app: App, id: string, enabled: boolean): Promise<void> {
    await app.api('POST /api/session/yolo', { session_id: id, enabled })
  },

  /** A waiting message goes back into the message box. */
  async editQueued(app: App, id: string, item: string): Promise<void> {
    const { removed } = await app.api('POST /api/queue/remove', { session_id: id, id: item })
    app.composer.restoreDraft({ text: withoutFiles(removed.text), files: removed.attachments })
    app.layout.composerFocus.value += 1
  },
  removeQueued: (app: App, id: string, item: string) =>
    app.api('POST /api/queue/remove', { session_id: id, id: item }),
  sendQueued: (app: App, id: string, item: string) =>
    app.api('POST /api/queue/send', { session_id: id, id: item }),
  steerQueued: (app: App, id: string, item: string) =>
    app.api('POST /api/chat/steer', { session_id: id, id: item }),
  moveUp(app: App, id: string, ids: readonly string[], at: number) {
    const order = [...ids]
    order.splice(at - 1, 0, ...order.splice(at, 1))
    return app.api('POST /api/queue/reorder', { session_id: id, ids: order })
  },
  stopAside: (app: App, stream: string) => app.api('POST /api/chat/cancel', { stream_id: stream }),
}

export type SteeringCommand = 'queue' | 'steer' | 'interrupt' | 'btw' | 'background' | 'yolo'
