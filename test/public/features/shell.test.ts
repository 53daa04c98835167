/** Shell state: route, settings, models, toasts, connection, inbox, unread marks, search, sign-in. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ApiError } from '../../../public/api.ts'
import { Auth, SignInGate } from '../../../public/features/sign-in/auth.ts'
import { Connection } from '../../../public/features/shell/connection.ts'
import { matchModels } from '../../../public/features/models/match-models.ts'
import { Models } from '../../../public/features/models/models.ts'
import { draftsPrefix, jsonStorage } from '../../../public/platform.ts'
import { createRoute, parseRoute, pathOf } from '../../../public/features/shell/route.ts'
import { Search } from '../../../public/features/sessions/search.ts'
import { SettingsState } from '../../../public/features/settings/settings.ts'
import { Toasts } from '../../../public/features/shell/toast.ts'
import { Unread } from '../../../public/features/sessions/sidebar.ts'
import { levelOf } from '../../../public/features/compaction/context-meter.tsx'
import { fakePlatform, fakeRow, settle } from '../_page.ts'

const test = suite('page state')
const base = 'http://host/any/path/'

test('addresses under any path; unknown ones are a new chat', () => {
  assert.equal(parseRoute(base, `${base}session/ab%20c`), { view: 'chat', sessionId: 'ab c' })
  assert.equal(parseRoute(base, `${base}settings/security`), {
    view: 'settings',
    section: 'access',
  })
  assert.equal(parseRoute(base, `${base}settings/nonsense`), {
    view: 'settings',
    section: 'general',
  })
  for (const href of [base, `${base}nonsense`, 'http://host/elsewhere/session/x']) {
    assert.equal(parseRoute(base, href), { view: 'chat', sessionId: null })
  }
  assert.is(pathOf({ view: 'chat', sessionId: 'a/b' }), 'session/a%2Fb')
})

test('closing another view returns to the chat', () => {
  const pushed: string[] = []
  const history = {
    pushState: (_: unknown, __: string, url: string) => void pushed.push(url),
    replaceState: () => {},
  }
  const route = createRoute(base, `${base}session/a`, history)
  route.go({ view: 'settings', section: 'system' })
  assert.is(route.sessionId.value, 'a')
  route.backToChat()
  route.openSession('a')
  assert.equal(pushed, [`${base}settings/system`, `${base}session/a`])
})

test('a choice that was refused after another one goes back to what the server has', async () => {
  const answers: PromiseWithResolvers<object>[] = []
  const { platform } = fakePlatform({
    'POST /api/settings/personal': () => {
      answers.push(Promise.withResolvers())
      return answers.at(-1)!.promise
    },
  })
  const settings = new SettingsState(platform, new Toasts(platform), { theme: 'dark' })
  const save = (theme: 'light' | 'system') => settings.save('theme', theme)
  const refused = new ApiError(400, 'no')
  const both = Promise.all([save('light'), save('system')])
  answers[0]!.reject(refused)
  answers[1]!.reject(refused)
  await both
  assert.is(settings.current.value.theme, 'dark', 'neither was saved')

  const again = Promise.all([save('light'), save('system')])
  answers[3]!.reject(refused)
  await settle()
  answers[2]!.resolve({ theme: 'light' })
  await again
  assert.is(settings.current.value.theme, 'light', 'the first one was')
})

test('reverts a rejected setting and marks its row', async () => {
  const { platform, service, clock } = fakePlatform({
    'POST /api/settings/personal': () => {
      throw new ApiError(507, 'full')
    },
  })
  const settings = new SettingsState(platform, new Toasts(platform))
  const saving = settings.save('theme', 'nord')
  assert.equal([settings.theme.value, settings.saveStatus.value.theme], ['nord', 'saving'])
  await saving
  assert.equal([settings.theme.value, settings.saveStatus.value.theme], ['dark', 'failed'])
  await clock.advance(2_000)
  assert.is(settings.saveStatus.value.theme, undefined)
  service.answers['POST /api/settings/personal'] = input => input
  await settings.save('theme', 'my-own')
  assert.is(settings.theme.value, 'my-own')
})

test('what the server answers to an older request does not undo a choice', async () => {
  const { platform, service } = fakePlatform()
  const settings = new SettingsState(platform, new Toasts(platform))
  const held: PromiseWithResolvers<object>[] = []
  const hold = () => {
    held.push(Promise.withResolvers())
    return held.at(-1)!.promise
  }
  service.answers['GET /api/settings'] = hold
  service.answers['POST /api/settings/personal'] = hold
  const old = { theme: 'dark', font_size: 'default' }
  const [before, nord, large, during] = [
    settings.load(),
    settings.save('theme', 'nord'),
    settings.save('font_size', 'large'),
    settings.load(),
  ]
  const look = () => [settings.current.value.theme, settings.current.value.font_size]
  held[0]?.resolve(old)
  await before
  assert.equal(look(), ['nord', 'large'])
  held[1]?.resolve({ theme: 'nord', font_size: 'default' })
  await nord
  assert.equal(look(), ['nord', 'large'])
  held[3]?.resolve(old)
  await during
  assert.equal(look(), ['nord', 'large'])
  held[2]?.resolve({ theme: 'nord', font_size: 'large' })
  await large
  assert.equal(look(), ['nord', 'large'])
  // What another page chose later is taken over.
  const after = settings.load()
  held[4]?.resolve(old)
  await after
  assert.equal(look(), ['dark', 'default'])
})

test('of two choices in one setting, the newer one is kept and says whether it was saved', async () => {
  const { platform, service } = fakePlatform()
  const settings = new SettingsState(platform, new Toasts(platform))
  const held: PromiseWithResolvers<object>[] = []
  service.answers['POST /api/settings/personal'] = () => {
    held.push(Promise.withResolvers())
    return held.at(-1)!.promise
  }
  const saves = (['nord', 'light', 'nord'] as const).map(name => settings.save('theme', name))
  held[0]?.resolve({ theme: 'nord' })
  held[1]?.resolve({ theme: 'light' })
  await Promise.all(saves.slice(0, 2))
  assert.equal([settings.theme.value, settings.saveStatus.value.theme], ['nord', 'saving'])
  held[2]?.resolve({ theme: 'nord' })
  await saves[2]
  assert.equal([settings.theme.value, settings.saveStatus.value.theme], ['nord', 'saved'])
})

test('models: exact before prefix before anywhere; the recent ones are remembered', () => {
  const model = (id: string, label: string) => ({ id, label, provider: 'P' })
  const all = [model('x/gpt-mini', 'GPT Mini'), model('@o:gpt', 'GPT'), model('c', 'Claude')]
  assert.equal(
    matchModels(all, 'gpt').map(({ id }) => id),
    ['@o:gpt', 'x/gpt-mini'],
  )
  assert.equal(
    matchModels(all, 'mini p').map(({ id }) => id),
    ['x/gpt-mini'],
  )
  assert.equal(matchModels(all, 'zzz'), [])
  const { platform } = fakePlatform()
  const models = new Models(platform)
  models.groups.value = [{ provider: 'P', provider_id: 'p', models: all }]
  for (const id of ['c', '@o:gpt', 'c', 'gone']) models.markUsed(id)
  assert.equal(new Models(platform).recent.value, [])
  assert.equal(
    models.recent.value.map(({ id }) => id),
    ['c', '@o:gpt'],
  )
  assert.equal([models.labelOf('@o:gpt'), models.labelOf('@z:a/b')], ['GPT', 'b'])
})

test('a toast of a failed request copies its details; other errors have no action', () => {
  const copied: string[] = []
  const { platform } = fakePlatform()
  const toasts = new Toasts(platform, text => void copied.push(text))
  const failed = new ApiError(500, 'a')
  failed.copyable = { label: 'Copy details', text: 'id 7' }
  toasts.showError(failed)
  toasts.showError(new ApiError(409, 'b'))
  toasts.showError('c')
  const [first, ...others] = toasts.list.value
  assert.equal([first?.text, first?.kind, first?.action?.label], ['a', 'error', 'Copy details'])
  first?.action?.run()
  assert.equal(copied, ['id 7'])
  assert.equal(
    others.map(({ action }) => action),
    [null, null],
  )
})

test('toasts leave, unless they are held or newer ones push them out', async () => {
  const { platform, clock } = fakePlatform()
  const toasts = new Toasts(platform)
  toasts.show('a')
  toasts.show('a')
  assert.is(toasts.list.value.length, 1)
  toasts.pauseTimers()
  await clock.advance(60_000)
  assert.is(toasts.list.value.length, 1)
  toasts.resumeTimers()
  await clock.advance(5_000)
  assert.is(toasts.list.value.length, 0)
  for (const text of 'bcdefg') toasts.show(text)
  assert.equal(toasts.list.value.map(({ text }) => text).join(''), 'defg')
  toasts.dismissText('e')
  assert.equal(toasts.list.value.map(({ text }) => text).join(''), 'dfg')
})

test('hides a short disconnect; counts down and polls during a long one', async () => {
  const { platform, clock } = fakePlatform()
  let polls = 0
  const connection = new Connection(platform, async () => {
    polls += 1
    throw new ApiError(0, 'offline')
  })
  connection.set({ kind: 'live' })
  connection.set({ kind: 'waiting', retryAtMs: clock.now() + 1_000 })
  await clock.advance(1_000)
  connection.set({ kind: 'live' })
  await clock.advance(5_000)
  assert.not.ok(connection.visible.value)
  connection.set({ kind: 'waiting', retryAtMs: clock.now() + 4_000 })
  await clock.advance(2_000)
  assert.equal([connection.visible.value, connection.seconds.value], [true, 2])
  await clock.advance(30_000)
  await settle()
  await clock.advance(30_000)
  await settle()
  assert.is(polls, 2)
  connection.set({ kind: 'live' })
  await clock.advance(120_000)
  assert.equal([polls, connection.visible.value], [2, false])
  connection.setWatchesHostSessions(false)
  await clock.advance(30_000)
  assert.is(polls, 3)
  connection.close()
})

test('unread: newer than this browser, and more messages than were seen', () => {
  const { platform, clock } = fakePlatform()
  const viewed = new Unread(platform)
  const later = clock.now() / 1000 + 10
  assert.not.ok(viewed.isUnread(fakeRow('a', { updated_at: 1 })))
  const row = fakeRow('a', { updated_at: later, message_count: 4 })
  assert.ok(viewed.isUnread(row))
  viewed.markRead(row)
  assert.not.ok(viewed.isUnread(row))
  assert.ok(new Unread(platform).isUnread({ ...row, message_count: 5 }))
})

test('search: titles at once, full text after a pause, a stale answer is dropped', async () => {
  const waiting: ((value: unknown) => void)[] = []
  const { platform, clock } = fakePlatform({
    'GET /api/sessions/search': () => new Promise(resolve => waiting.push(resolve)),
  })
  const search = new Search(platform, () => [fakeRow('a', { title: 'Alpha' }), fakeRow('b')])
  search.set('alp')
  assert.equal(
    search.hits.value.map(hit => hit.session_id),
    ['a'],
  )
  await clock.advance(200)
  search.set('alph')
  await clock.advance(200)
  waiting[0]!({ sessions: [fakeRow('stale')] })
  waiting[1]!({ sessions: [fakeRow('b')] })
  await settle()
  assert.equal(
    search.hits.value.map(hit => hit.session_id),
    ['b'],
  )
  search.clear()
  assert.equal(search.hits.value, [])
})

test('one sign-in resolves all waiting requests', async () => {
  const { platform, service } = fakePlatform({
    'POST /api/auth/login': ({ password }) => {
      if (password !== 'right') throw new ApiError(401, 'Invalid password')
      return { ok: true }
    },
    'GET /api/auth/status': () => ({ auth_enabled: true, logged_in: false }),
  })
  const gate = new SignInGate()
  const auth = new Auth(gate, platform.api, () => {})
  let passed = 0
  for (const wait of [gate.waitForSignIn(), gate.waitForSignIn(), auth.check()])
    void wait.then(() => (passed += 1))
  await settle()
  assert.not.ok(await auth.signIn('wrong'))
  assert.equal([auth.error.value, gate.open.value, passed], ['Invalid password', true, 0])
  assert.ok(await auth.signIn('right'))
  await settle()
  assert.equal([gate.open.value, passed], [false, 3])
  delete service.answers['GET /api/auth/status']
  await auth.check()
})

test('a storage that refuses costs the memory only', () => {
  const broken = {
    getItem: () => '{',
    setItem() {
      throw new Error('full')
    },
    removeItem() {},
  }
  for (const memory of [jsonStorage(broken), jsonStorage(null)]) {
    memory.write('a', 1)
    assert.is(memory.read('a', 7), 7)
  }
})

test('after a sign-out nothing of what this person wrote is stored, and nothing is added; the rest stays', () => {
  const rows: Record<string, string> = { 'agent-webui:bea:draft': '1', 'agent-webui:width': '2' }
  // Like a browser's, whose methods are no keys.
  const storage = Object.setPrototypeOf(rows, {
    getItem: (key: string) => rows[key] ?? null,
    setItem(key: string, value: string) {
      rows[key] = value
    },
    removeItem: (key: string) => void delete rows[key],
  })
  const drafts = jsonStorage(storage, draftsPrefix('ann'))
  drafts.write('draft', 'secret')
  assert.is(rows['agent-webui:ann:draft'], '"secret"')
  drafts.clear()
  drafts.write('unsaved-drafts', 'while the page is left')
  assert.equal(Object.keys(rows), ['agent-webui:bea:draft', 'agent-webui:width'])
  assert.is(drafts.read('draft', ''), '')
})

test('the ring: blue under 50, yellow to 75, red above', () => {
  assert.equal([49, 50, 75, 76].map(levelOf), ['low', 'middle', 'middle', 'high'])
})

test.run()
