/** Unsaved changes in the tabs of this browser: a sign-out closes all of them, so it asks. */
import type { Page } from '../../app.ts'

const channelOf = (base: string): BroadcastChannel =>
  new BroadcastChannel(`agent-webui:unsaved:${new URL(base).pathname}`)

type Reply = { tab: number; isUnsaved: boolean }

/** Replies to other tabs, and to this one. */
export const reportUnsavedChanges = (app: Page): void => {
  const channel = channelOf(app.shell.base)
  const tab = Math.random()
  const reply = (isUnsaved: boolean) => channel.postMessage({ tab, isUnsaved } satisfies Reply)
  channel.addEventListener('message', ({ data }) => {
    if (data === 'ask') reply(app.hasUnsavedChanges())
  })
  addEventListener('pagehide', () => reply(false))
}

/**
 * Whether a tab of this browser has unsaved changes. Asked at once and whenever the window gets the focus, so that the
 * replies are there before a person can press a button.
 */
export const watchUnsavedChanges = (base: string) => {
  const channel = channelOf(base)
  const unsaved = new Set<number>()
  channel.addEventListener('message', ({ data }: MessageEvent<'ask' | Reply>) => {
    if (data === 'ask') return
    if (data.isUnsaved) unsaved.add(data.tab)
    else unsaved.delete(data.tab)
  })
  const ask = () => channel.postMessage('ask')
  ask()
  addEventListener('focus', ask)
  return {
    hasAny: (): boolean => unsaved.size > 0,
    close() {
      removeEventListener('focus', ask)
      channel.close()
    },
  }
}
