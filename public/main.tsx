/** Entry point of the page: creates the app, renders it, and connects browser events. */
import { effect, signal, untracked } from '@preact/signals'
import { render } from 'preact'
import { isComposing } from './parts/composing.ts'
import { every, systemClock, toSeconds } from '../lib/base/clock.ts'
import { ACCOUNT_HEADER, STORED_HEADER } from '../lib/base/page-headers.ts'
import { createApi, createFetchBlob, urlOf } from './api.ts'
import { Page } from './app.ts'
import { runShortcut } from './features/frame/keys.ts'
import { SignInGate } from './features/sign-in/auth.ts'
import { draftsPrefix, jsonStorage, type Platform } from './platform.ts'
import { PROFILE_KEY } from './features/profiles/profiles.ts'
import { FRAME_TYPES } from './features/messages/chat-reducer.ts'
import { readLook, writeLook } from './features/settings/settings.ts'
import { loadMoreIcons } from './parts/icon.tsx'
import { retryFailedViews } from './parts/lazy.tsx'
import { nextTask } from './parts/next-task.ts'
import { createServerClock } from './parts/server-clock.ts'
import { Stream } from './stream/stream.ts'
import { TabLeader } from './stream/tab-leader.ts'
import type { FirstRequests } from './first-request.ts'
import { withFirstResponses } from './first-responses.ts'
import { loadLanguage } from './strings/load-texts.ts'
import { t } from './strings/t.ts'
import { preloadTranscript } from './features/transcript/load-transcript.ts'
import { AppContext } from './features/shell/context.ts'
import { PageFrame } from './features/frame/frame.tsx'
import { setRefused } from './parts/may.ts'

/** Room for the keyboard of a phone. Browsers that know `interactive-widget` make the page smaller; iOS puts its keyboard over the page and scrolls. */
const followKeyboard = (root: HTMLElement): void => {
  const view = window.visualViewport
  view?.addEventListener('resize', () => {
    // A page that is zoomed in shows less, too.
    const covered = view.scale > 1.01 ? 0 : Math.max(0, Math.round(innerHeight - view.height))
    root.style.setProperty('--keyboard', `${covered}px`)
    if (covered > 0) scrollTo(0, 0)
  })
}

const base = document.baseURI
/** Whose page this is. */
const { account = '', refused = '', texts: first } = document.documentElement.dataset
setRefused(refused.split(','))
// Before anything reads a message.
const retryTexts = await loadLanguage(document.documentElement.lang, base, first)
const mac = /Mac|iPhone|iPad/.test(navigator.platform)
const gate = new SignInGate()

/** Reading the property throws when storage is blocked. */
const storageOf = (name: 'localStorage' | 'sessionStorage'): Storage | null => {
  try {
    return window[name]
  } catch {
    // The page works without storage.
    return null
  }
}

/** The only one of the page: everything else gets it from here. */
const clock = systemClock
const serverClock = createServerClock(clock)

const tab = jsonStorage(storageOf('sessionStorage'))

/** At most every ten seconds: the page of the other person may be unreachable. */
const reloadForAccount = (): void => {
  const at = tab.read('reloaded', 0)
  if (Math.abs(clock.now() - at) < 10_000) return
  tab.write('reloaded', clock.now())
  location.reload()
}

const early = window as { firstRequests?: FirstRequests | undefined }
// If that script is late, it has nothing to do.
early.firstRequests ??= new Map()
const fetchFirst = withFirstResponses(early.firstRequests, fetch)

const transport = {
  base,
  account,
  signIn: gate.waitForSignIn,
  unreachable: () => t('error.server'),
  onOtherAccount: reloadForAccount,
}
const awaited = signal(0)
const fetching = {
  ...transport,
  async fetch(...[url, init]: Parameters<typeof fetch>) {
    const headers = new Headers(init?.headers)
    headers.set(ACCOUNT_HEADER, account)
    awaited.value += 1
    const response = await fetchFirst(url, { ...init, headers }).finally(() => {
      awaited.value -= 1
    })
    serverClock.observe(response.headers.get('date'))
    const storedAt = response.headers.get(STORED_HEADER)
    if (storedAt) app.shell.connection.noteCopy(response.url, Number(storedAt))
    return response
  },
}
const api = createApi(fetching)

