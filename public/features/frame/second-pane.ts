/** The pane beside the first one: created when it is first shown, kept until the page is left. */
import { batch, computed, effect, signal, untracked } from '@preact/signals'
import type { Page } from '../../app.ts'
import type { Pane } from '../../pane.ts'
import { PanelFrame } from '../panel/panel.ts'
import { createSecondRoute } from '../shell/second-route.ts'
import { t } from '../split/strings.ts'

export const openSecond = (page: Page): Pane => {
  const opened = page.second.peek()
  if (opened) return opened
  const { platform, base, layout } = page.shell
  const route = createSecondRoute(page.shell.route, base)
  const panel = new PanelFrame(platform, '')
  // Two chats and a panel don't fit beside each other.
  panel.overlay.value = true
  const second = page.addPane({
    route,
    layout: {
      ...layout,
      composerId: 'composer-beside',
      // The button that shows the sidebar is in the first chat, unless only one is shown.
      sidebarShown: computed(() => layout.sidebarShown.value || !layout.tight.value),
      composerFocus: signal(0),
      findOpen: signal(false),
      picker: signal(null),
      closeSide: signal(null),
    },
    panel,
    memory: 'new-chat-beside',
    leave: () => route.first.openBeside(null),
  })
  second.layout.closeSide.value = () => void close(page, second)
  effect(() => {
    const isSplit = route.beside.value !== null
    layout.closeSide.value = isSplit ? () => void close(page, page.first) : null
  })
  effect(() => {
    const id = route.sessionId.value
    untracked(() => void second.show(id))
  })
  return second
}

/** Closes a side, which stops nothing in its session; its draft is stored first. */
const close = async (page: Page, closing: Pane): Promise<void> => {
  const { route, toasts } = page.shell
  const { draft, panel } = closing.shown.peek()
  if (panel.contents.peek()?.openFile.dirty.peek()) {
    toasts.show(t('split.unsaved'), { kind: 'error' })
    return
  }
  await draft.save()
  batch(() => {
    const remaining = closing === page.first ? route.beside.value || null : route.sessionId.value
    route.beside.value = null
    route.isBesideChosen.value = false
    route.go({ view: 'chat', sessionId: remaining })
  })
}
