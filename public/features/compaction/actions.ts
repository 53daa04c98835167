/** Compaction actions: compact, read a summary, undo; loaded on first use. */
import type { App } from '../../app.ts'
import { t } from './strings.ts'

const numbers = /(\d[\d,]*)\s*→\s*(\d[\d,]*)/

export const compactionActions = {
  /** Compacts the context; the toast offers to undo it. */
  async compact(app: App, id: string, topic = ''): Promise<string | undefined> {
    if (app.chat.transcript.busy.value) return t('busy')
    let isStopped = false
    const stop = () => {
      isStopped = true
      void app.shell.attempt(() =>
        app.shell.api('POST /api/session/uncompress', { session_id: id }),
      )
    }
    const working = app.shell.toasts.show(t('working'), { action: { label: t('stop'), run: stop } })
    try {
      const { session, summary } = await app.shell.api('POST /api/session/compress', {
        session_id: id,
        ...(topic ? { topic } : {}),
      })
      const [, before = '', after = ''] = numbers.exec(summary.headline) ?? []
      const n = session.summaries.at(-1)?.n
      const run = () => void compactionActions.undo(app, id, n)
      app.shell.toasts.show(t('done', { before, after }), { action: { label: t('undo'), run } })
      return undefined
    } catch (error) {
      if (isStopped) return t('stopped')
      throw error
    } finally {
      app.shell.toasts.dismiss(working)
    }
  },
  async undo(app: App, id: string, n: number | undefined): Promise<void> {
    await app.shell.attempt(async () => {
      await app.shell.api('POST /api/session/uncompress', {
        session_id: id,
        ...(n === undefined ? {} : { n }),
      })
      app.shell.toasts.show(t('undone'))
    })
  },
  async read(app: App, id: string, n: number): Promise<string> {
    const { text } = await app.shell.api('GET /api/session/summary', { session_id: id, n: `${n}` })
    return text
  },
}

/** Compacts from a button and shows the result or error as a toast. */
export const compactNow = (app: App): Promise<void> =>
  app.shell.attempt(async () => {
    const message = await compactionActions.compact(app, app.chat.transcript.chat.value.sessionId)
    if (message) app.shell.toasts.show(message)
  })