/**
 * Browsers have Web Locks on secure pages only. Elsewhere nothing waits: two pages may then send a message at the same time,
 * with one id, and the server takes it once.
 */
const createLocks = (): Pick<Platform, 'exclusively' | 'isFree'> => {
  const { locks } = navigator
  const prefix = `agent-webui:outbox:${new URL(base).pathname}:`
  if (!locks) return { exclusively: (_name, work) => work(), isFree: async () => true }
  return {
    exclusively: async (name, work) => await locks.request(prefix + name, work),
    async isFree(name) {
      const { held = [] } = await locks.query()
      return held.every(lock => lock.name !== prefix + name)
    },
  }
}

const platform: Platform = {
  api,
  awaited,
  fetchBlob: createFetchBlob(fetching),
  async upload(options) {
    const { createUpload } = await import('./upload.ts')
    return createUpload({ ...transport, request: () => new XMLHttpRequest() })(options)
  },
  base,
  account,
  device: jsonStorage(storageOf('localStorage')),
  drafts: jsonStorage(storageOf('localStorage'), draftsPrefix(account)),
  tab,
  clock,
  serverClock,
  ...createLocks(),
  // Hidden pages get no animation frames, but still need to process events.
  nextFrame: run => void (document.hidden ? clock.timer(200, run) : requestAnimationFrame(run)),
}

const download = (url: string): void => {
  const link = document.createElement('a')
  link.href = url
  link.download = ''
  link.click()
}

const app = new Page({
  platform,
  gate,
  history,
  href: location.href,
  look: readLook(document.documentElement),
  mac,
  navigate: (url, options) => (options?.download ? download(url) : location.assign(url)),
  copy: text => navigator.clipboard.writeText(text),
  tabs: listening =>
    new TabLeader({
      ...listening,
      tab: crypto.getRandomValues(new Uint32Array(2)).join('-'),
      // Events are for one person.
      name: `agent-webui:events:${new URL(base).pathname}:${account}`,
      stream: on =>
        new Stream({
          ...on,
          types: FRAME_TYPES,
          open: query =>
            new EventSource(urlOf(base, 'api/events', query), { withCredentials: true }),
          beforeRetry: () => app.shell.auth.check(),
          clock,
        }),
      // Web Locks exist on secure pages only; without them no leader can be elected.
      channel: navigator.locks
        ? new BroadcastChannel(`agent-webui:${new URL(base).pathname}:${account}`)
        : null,
      locks: navigator.locks ?? null,
      visible: () => !document.hidden,
      clock,
    }),
})

/** Below this width the sidebar is a drawer. */
const narrow = matchMedia('(max-width: 719px)')
/** Below this width the workspace panel covers the chat. */
const tight = matchMedia('(max-width: 1099px)')
const measure = (): void => {
  app.first.panel.overlay.value = tight.matches || app.shell.route.beside.value !== null
  app.shell.layout.tight.value = tight.matches
  app.shell.layout.narrow.value = narrow.matches
  app.shell.layout.drawer.value = false
}
narrow.addEventListener('change', measure)
tight.addEventListener('change', measure)
effect(measure)

window.addEventListener('popstate', () => {
  app.shell.route.readLocation(location.href)
  app.first.app.value.panel.arrive(location.href)
})
window.addEventListener('beforeunload', event => {
  if (app.shell.signedOut.value) return
  if (app.hasUnsavedChanges()) event.preventDefault()
})
window.addEventListener('online', () => app.tabs.retryNow())
window.addEventListener('pagehide', () => {
  if (!app.shell.signedOut.value) for (const { draft } of app.chats.all()) void draft.save()
  app.tabs.close()
})
window.addEventListener('pageshow', event => {
  // Restored from the back/forward cache: all state is stale.
  if (event.persisted) location.reload()
})
document.addEventListener('visibilitychange', () => {
  if (document.hidden) return
  app.tabs.retryNow()
  void app.profiles.reloadIfChanged()
})
window.addEventListener('storage', event => {
  if (event.key === `agent-webui:${PROFILE_KEY}`) void app.profiles.reloadIfChanged()
})
every(clock, 60_000, () => {
  app.sessions.now.value = toSeconds(clock.now())
})

