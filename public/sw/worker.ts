/** Entry of the service worker: the page and what was read last without a network, and what other apps share with this one. */
import { systemClock } from '../../lib/base/clock.ts'
import { StoredFiles } from './files.ts'
import { KeptStore, type Epoch } from './kept.ts'
import { createNetwork } from './network.ts'
import { listenForPush, type PushScope } from './push.ts'
import { dropShared, keepShared } from './shared.ts'
import { isShell } from './shell-paths.ts'

/** What a browser shows without a network when it has no stored copy of the app, for example after signing out. */
const OFFLINE_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="dark light">
<title>Offline</title>
<style>
body { margin: 20vh auto; max-width: 24rem; padding: 0 16px; font: 1rem/1.6 system-ui; }
h1 { font-size: 1.25rem; }
</style>
<h1>You’re offline</h1>
<p>Can’t reach the server. Check your connection, then reload this page.</p>
`

const offlinePage = (): Response =>
  new Response(OFFLINE_PAGE, {
    status: 503,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    },
  })

/** The members of ServiceWorkerGlobalScope that are used here; TypeScript's `webworker` library excludes that of the page. */
type Extended = Event & { waitUntil(work: Promise<unknown>): void }
type FetchEvent = Extended & {
  readonly request: Request
  respondWith(reply: Promise<Response>): void
}
type WorkerScope = {
  addEventListener(type: 'install' | 'activate', listener: (event: Extended) => void): void
  addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void
  readonly registration: { readonly scope: string }
  readonly clients: { claim(): Promise<void> }
  skipWaiting(): Promise<void>
}

/** Set by the build: a name for its files, the script that only its page requests, and what works without a network. */
declare const BUILD: {
  id: string
  main: string
  files: readonly string[]
  /** Of one language, without its tag. */
  texts: readonly string[]
}

const worker = self as unknown as WorkerScope
const { scope } = worker.registration
const root = new URL(scope).pathname
const fromNetwork = createNetwork(request => fetch(request), systemClock)
const files = new StoredFiles({ caches, scope, build: BUILD, fromNetwork })
const store = new KeptStore(caches, scope, systemClock)

/** Stores the page, if it is one of this build: its scripts are stored, those of another one may not be. */
const keepShell = async (reply: Response, epoch: Epoch): Promise<void> => {
  const isHtml = reply.headers.get('content-type')?.startsWith('text/html')
  if (!reply.ok || reply.redirected || !isHtml) return
  const copy = reply.clone()
  const html = await reply.text()
  const [, language, account] = /<html lang="([\w-]+)"[^>]* data-account="(\w*)"/.exec(html) ?? []
  // Another app of ours may be below this one.
  if (account === undefined || !html.includes(`<base href="${root}">`)) return
  await store.keepShell(account, html.includes(BUILD.main) ? copy : null, epoch)
  if (language !== 'en')
    await Promise.all(BUILD.texts.map(name => files.add(`static/${language}.${name}`)))
}

/**
 * Without the preloads of its `Link` header, which are for a browser without a service worker: a script does not get what was
 * preloaded through one, and Chromium would load it twice and warn. The files are in the cache here.
 */
const withoutPreloads = (reply: Response): Response => {
  if (!reply.ok || !reply.headers.has('link')) return reply
  const headers = new Headers(reply.headers)
  headers.delete('link')
  const { body, status, statusText } = reply
  return new Response(body, { status, statusText, headers })
}

const navigate = async ({ request, waitUntil }: PassedEvent): Promise<Response> => {
  const epoch = store.epoch()
  const reply = withoutPreloads(await fromNetwork(request, store.shell).catch(offlinePage))
  // The server redirects a page to the sign-in when this browser is signed out.
  if (reply.type === 'opaqueredirect') waitUntil(store.clear())
  else if (!store.isStored(reply)) waitUntil(keepShell(reply.clone(), epoch))
  return reply
}
type PassedEvent = { request: Request; waitUntil: (work: Promise<unknown>) => void }

/** Always the server's reply while it can be reached; the stored one is for when it cannot. */
const read = async ({ request, waitUntil }: PassedEvent): Promise<Response> => {
  const epoch = store.epoch()
  const reply = await fromNetwork(request, () => store.find(request))
  if (reply.status === 401) waitUntil(store.clear())
  else if (reply.ok && !store.isStored(reply)) waitUntil(store.put(request, reply.clone(), epoch))
  return reply
}

/** Whether the sign-in has ended: the page asks when its event stream is closed. */
const signInState = async ({ request, waitUntil }: PassedEvent): Promise<Response> => {
  const reply = await fetch(request)
  if (reply.ok) {
    const state = (await reply.clone().json()) as { auth_enabled?: boolean; logged_in?: boolean }
    if (state.auth_enabled && !state.logged_in) waitUntil(store.clear())
  }
  return reply
}

/** Another person may sign in, and nothing is readable after signing out: not even when the request is cut off. */
const changeOfAccount = async (
  { request, waitUntil }: PassedEvent,
  path: string,
): Promise<Response> => {
  await store.clear()
  const reply = await fetch(request)
  if (reply.ok && path.endsWith('logout')) {
    waitUntil(dropShared(caches, scope))
  }
  return reply
}

/** Requests after which someone else may be signed in. */
const SIGN_IN =
  /^api\/(?:auth\/(?:login|logout|passkey\/login|pair\/use)|people\/accept(?:\/passkey)?)$/

const replyTo = (event: PassedEvent, path: string): Promise<Response> | undefined => {
  const { request } = event
  const { method } = request
  if (method === 'POST') {
    if (path === 'share-target') return keepShared(caches, scope, request)
    return SIGN_IN.test(path) ? changeOfAccount(event, path) : undefined
  }
  if (method !== 'GET') return undefined
  if (request.mode === 'navigate') {
    // The provider of a sign-in returns to it.
    if (path.startsWith('api/auth/')) event.waitUntil(store.clear())
    return isShell(path) ? navigate(event) : undefined
  }
  if (path.startsWith('static/')) return files.get(request, event.waitUntil)
  if (path === 'api/auth/status') return signInState(event)
  return store.accepts(request) ? read(event) : undefined
}

listenForPush(self as unknown as PushScope)

worker.addEventListener('install', event => {
  const epoch = store.epoch()
  // Pages keep the scripts of their own build, so this build need not wait until all of them are closed.
  const shell = fetch(scope, { credentials: 'include' }).then(reply => keepShell(reply, epoch))
  event.waitUntil(files.store().then(() => worker.skipWaiting()))
  // A signed-out browser gets no page; the next one that is opened is stored.
  event.waitUntil(shell.catch(() => undefined))
})

worker.addEventListener('activate', event => {
  event.waitUntil(Promise.all([files.dropOld(), worker.clients.claim()]))
})

worker.addEventListener('fetch', event => {
  const { request } = event
  const url = new URL(request.url)
  if (url.origin !== new URL(scope).origin || !url.pathname.startsWith(root)) return
  const waitUntil = (work: Promise<unknown>) => event.waitUntil(work)
  const reply = replyTo({ request, waitUntil }, url.pathname.slice(root.length))
  if (reply) event.respondWith(reply)
})
