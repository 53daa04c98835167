/** Entry of the service worker: the page and what was read last without a network, and what other apps share with this one. */
import { type Account, createKept } from './kept.ts'
import { createFiles } from './files.ts'
import { offlinePage } from './offline-page.ts'
import { outboxName } from './outbox-name.ts'
import { listenForPush, type PushScope } from './push.ts'
import { keepShared, SHARED_CACHE } from './shared.ts'

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
declare const BUILD: { id: string; main: string; files: readonly string[] }

const worker = self as unknown as WorkerScope
const { scope } = worker.registration
const root = new URL(scope).pathname
const files = createFiles(caches, root, BUILD)
const kept = createKept(caches, root)

/** Paths that are not the app's shell, by their first segment. */
const NO_SHELL =
  /^(api|v1|static|share|artifact|health|favicon\.ico|sw\.js|manifest\.webmanifest)(\/|$)/

/** The server was not reached: a proxy in front of it says so. */
const isUnreachable = ({ status }: Response): boolean => status === 502 || status === 504

/** A request that fails, or does not reach the server, has the reply of `otherwise`, if there is one. */
const fromNetwork = async (
  request: Request,
  otherwise: () => Promise<Response | undefined>,
): Promise<Response> => {
  try {
    const reply = await fetch(request)
    return isUnreachable(reply) ? ((await otherwise()) ?? reply) : reply
  } catch (error) {
    const stored = await otherwise()
    if (stored) return stored
    throw error
  }
}

/** Only the page of this build: its scripts are stored, those of another one may not be. */
const keepShell = async (reply: Response, account: Account): Promise<void> => {
  const isHtml = reply.headers.get('content-type')?.startsWith('text/html')
  if (!reply.ok || reply.redirected || !isHtml) return
  const copy = reply.clone()
  if ((await reply.text()).includes(BUILD.main)) await kept.putShell(copy, account)
}

const navigate = async ({ request, waitUntil }: NavigationEvent): Promise<Response> => {
  const account = kept.account()
  const reply = await fromNetwork(request, async () => (await kept.shell()) ?? offlinePage())
  // The server redirects a page to the sign-in when this browser is signed out.
  if (reply.type === 'opaqueredirect') waitUntil(kept.clear())
  else waitUntil(keepShell(reply.clone(), account))
  return reply
}
type NavigationEvent = { request: Request; waitUntil: (work: Promise<unknown>) => void }

/** Always the server's reply while it can be reached; the stored one is for when it cannot. */
const read = async ({ request, waitUntil }: NavigationEvent): Promise<Response> => {
  const account = kept.account()
  const reply = await fromNetwork(request, () => kept.find(request))
  if (reply.status === 401) waitUntil(kept.clear())
  else if (reply.ok && !kept.isStored(reply)) waitUntil(kept.put(request, reply.clone(), account))
  return reply
}

/** Whether the sign-in has ended: the page asks when its event stream is closed. */
const signInState = async ({ request, waitUntil }: NavigationEvent): Promise<Response> => {
  const reply = await fetch(request)
  const state = (await reply.clone().json()) as { auth_enabled?: boolean; logged_in?: boolean }
  if (state.auth_enabled && !state.logged_in) waitUntil(kept.clear())
  return reply
}

/** Another person may sign in, and nothing is readable after signing out: not even when the request is cut off. */
const changeOfAccount = async ({ request }: NavigationEvent, path: string): Promise<Response> => {
  await kept.clear()
  const reply = await fetch(request)
  if (reply.ok && path.endsWith('logout')) {
    await caches.delete(SHARED_CACHE)
    // Done when the page that uses it leaves for the sign-in.
    indexedDB.deleteDatabase(outboxName(root))
  }
  return reply
}

const replyTo = (event: NavigationEvent, path: string): Promise<Response> | undefined => {
  const { request } = event
  const { method } = request
  if (method === 'POST') {
    if (path === 'share-target') return keepShared(caches, scope, request)
    return /^api\/auth\/log(in|out)$/.test(path) ? changeOfAccount(event, path) : undefined
  }
  if (method !== 'GET') return undefined
  if (request.mode === 'navigate') return NO_SHELL.test(path) ? undefined : navigate(event)
  if (path.startsWith('static/')) return files.get(request)
  if (path === 'api/auth/status') return signInState(event)
  return kept.accepts(request.url) ? read(event) : undefined
}

listenForPush(self as unknown as PushScope)

worker.addEventListener('install', event => {
  const account = kept.account()
  // Pages keep the scripts of their own build, so this build need not wait until all of them are closed.
  const shell = fetch(scope, { credentials: 'include' }).then(reply => keepShell(reply, account))
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
