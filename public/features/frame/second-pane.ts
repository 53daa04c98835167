/** The pane beside the first one: created when it is first shown, kept until the page is left. */
import { batch, computed, effect, signal, untracked } from '@preact/signals'
import type { Page } from '../../app.ts'
import type { Pane } from '../../pane.ts'
import { PanelFrame } from '../panel/panel.ts'
import { t } from '../split/strings.ts'
import {
  parseRoute,
  type TranscriptPlace,
  placeOf,
  type Route,
  type RouteState,
} from '../shell/route.ts'

type SecondRoute = RouteState & { first: RouteState }

/** The address of its chat is `beside` of the page's address. */
const createSecondRoute = (first: RouteState, base: string): SecondRoute => {
  const place = signal<TranscriptPlace | null>(null)
  const sessionId = computed(() => first.beside.value || null)
  const openSession: RouteState['openSession'] = (id, options) => {
    place.value = null
    if (id && id === first.sessionId.value) first.isBesideChosen.value = false
    else first.openBeside(id ?? '', options)
  }
  return {
    ...first,
    first,
    current: computed<Route>(() => {
      const { value: at } = first.current
      return at.view === 'chat' ? { view: 'chat', sessionId: sessionId.value } : at
    }) as RouteState['current'],
    sessionId,
    place,
    openSession,
    go(route, options) {
      if (route.view === 'chat') openSession(route.sessionId, options)
      else first.go(route, options)
    },
    nameSession(id) {
      // It was closed meanwhile.
      if (first.beside.value === null) return
      place.value = null
      if (first.current.value.view === 'chat') first.openBeside(id, { replace: true })
      else first.beside.value = id
    },
    /** On the other side, which is the first one. */
    openBeside(id) {
      first.isBesideChosen.value = false
      first.openSession(id || null)
    },
    // The address names a file or a place of the first chat only.
    replaceFile() {},
    hrefOfPlace: row =>
      `${first.hrefOf({ view: 'chat', sessionId: sessionId.value })}?at=${encodeURIComponent(row)}`,
    jumpTo(row, { heading = null, focus = false } = {}) {
      place.value = { row, heading, focus }
    },
    follow(at) {
      const to = parseRoute(base, at)
      if (to.view !== 'chat') return first.follow(at)
      openSession(to.sessionId)
      place.value = placeOf(at)
    },
  }
}

export const openSecond = (page: Page): Pane => {
  const pane = page.second.peek()
  if (pane) return pane
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
  const { draft, panel } = closing.openChat.peek()
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
