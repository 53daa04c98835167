/** Working without a network, the app's badge, and new versions; loaded after the first paint. */
import { startPresence } from '../notifications/presence.ts'
import { effect, untracked } from '@preact/signals'
import { urlOf } from '../../api.ts'
import type { Page } from '../../app.ts'
import { workerUrl } from '../../markdown/trusted-types.ts'
import { followRole } from '../people/follow-role.ts'
import { CREATED } from '../chat/chats.ts'
import { draftsPrefix, type Platform } from '../../platform.ts'
import { TryAgain } from '../../parts/try-again.ts'
import { takeShared } from './shared-content.ts'
import { reportUnsavedChanges } from './unsaved-changes.ts'
import { t } from './strings.ts'

/** Another page has created the session of this new chat, which both show: the tab was duplicated. */
export const followCreated = ({ chats, panes }: Page, key: string, id: string): void => {
  const chat = chats.all().find(each => each.key === key && !each.sessionId.peek())
  if (!chat) return
  chat.begin(id, false)
  for (const pane of panes.peek()) pane.created(chat)
}

/** Sends what waits when there is a connection. */
const startOutbox = async (app: Page): Promise<void> => {
  const outbox = app.outbox
  const again = new TryAgain(app.shell.platform.clock)
  const send = async (): Promise<void> => {
    again.stop()
    if (app.shell.connection.state.peek().kind !== 'live') return
    // A reply can be lost while the event stream is up.
    if (await outbox.flush()) again.end()
    else again.later(() => void app.shell.attempt(send))
  }
  const flush = (): void => {
    again.end()
    void app.shell.attempt(send)
  }
  outbox.onWaiting = () => {
    app.shell.announce(t('outbox.note'))
    // The event stream may be up: then nothing else sends it.
    flush()
  }
  // Another page of this browser has stored or removed a message, or ends while it sends one.
  // Without Web Locks, a message of another page may just be being sent there: the next page that is opened takes it over.
  const follow = navigator.locks ? () => outbox.takeOver() : async () => outbox.reload()
  const created = draftsPrefix(app.shell.platform.account) + CREATED
  addEventListener('storage', ({ key, newValue }) => {
    if (key?.startsWith(created) && newValue)
      followCreated(app, key.slice(created.length), JSON.parse(newValue))
    else void app.shell.attempt(follow)
  })
  effect(() => {
    if (app.shell.connection.state.value.kind === 'live') untracked(flush)
  })
  await outbox.takeOver()
}

/** What was written without a network is on other devices once there is one, not with the next change of the text. */
const saveDrafts = (app: Page): void => {
  effect(() => {
    if (app.shell.connection.state.value.kind === 'live')
      untracked(() => {
        for (const { draft } of app.chats.all()) void draft.save()
      })
  })
}

/** Loaded before the first turn, so that its first sentence is announced, too. */
const announceAnswers = async (app: Page): Promise<void> => {
  const { startAnnouncing } = await import('../transcript/announce-answers.ts')
  startAnnouncing(app.first)
  // Created once, and kept.
  effect(() => {
    const second = app.second.value
    if (second) untracked(() => startAnnouncing(second))
  })
}

/** Nothing would be lost by a reload. */
const isUntouched = (app: Page): boolean =>
  !app.hasUnsavedChanges() &&
  app.chats
    .all()
    .every(({ draft, composer }) => draft.empty.value && !composer.attachments.busy.value)

/** A page keeps the scripts it was loaded with; the notice offers those of the new build. */
const announceVersions = (app: Page, workers: ServiceWorkerContainer): void => {
  const had = workers.controller !== null
  let isNew = false
  workers.addEventListener('controllerchange', () => {
    // The first worker of this browser is no new version.
    if (!had || isNew) return
    isNew = true
    app.shell.toasts.show(t('version.new'), {
      action: { label: t('version.reload'), run: () => location.reload() },
    })
  })
  document.addEventListener('visibilitychange', () => {
    // While the page is not visible, a reload interrupts no one.
    if (document.hidden && isNew && isUntouched(app)) location.reload()
  })
}

