/** The chat beside the first one: created when it is first shown, kept until the page is left. */
import { batch, computed, effect, signal, untracked } from '@preact/signals'
import type { App, PageApp } from '../../app.ts'
import { createPanel } from '../workspace/panel.ts'
import { createSecondRoute } from './second-route.ts'
import { t } from './strings.ts'

export const openSecond = (page: PageApp): App => {
  if (page.second.value) return page.second.value
  const { platform, base, layout } = page
  const route = createSecondRoute(page.route, base)
  const panel = createPanel(platform, '')
  // Two chats and a panel don't fit beside each other.
  panel.overlay.value = true
  const app = page.createPane({
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
    draftKey: 'draft-beside',
    leave: () => route.first.openBeside(null),
  })
  page.second.value = app
  app.layout.closeSide.value = () => void close(page, false)
  effect(() => {
    const isSplit = route.beside.value !== null
    layout.closeSide.value = isSplit ? () => void close(page, true) : null
  })
  effect(() => {
    const id = route.sessionId.value
    untracked(() => void app.openSession(id))
  })
  return app
}

/** Closes a side, which stops nothing in its session; its draft is stored first. */
const close = async (page: PageApp, isFirst: boolean): Promise<void> => {
  const { route, panes, toasts } = page
  const closing = isFirst ? page : page.second.value
  if (closing?.panel.contents.value?.openFile.isAnyDirty()) {
    toasts.show(t('split.unsaved'), { kind: 'error' })
    return
  }
  await Promise.all(panes.map(({ composer }) => composer.save()))
  batch(() => {
    const remaining = isFirst ? route.beside.value || null : route.sessionId.value
    route.beside.value = null
    route.isBesideChosen.value = false
    route.go({ view: 'chat', sessionId: remaining })
  })
}
