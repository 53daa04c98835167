/** What the service worker stores and shows: by person, up to its limits, with a full disk, and on a connection that stalls. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { StoredFiles } from '../../public/sw/files.ts'
import { KeptStore, MAX_BYTES, MAX_SESSIONS } from '../../public/sw/kept.ts'
import { isShell } from '../../public/sw/shell-paths.ts'
import { createNetwork, PATIENCE_MS, SHORT_MS } from '../../public/sw/network.ts'
import { fakeCaches } from './_caches.ts'
import { createTestClock } from '../_clock.ts'

const test = suite('service worker')

const SCOPE = 'https://host/any/path/'
const ask = (path: string, account = 'ann') =>
  new Request(SCOPE + path, { headers: { 'x-agent-account': account } })
const chat = (id: string | number, account?: string) =>
  ask(`api/session?session_id=${id}&limit=60`, account)

const keptIn = (caches = fakeCaches()) => {
  const clock = createTestClock(1_000)
  const kept = new KeptStore(caches.storage, SCOPE, clock)
  const put = (request: Request, body: BodyInit = '{}') =>
    kept.put(request, new Response(body), kept.epoch())
  const text = async (request: Request) => (await kept.find(request))?.text()
  return { kept, caches, put, text, clock }
}

test('stores only what is named, with the time, for the person of the page', async () => {
  const { kept, put, text } = keptIn()
  assert.not(kept.accepts(new Request(`${SCOPE}api/settings`)), 'no person')
  for (const path of [
    'api/auth/devices',
    'api/tokens',
    'api/sessions?cursor=2',
    'v1/models',
    'share/x',
  ])
    assert.not(kept.accepts(ask(path)), path)
  await put(ask('api/settings'), 'of Ann')
  assert.is(await text(ask('api/settings')), 'of Ann')
  assert.is((await kept.find(ask('api/settings')))?.headers.get('x-stored'), '1000')
  assert.is(await text(ask('api/settings', 'bea')), undefined)
})

test('the stored page is never shown in the place of a file, of the list of cells, or of another cell', () => {
  for (const path of ['', 'session/x', 'settings', 'inbox', 'cellsx', 'tasks/cells'])
    assert.ok(isShell(path), path)
  for (const path of [
    'api/sessions',
    'share/x',
    'cells',
    'cells/',
    'cells/team/session/x',
    'forward/health',
  ])
    assert.not(isShell(path), path)
})

test('the page of another person removes what the one before had stored, also what is still on its way', async () => {
  const { kept, put, text, caches } = keptIn()
  const before = kept.epoch()
  await put(chat(1), 'secret')
  await kept.keepShell('ann', new Response('page of Ann'), kept.epoch())
  // A page of a build that this worker does not store still counts.
  await kept.keepShell('bea', null, kept.epoch())
  assert.is(await kept.shell(), undefined)
  assert.is(await text(chat(1)), undefined)
  await kept.put(chat(2), new Response('late'), before)
  assert.is(await text(chat(2)), undefined)
  await kept.keepShell('bea', new Response('page of Bea'), kept.epoch())
  assert.is(await (await kept.shell())?.text(), 'page of Bea')
  await put(chat(3, 'bea'), 'of Bea')
  await kept.clear()
  assert.equal(await caches.storage.keys(), [])
})

test('keeps the 20 chats that were stored last, whatever the clock says', async () => {
  const { put, text, clock } = keptIn()
  for (let id = 0; id < MAX_SESSIONS; id += 1) await put(chat(id))
  // Again, and the clock was set back.
  await put(chat(0))
  clock.set(10)
  await put(chat('new'))
  assert.is(await text(chat('new')), '{}')
  assert.is(await text(chat(0)), '{}')
  assert.is(await text(chat(1)), undefined)
  assert.is(await text(chat(2)), '{}')
})

test('keeps chats up to 50 MB, the newest first', async () => {
  const { kept, put } = keptIn()
  const big = new Blob([new Uint8Array(MAX_BYTES * 0.4)])
  const isThere = async (id: number) => (await kept.find(chat(id))) !== undefined
  for (const id of [1, 2, 3]) await kept.put(chat(id), new Response(big), kept.epoch())
  assert.equal([await isThere(1), await isThere(2), await isThere(3)], [false, true, true])
  await put(ask('api/settings'))
  assert.equal([await isThere(2), await isThere(3)], [true, true])
})

test('with full storage the older half of the chats is removed, and nothing fails', async () => {
  const { put, text, caches } = keptIn()
  for (let id = 0; id < MAX_SESSIONS; id += 1) await put(chat(id))
  caches.isFull = true
  await put(chat('new'))
  caches.isFull = false
  assert.is(await text(chat(MAX_SESSIONS / 2 - 1)), undefined)
  assert.is(await text(chat(MAX_SESSIONS / 2)), '{}')
})

/** A network whose requests settle when the test says so. */
const fakeNetwork = () => {
  const sent: { reply: (reply: Response) => void; fail: (error: Error) => void }[] = []
  const clock = createTestClock()
  const fromNetwork = createNetwork(
    () => new Promise((reply, fail) => sent.push({ reply, fail })),
    clock,
  )
  return { fromNetwork, sent, clock }
}
const stored = async () => new Response('stored')
const nothing = async () => undefined