/** Fetches the open chat and the list once more after a turn, so that the stored copies are not those of when it was opened. */
const refreshCopies = (app: Page): void => {
  let wasBusy = false
  effect(() => {
    const { transcript: chat } = app.active.value.chat
    const isBusy = chat.busy.value
    const id = chat.sessionId.value
    if (wasBusy && !isBusy && id)
      untracked(() => {
        // For the worker only; a copy that could not be fetched is fetched the next time.
        void app.shell.api('GET /api/session', { session_id: id, limit: 60 }).catch(() => undefined)
        void app.shell.api('GET /api/sessions', { limit: 100 }).catch(() => undefined)
      })
    wasBusy = isBusy
  })
}

/** Until the next try, when the connection is up and the worker replied from storage all the same. */
const AGAIN_MS = 10_000

/** What came from storage is fetched again once the server can be reached. */
const replaceCopies = (app: Page): void => {
  const { connection, platform } = app.shell
  let cancel = () => {}
  let waitMs = 0
  const refresh = (): void => {
    waitMs = AGAIN_MS
    connection.forgetCopies()
    const settings = app.settings
    const profiles = app.profiles
    const projects = app.projects
    const { configProblems } = app.shell
    const models = app.models
    const workspaces = app.workspaces
    const { personalities, skillCommands, reasoning } = app.composing
    for (const part of [settings, profiles, projects, configProblems, models, workspaces])
      void app.shell.attempt(() => part.load())
    for (const part of [personalities, skillCommands, reasoning])
      void app.shell.attempt(() => part.load())
    for (const { openChat } of app.panes.value)
      void app.shell.attempt(() => openChat.peek().transcript.reload())
  }
  effect(() => {
    const isLive = connection.state.value.kind === 'live'
    cancel()
    if (!isLive) waitMs = 0
    else if (connection.hasCopies.value) cancel = platform.clock.timer(waitMs, refresh)
  })
}

const showBadge = (app: Page): void => {
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

const installTime = ({ clock }: Platform): Promise<void> =>
  // In a browser it counts from the request of the page.
  clock.delay(Math.max(0, INSTALL_AT_MS - clock.monotonic()))

/** The person has signed out in another tab: nothing that they have read or written stays in this one. */
const leave = ({ shell: { platform, signedOut, base } }: Page): void => {
  signedOut.value = true
  platform.drafts.clear()
  location.replace(urlOf(base, 'login'))
}

/** When someone else signs in in another tab, this page is no longer theirs: what it shows and stores is of another person. */
const reloadForOthers = (app: Page): void => {
  const { base, account } = app.shell.platform
  const tabs = new BroadcastChannel(`agent-webui:account:${new URL(base).pathname}`)
  app.shell.accountTabs.value = tabs
  tabs.addEventListener('message', ({ data }) => {
    if (data === '') leave(app)
    else if (data !== account) location.reload()
  })
  tabs.postMessage(account)
}

const NETWORK_ANSWER_MS = 700

/**
 * Says at once that there is no network: the event stream notices only when it has been silent for long. A server on this
 * computer still answers.
 */
const watchNetwork = ({ shell: { api, connection } }: Page): void => {
  const check = async () => {
    const signal = AbortSignal.timeout(NETWORK_ANSWER_MS)
    const answers = await api('GET /health', undefined, { signal }).then(
      () => true,
      () => false,
    )
    // The network may be back by then.
    if (!answers && !navigator.onLine) connection.setOffline(true)
  }
  addEventListener('offline', () => void check())
  addEventListener('online', () => connection.setOffline(false))
  if (!navigator.onLine) void check()
}

/** Over plain HTTP browsers have no service workers: messages wait there too, but the page cannot be opened without a network. */
export const startOffline = async (app: Page): Promise<void> => {
  // Also without service workers: other devices are not notified about what is visible here.
  startPresence(app)
  watchNetwork(app)
  reloadForOthers(app)
  reportUnsavedChanges(app)
  followRole(app)
  void app.shell.attempt(() => app.first.takeOver())
  saveDrafts(app)
  // A page without it offers a reload (`main.tsx`).
  announceAnswers(app).catch(() => undefined)
  void app.shell.attempt(() => startOutbox(app))
  const workers = navigator.serviceWorker
  if (!workers) return
  showBadge(app)
  announceVersions(app, workers)
  refreshCopies(app)
  replaceCopies(app)
  await app.shell.attempt(() => takeShared(app))
  await installTime(app.shell.platform)
  await workers.register(workerUrl(new URL('sw.js', app.shell.base).href))
}