document.addEventListener('click', event => {
  const link = (event.target as Element | null)?.closest?.('a')
  const modified = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey
  if (!link || event.defaultPrevented || event.button !== 0 || modified) return
  const plain = !link.target && !link.hasAttribute('download')
  const fragment = link.getAttribute('href')?.startsWith('#')
  if (fragment) {
    // The page has a `<base>`: the browser would navigate to another URL.
    event.preventDefault()
    document.getElementById(link.hash.slice(1))?.focus()
  } else if (plain && link.href.startsWith(base) && isView(link.href)) {
    event.preventDefault()
    app.active.value.shell.route.follow(link.href)
  }
})

const isView = (href: string): boolean =>
  /^(session\/|settings|tasks|inbox|skills|memory|profiles|usage|$)/.test(
    new URL(href).pathname.slice(new URL(base).pathname.length),
  )

followKeyboard(document.documentElement)
document.addEventListener('pointerdown', () => delete document.documentElement.dataset.keyboard, {
  capture: true,
})
document.addEventListener('keydown', event => {
  const typing = (event.target as Element | null)?.closest?.(
    'input, textarea, select, [contenteditable]',
  )
  // Typing is no navigation: a field that was clicked stays without a focus ring.
  if (!typing || event.key === 'Tab') document.documentElement.dataset.keyboard = ''
  if (event.defaultPrevented || isComposing(event)) return
  const blocked = document.querySelector('dialog[open]:not(.drawer):not(.dialog-palette)')
  if (
    !blocked &&
    runShortcut(app.active.value, event, { mac, typing: typing !== null && typing !== undefined })
  ) {
    event.preventDefault()
  }
})

effect(() => {
  if (app.shell.connection.state.value.kind !== 'live') return
  retryTexts()
  retryFailedViews()
})
effect(() => {
  document.title = app.active.value.pane.title.value
})
effect(() => {
  writeLook(document.documentElement, app.settings.current.value)
  const background = getComputedStyle(document.documentElement).getPropertyValue('--bg')
  document.querySelector('meta[name="theme-color"]')?.setAttribute('content', background.trim())
})

/** Everything outside a chat acts on the active one. */
const Root = () => (
  <AppContext.Provider value={app.active.value}>
    <PageFrame app={app} />
  </AppContext.Provider>
)

/** Once there is a connection again: browsers do not request a module again that could not be loaded. */
const offerReload = (): void => {
  const reload = { label: t('view.reload'), run: () => location.reload() }
  effect(() => {
    if (app.shell.connection.state.value.kind === 'live')
      untracked(() => app.shell.toasts.show(t('view.failed'), { kind: 'error', action: reload }))
  })
}

// Beside the requests for an open session; for a new chat after everything else.
if (app.shell.route.sessionId.value) preloadTranscript()
// What was done so far is a task of its own. The messages of an open chat do not wait for that.
if (!app.shell.route.sessionId.value) await nextTask()
// Before the first render: the requests can use the time that it takes.
void app.start().then(async () => {
  preloadTranscript()
  loadMoreIcons().catch(() => undefined)
  try {
    await Promise.all([
      import('./features/offline/start.ts').then(late =>
        app.shell.attempt(() => late.startOffline(app)),
      ),
      // What it loads itself: a part that is missing must not keep the others from starting.
      import('./features/queue/lazy-queue.ts'),
      import('./features/transcript/announce-answers.ts'),
    ])
  } catch {
    offerReload()
  }
})
// A short task of its own.
await nextTask()
render(<Root />, document.getElementById('page')!)
effect(() => {
  const id = app.shell.route.sessionId.value
  untracked(() => void app.first.show(id))
})
