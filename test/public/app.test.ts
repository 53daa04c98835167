/** The page as a whole, without pictures: sending, queueing, resuming, and every slash command. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ApiError } from '../../public/api.ts'
import { createApp, type Listening } from '../../public/app.ts'
import { commands, parseCommand } from '../../public/commands.ts'
import { createGate } from '../../public/state/auth.ts'
import type { Tabs } from '../../public/tabs.ts'
import type { Frame } from '../../lib/schema/event.ts'
import { fakePlatform, fakeRow, fakeSession, rowFrame, settle } from './_page.ts'

const message = (id: string, role: string, content: string) => ({ id, role, content })

const page = async (href = '', answers: Parameters<typeof fakePlatform>[0] = {}) => {
  const sessions = new Map<string, Record<string, unknown>>([['a', {}]])
  const fake = fakePlatform({
    'GET /api/settings': () => ({ bot_name: 'Bot', webui_version: '1', auth_enabled: false }),
    'POST /api/settings': input => input,
    'GET /api/profile/active': () => ({ name: 'default', path: '/' }),
    'GET /api/models': () => ({
      active_provider: 'p',
      default_model: 'm1',
      groups: [{ provider: 'P', provider_id: 'p', models: [{ id: 'm1', label: 'Model One' }] }],
    }),
    'GET /api/reasoning': () => ({ show_reasoning: true, reasoning_effort: 'low' }),
    'POST /api/reasoning': ({ effort, display }) => ({
      show_reasoning: display !== 'hide',
      reasoning_effort: effort ?? 'low',
    }),
    'GET /api/workspaces': () => ({ workspaces: [{ path: '/w/one', name: 'one' }], last: '/w' }),
    'GET /api/commands': () => ({ commands: [] }),
    'GET /api/projects': () => ({ projects: [] }),
    'GET /api/personalities': () => ({ personalities: [{ name: 'calm', description: '' }] }),
    'POST /api/personality/set': ({ name }) => ({ ok: true, personality: name || null }),
    'GET /api/sessions': () => ({ sessions: [fakeRow('a')], cursor: 'aaaaaaaa-10' }),
    'GET /api/session': ({ session_id: id }) => {
      const record = sessions.get(String(id))
      if (!record) throw new ApiError(404, 'Session not found')
      return { session: fakeSession(String(id), { cursor: 'aaaaaaaa-10', ...record }) }
    },
    'POST /api/session/new': () => {
      sessions.set('n', {})
      return { session: fakeRow('n', { title: 'Untitled', message_count: 0 }) }
    },
    'GET /api/inbox': () => ({ questions: [], cursor: 'aaaaaaaa-10' }),
    'POST /api/session/draft': () => ({ ok: true }),
    'POST /api/session/update': ({ session_id: id, ...patch }) => ({
      session: fakeRow(String(id), patch),
    }),
    'POST /api/session/rename': ({ session_id: id, title }) => ({
      session: fakeRow(String(id), { title: String(title) }),
    }),
    'POST /api/chat/start': ({ session_id: id }) => ({ stream_id: 'f', session_id: id }),
    'POST /api/chat/cancel': () => ({ ok: true, cancelled: true }),
    ...answers,
  })
  let hear: Listening['onFrame'] = () => {}
  let standing: Listening['standing'] = () => ({ wanted: new Map(), list: '' })
  const left: string[] = []
  const app = createApp({
    platform: fake.platform,
    gate: createGate(),
    history: { pushState: () => {}, replaceState: () => {} },
    href: `http://host/any/path/${href}`,
    theme: 'dark',
    mac: false,
    leave: url => left.push(url),
    copy: async () => {},
    tabs(listening) {
      hear = listening.onFrame
      standing = listening.standing
      const nothing = () => {}
      return { start: nothing, changed: nothing, retryNow: nothing, close: nothing } as Tabs
    },
  })
  await app.begin()
  await settle()
  let n = 10
  const say = (source: string, type: string, data: unknown, place: object = {}) => {
    n += 1
    hear({ source, n, type, data, ...place } as unknown as Frame)
  }
  return {
    ...fake,
    app,
    left,
    sessions,
    standing: () => standing(),
    row: (id: string, patch = {}) => {
      n += 1
      hear(rowFrame(n, fakeRow(id, patch)))
    },
    turn: (type: string, data: object = {}) => say('session:a', type, data),
    submit: async (text: string) => {
      app.composer.edit(text)
      await app.submit()
      await settle()
    },
    texts: () => app.chat.chat.value.messages.map(({ content }) => content),
    said: () => app.toasts.list.value.at(-1)?.text,
  }
}
const START = 'POST /api/chat/start'
const started = {
  session_id: 'a',
  stream_id: 'f',
  model: 'm1',
  provider: 'p',
  started_at: 1,
}

const test = suite('page')

test('a turn that is refused gives the text back', async () => {
  const { submit, app, said, texts } = await page('session/a', {
    [START]: () => {
      throw new ApiError(503, 'No provider is set up')
    },
  })
  await submit('hello')
  assert.equal([app.composer.text.value, said(), texts()], ['hello', 'No provider is set up', []])
  assert.not.ok(app.chat.busy.value)
})

test('a conversation that is not there says so', async () => {
  const { app } = await page('session/zzz')
  assert.is(app.chat.state.value, 'missing')
})

test('a conversation another tab is running: the message waits in line', async () => {
  const { submit, app } = await page('session/a', {
    [START]: () => {
      throw new ApiError(409, 'session already has an active stream')
    },
  })
  await submit('hello')
  assert.equal([app.queue.of('a').length, app.composer.text.value], [1, ''])
})

test('a message is shown at once and replaced by the stored one', async () => {
  const { submit, turn, texts, app, service } = await page('session/a')
  await submit('hello')
  assert.equal([texts(), app.chat.busy.value], [['hello'], true])
  assert.equal(service.of(START), [{ session_id: 'a', message: 'hello' }])
  turn('turn_started', started)
  turn('message', { message: message('m1', 'user', 'hello') })
  assert.equal(texts(), ['hello'])
  assert.is(app.chat.chat.value.messages[0]?.id, 'm1')
  turn('message', { message: message('m2', 'assistant', 'hi') })
  turn('done', { usage: null, message_ids: [] })
  assert.equal([texts(), app.chat.busy.value], [['hello', 'hi'], false])
})

test('the first message makes the conversation, with what was chosen for it', async () => {
  const { submit, app, service, standing } = await page()
  await app.chooseModel('m1')
  await app.chooseWorkspace('/w/one')
  await app.choosePersonality('calm')
  await submit('hello')
  assert.equal(service.of('POST /api/session/new'), [{ model: 'm1', workspace: '/w/one' }])
  assert.equal(service.of('POST /api/personality/set'), [{ session_id: 'n', name: 'calm' }])
  assert.equal(service.of(START), [{ session_id: 'n', message: 'hello' }])
  assert.is(app.route.sessionId.value, 'n')
  assert.equal([...standing().wanted], [['n', 'aaaaaaaa-10']])
  assert.is(app.title.value, 'New chat · Bot')
})

test('while a turn runs messages queue; the next goes out when it ends well, not when it is stopped', async () => {
  const { submit, turn, row, app, service } = await page('session/a')
  await submit('one')
  turn('turn_started', started)
  await submit('two')
  await submit('three')
  assert.is(app.queue.of('a').length, 2)
  turn('done', { usage: null, message_ids: [] })
  row('a')
  row('a', { title: 'named now' })
  await settle()
  assert.equal(
    service.of(START).map(({ message: text }) => text),
    ['one', 'two'],
  )
  row('a', { is_streaming: true })
  turn('turn_started', started)
  turn('cancel', { message: 'Cancelled by user' })
  row('a', { last_turn: 'cancelled' })
  await settle()
  assert.is(app.queue.of('a').length, 1)
  app.editQueued('a', app.queue.of('a')[0]!.id)
  assert.equal([app.composer.text.value, app.queue.of('a').length], ['three', 0])
})

test('editing cuts the conversation before the message and sends it anew', async () => {
  const { app, service, sessions } = await page('', {
    'POST /api/session/truncate': () => {
      sessions.set('a', { messages: [], _messages_offset: 40 })
      return { ok: true }
    },
  })
  const messages = [message('m1', 'user', 'old'), message('m2', 'assistant', 'answer')]
  sessions.set('a', { messages, _messages_offset: 40 })
  await app.openSession('a')
  app.route.openSession('a')
  await app.edit('m1', 'new')
  assert.equal(service.of('POST /api/session/truncate'), [{ session_id: 'a', keep_count: 40 }])
  assert.is(service.of(START)[0]?.message, 'new')
})

test('a reset fetches again, and goes on from there', async () => {
  const { app, turn, sessions, service, texts } = await page('session/a')
  sessions.set('a', { messages: [message('m9', 'assistant', 'later')], cursor: 'bbbbbbbb-2' })
  turn('reset')
  await settle()
  assert.equal(texts(), ['later'])
  assert.is(service.of('GET /api/session').length, 2)
  assert.is(app.toasts.list.value.length, 0)
})

test('a late answer for a conversation one has left is not used', async () => {
  const slow: ((value: unknown) => void)[] = []
  const { app } = await page('', {
    'GET /api/session': () => new Promise(resolve => slow.push(resolve)),
  })
  const first = app.openSession('a')
  const second = app.openSession('b')
  slow[1]!({ session: fakeSession('b', { title: 'B' }) })
  slow[0]!({ session: fakeSession('a', { title: 'A' }) })
  await Promise.all([first, second])
  assert.is(app.chat.chat.value.title, 'B')
})

test('the tab says how many conversations wait', async () => {
  const { app, row } = await page('session/a')
  row('a', { waiting: 1, title: 'Ask' })
  assert.is(app.title.value, '(1) Ask · Bot')
})

test('unknown commands are text for the agent', async () => {
  const { submit, service } = await page('session/a')
  for (const text of ['/nonsense', '/usr/bin is a path', '/compact']) {
    assert.is(parseCommand(text), null)
  }
  await submit('/nonsense x')
  assert.is(service.of(START)[0]?.message, '/nonsense x')
})

test('every command does what its summary says', async () => {
  const { submit, app, service, said, left } = await page('session/a', {
    'GET /api/session/status': () => ({ session_id: 'a', agent_running: false }),
    'POST /api/session/undo': () => ({ error: 'Nothing to undo.' }),
    'POST /api/session/branch': () => ({ session_id: 'a' }),
  })
  const says = async (text: string, expected: string | undefined) => {
    await submit(text)
    assert.is(said(), expected, text)
  }
  await says('/usage', 'Token usage is shown')
  await says('/theme nord', 'Theme: nord')
  await says('/theme', 'Themes: dark, light, solarized, monokai, nord, system')
  await says('/reasoning', 'Reasoning is shown, effort: Low')
  await says('/reasoning HIDE', 'Reasoning is hidden, effort: Low')
  await says('/reasoning high', 'Reasoning is shown, effort: High')
  await submit('/reasoning often')
  assert.match(said()!, 'Unknown effort')
  await says('/personality', 'Personalities: calm')
  await says('/personality calm', 'Personality: calm')
  await says('/personality none', 'No personality is set')
  await says('/model one', 'Model: Model One')
  await says('/model zzz', 'No model matches “zzz”')
  await says('/workspace one', 'Workspace: one')
  await says('/status', 'Title a: 2 messages, model Model One, idle')
  await says('/undo', 'Nothing to undo.')
  await says('/stop', 'Nothing is running')
  await says('/export pdf', 'Export as md, json or html')
  await submit('/export json')
  assert.equal(left, ['http://host/any/path/api/session/export?session_id=a&format=json'])
  await submit('/title My name')
  assert.equal(service.of('POST /api/session/rename'), [{ session_id: 'a', title: 'My name' }])
  await submit('/model')
  assert.is(app.layout.picker.value, 'model')
  await submit('/help')
  assert.ok(app.layout.sheet.value)
  await submit('/clear')
  assert.ok(app.layout.confirmation.value)
  await submit('/branch')
  assert.is(service.of('POST /api/session/branch').length, 1)
  await submit('/new')
  assert.is(app.route.sessionId.value, null)
  await says('/title x', 'There is no conversation yet')
  assert.is(service.of(START).length, 0)
  assert.equal(new Set(commands.map(({ name }) => name)).size, commands.length)
})

test.run()