test('a stored reply replaces that of a failed request, a proxy without its server, and a stalled connection', async () => {
  const { fromNetwork, sent, clock } = fakeNetwork()
  const get = async (otherwise: typeof stored | typeof nothing, settle = () => {}) => {
    const reply = fromNetwork(ask('api/settings'), otherwise)
    settle()
    return (await reply).text()
  }
  const last = () => sent.at(-1)!
  const reply = (status: number, type: string) => () =>
    last().reply(new Response('network', { status, headers: { 'content-type': type } }))
  const fail = () => last().fail(new TypeError('no network'))
  assert.is(await get(stored, fail), 'stored')
  assert.is(await get(nothing, fail).catch(error => error.message), 'no network')
  for (const status of [502, 503, 504, 522])
    assert.is(await get(stored, reply(status, 'text/html')), 'stored', `${status}`)
  assert.is(await get(nothing, reply(502, 'text/html')), 'network')
  // An error of the server itself.
  assert.is(await get(stored, reply(503, 'application/json')), 'network')
  assert.is(await get(stored, reply(401, 'text/html')), 'network')

  /** How long a connection that stalls is waited for. */
  const patience = async (): Promise<number> => {
    const before = clock.now()
    const waited = get(stored).then(() => clock.now() - before)
    await clock.advance(PATIENCE_MS)
    return waited
  }
  assert.is(await patience(), PATIENCE_MS)
  const stalled = last()
  // The next one is not waited for as long. Without a stored reply there is nothing better than to wait.
  assert.is(await patience(), SHORT_MS)
  const patient = get(nothing)
  await clock.advance(PATIENCE_MS)
  last().reply(new Response('slow'))
  assert.is(await patient, 'slow')
  stalled.fail(new TypeError('at last'))
  assert.is(await get(stored, reply(200, 'text/html')), 'network')
  assert.is(await patience(), PATIENCE_MS)
})

test('files: hashed ones from any build, others from the network; languages offline, the newest; a full disk fails no request', async () => {
  const served = new Map([['static/main-AAAAAAAA.js', 'first build']])
  const network = async (url: string) => {
    const text = served.get(url.slice(SCOPE.length))
    if (text === undefined) throw new TypeError('no network')
    return new Response(text)
  }
  const caches = fakeCaches(network)
  const work: Promise<unknown>[] = []
  const filesOf = (id: string, files: string[]) =>
    new StoredFiles({
      caches: caches.storage,
      scope: SCOPE,
      build: { id, files },
      fromNetwork: createNetwork(({ url }) => network(url), createTestClock()),
    })
  const get = async (files: ReturnType<typeof filesOf>, path: string) => {
    const reply = await files.get(new Request(SCOPE + path), each => work.push(each))
    await Promise.all(work)
    return reply.text()
  }
  const first = filesOf('1', ['static/main-AAAAAAAA.js'])
  await first.store()
  served.set('static/de.json', 'old')
  await first.add('static/de.json')

  served.clear()
  served.set('static/main-BBBBBBBB.js', 'second build').set('static/de.json', 'new')
  const second = filesOf('2', ['static/main-BBBBBBBB.js'])
  await second.store()
  await second.dropOld()
  assert.is(await get(second, 'static/main-AAAAAAAA.js'), 'first build')
  assert.is(await get(second, 'static/de.json'), 'new')
  served.clear()
  assert.is(await get(second, 'static/de.json'), 'new')
  assert.is(await get(second, 'static/fr.json').catch(error => error.message), 'no network')

  served.set('static/fr.json', 'read').set('static/main-CCCCCCCC.js', 'third build')
  caches.isFull = true
  assert.is(await get(second, 'static/fr.json'), 'read')
  caches.isFull = false
  const third = filesOf('3', ['static/main-CCCCCCCC.js'])
  await third.store()
  await third.dropOld()
  served.clear()
  assert.is(await get(third, 'static/main-BBBBBBBB.js'), 'second build')
  assert.is(await get(third, 'static/main-AAAAAAAA.js').catch(error => error.message), 'no network')
})

test.run()
