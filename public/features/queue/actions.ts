/** Queue, steering, side questions and auto-approve; loaded on first use. */
import { isUnreachable } from '../../api.ts'
import type { App } from '../../app.ts'
import { TryAgain } from '../../parts/try-again.ts'
import { splitComments } from '../../../lib/base/comment-text.ts'
import type { Queued } from '../../../lib/schema/queue.ts'
import { withoutFiles } from '../messages/message-text.ts'
import { t } from './strings.ts'

/** Text to show; undefined when the effect is visible anyway. */
type CommandReply = Promise<string | undefined>

const draftOf = (queued: Queued) => {
  const { text, comments } = splitComments(withoutFiles(queued.text))
  return { text, comments, files: queued.attachments }
}

export const steeringActions = {
  async queue(app: App, id: string, text: string): CommandReply {
    if (!text) return t('command.queue.usage')
    await app.chat.queue.add(id, text, [])
    return undefined
  },
  async steer(app: App, id: string, text: string): CommandReply {
    if (!text) return t('command.steer.usage')
    if (!app.chat.transcript.busy.value) throw new Error(t('command.not.running'))
    await app.chat.queue.steer(id, text, [])
    return undefined
  },
  async interrupt(app: App, id: string, text: string): CommandReply {
    if (!text) return t('command.interrupt.usage')
    await app.shell.api('POST /api/chat/interrupt', { session_id: id, message: text })
    return undefined
  },
  async btw(app: App, id: string, question: string): CommandReply {
    if (!question) return t('command.btw.usage')
    const { stream_id: stream } = await app.shell.api('POST /api/btw', { session_id: id, question })
    app.chat.queue.aside.value = stream
    return undefined
  },
  async background(app: App, id: string, prompt: string): CommandReply {
    if (!prompt) return t('command.background.usage')
    const reply = await app.shell.api('POST /api/background', { session_id: id, prompt })
    const run = () => app.shell.route.openSession(reply.session_id)
    app.shell.toasts.show(t('command.background'), {
      action: { label: t('command.background.open'), run },
    })
    return undefined
  },
  async yolo(app: App, id: string): CommandReply {
    const isOn = app.sessions.row(id)?.yolo === true
    await steeringActions.setYolo(app, id, !isOn)
    return t(isOn ? 'command.yolo.off' : 'command.yolo.on')
  },
  async setYolo(app: App, id: string, enabled: boolean): Promise<void> {
    await app.shell.api('POST /api/session/yolo', { session_id: id, enabled })
  },

  /** Moves a queued message back into the composer. */
  async editQueued(app: App, id: string, item: string): Promise<void> {
    const { transcript: chat } = app.chat
    const { draft: composer } = app.composer
    const { platform } = app.shell
    const entry = chat.chat.peek().queued.find(each => each.id === item)
    const draft = entry && draftOf(entry)
    const remove = () => app.shell.api('POST /api/queue/remove', { session_id: id, id: item })
    const again = new TryAgain(platform.clock)
    const repeat = () =>
      void remove().catch((error: unknown) => isUnreachable(error) && again.later(repeat))
    // Removed there, it would be nowhere if the page were left before the reply.
    if (draft) composer.hold(draft)
    try {
      const { removed } = await remove()
      // As it is by now: other clients may change it.
      composer.restoreDraft(draftOf(removed), draft)
    } catch (error) {
      if (!draft) throw error
      if (isUnreachable(error)) {
        // It may have been removed all the same: it is kept here, and removed there when that can be asked.
        composer.restoreDraft(draft)
        again.later(repeat)
      } else {
        composer.forget(draft, false)
        throw error
      }
    }
    app.pane.focusComposer()
  },
  removeQueued: (app: App, id: string, item: string) =>
    app.shell.api('POST /api/queue/remove', { session_id: id, id: item }),
  sendQueued: (app: App, id: string, item: string) =>
    app.shell.api('POST /api/queue/send', { session_id: id, id: item }),
  steerQueued: (app: App, id: string, item: string) =>
    app.shell.api('POST /api/chat/steer', { session_id: id, id: item }),
  moveUp(app: App, id: string, ids: readonly string[], at: number) {
    const order = [...ids]
    order.splice(at - 1, 0, ...order.splice(at, 1))
    return app.shell.api('POST /api/queue/reorder', { session_id: id, ids: order })
  },
  stopAside: (app: App, stream: string) =>
    app.shell.api('POST /api/chat/cancel', { stream_id: stream }),
}

export type SteeringCommand = 'queue' | 'steer' | 'interrupt' | 'btw' | 'background' | 'yolo'
