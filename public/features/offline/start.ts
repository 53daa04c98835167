/** Working without a network, the app's badge, and new versions; loaded after the first paint. */
import { startPresence } from '../notifications/presence.ts'
import { effect, untracked } from '@preact/signals'
import { createStore, del, set, values } from 'idb-keyval'
import type { PageApp } from '../../app.ts'
import { outboxName } from '../../sw/outbox-name.ts'
import { workerUrl } from '../../markdown/trusted-types.ts'
import { createOutbox, type Kept, type KeptStore } from './outbox.ts'
import { takeShared } from './shared-content.ts'
import { t } from './strings.ts'

const RETRY_MS = 3_000

const storeOf = (base: string): KeptStore => {
  const database = createStore(outboxName(new URL(base).pathname), 'messages')
  return {
    load: () => values<Kept>(database),
    put: message => set(message.id, message, database),
    remove: id => del(id, database),
  }
}

const startOutbox = async (app: PageApp): Promise<void> => {
  const name = `agent-webui:outbox:${new URL(app.base).pathname}`
  const others = new BroadcastChannel(name)
  const outbox = createOutbox({
    api: app.api,
    store: storeOf(app.base),
    nowMs: app.platform.nowMs,
    newId: () => crypto.randomUUID(),
    exclusively: async work => await navigator.locks.request(name, work),
    onChange: () => others.postMessage('changed'),
    onKept: () => {
      app.announcement.value = t('outbox.note')
    },
    onCreated(chat, sessionId) {
      if (chat !== outbox.chat.value) return
      outbox.leaveChat()
      const { view } = app.route.current.value
      if (view === 'chat' && !app.route.sessionId.value)
        app.route.openSession(sessionId, { replace: true })
    },
  })
  others.addEventListener('message', () => void outbox.reload())
  await outbox.reload()
  app.outbox.value = outbox
  let cancelRetry = () => {}
  const flush = async (): Promise<void> => {
    cancelRetry()
    if (app.connection.state.peek().kind !== 'live') return
    // A reply can be lost while the event stream is up.
    if (!(await outbox.flush()))
      cancelRetry = app.platform.schedule(() => void app.attempt(flush), RETRY_MS)
  }
  effect(() => {
    if (app.connection.state.value.kind === 'live') untracked(() => void app.attempt(flush))
  })
}

/** Nothing would be lost by a reload. */
const isUntouched = (app: PageApp): boolean =>
  app.layout.unsaved.size === 0 &&
  app.panes.every(
    ({ composer, panel, attachments }) =>
      composer.empty.value &&
      !attachments.busy.value &&
      !panel.contents.value?.openFile.isAnyDirty(),
  )

/** A page keeps the scripts it was loaded with; the notice offers those of the new build. */
const announceVersions = (app: PageApp, workers: ServiceWorkerContainer): void => {
  const had = workers.controller !== null
  let isNew = false
  workers.addEventListener('controllerchange', () => {
    // The first worker of this browser is no new version.
    if (!had || isNew) return
    isNew = true
    app.toasts.show(t('version.new'), {
      action: { label: t('version.reload'), run: () => location.reload() },
    })
  })
  document.addEventListener('visibilitychange', () => {
    // While the page is not visible, a reload interrupts no one.
    if (document.hidden && isNew && isUntouched(app)) location.reload()
  })
}

/** Fetches the open chat and the list once more after a turn, so that the stored copies are not those of when it was opened. */
const refreshCopies = (app: PageApp): void => {
  let wasBusy = false
  effect(() => {
    const isBusy = app.active.value.chat.busy.value
    const id = app.active.value.route.sessionId.value
    if (wasBusy && !isBusy && id)
      untracked(() => {
        // For the worker only; a copy that could not be fetched is fetched the next time.
        void app.api('GET /api/session', { session_id: id, limit: 60 }).catch(() => undefined)
        void app.api('GET /api/sessions', { limit: 100 }).catch(() => undefined)
      })
    wasBusy = isBusy
  })
}

const showBadge = (app: PageApp): void => {
  if (!('setAppBadge' in navigator)) return
  effect(() => {
    const count = app.inbox.count.value
    // Rejected where the app is not installed.
    void (count > 0 ? navigator.setAppBadge(count) : navigator.clearAppBadge()).catch(
      () => undefined,
    )
  })
}

/** Since the page was requested. Storing the page's files takes processor time and bandwidth that the first view needs. */
const INSTALL_AT_MS = 5_000

const installTime = (): Promise<void> =>
  new Promise(resolve => setTimeout(resolve, Math.max(0, INSTALL_AT_MS - performance.now())))

/** Secure pages only: over plain HTTP browsers have no service workers. */
export const startOffline = async (app: PageApp): Promise<void> => {
  // Also without service workers: other devices are not notified about what is visible here.
  startPresence(app)
  const workers = navigator.serviceWorker
  if (!workers) return
  showBadge(app)
  announceVersions(app, workers)
  refreshCopies(app)
  await startOutbox(app)
  await takeShared(app)
  await installTime()
  await workers.register(workerUrl(new URL('sw.js', app.base).href))
}
