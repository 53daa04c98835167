/** The app without a DOM: sending, queueing, resuming, and every slash command. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ApiError } from '../../../public/api.ts'
import type { App, Page, StreamListener } from '../../../public/app.ts'
import { commands, parseCommand } from '../../../public/features/composer/slash-commands.ts'
import { openSecond } from '../../../public/features/frame/second-pane.ts'
import type { Frame } from '../../../lib/schema/event.ts'
import { emptyUsage } from '../../../lib/schema/usage.ts'
import { createPage } from '../_open-page.ts'
import { fakePlatform, fakeRow, fakeSession, rowFrame, settle, unnamed } from '../_page.ts'

const message = (id: string, role: string, content: string) => ({ id, role, content })

/** The page, and what its first pane shows now. */
const shown = (page: Page): Page & App =>
  new Proxy(page, {
    get(target, key) {
      const owner = key in target ? target : target.first.app.peek()
      const value: unknown = Reflect.get(owner, key)
      return typeof value === 'function' ? value.bind(owner) : value
    },
  }) as Page & App

const page = async (
  href = '',
  answers: Parameters<typeof fakePlatform>[0] = {},
  beforeStart: (app: Page & App, fake: ReturnType<typeof fakePlatform>) => void = () => {},
) => {
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
    'GET /api/config/problems': () => ({ problems: [], guards: [], changed: null, ignored: [] }),
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
    [QUEUE]: () => ({ ok: true, queued: [], stream_id: null }),
    [STEER]: () => ({ ok: true, accepted: true }),
    ...answers,
  })
  const left: string[] = []
  const frames = { isHeld: false, held: [] as (() => void)[] }
  const nextFrame = (run: () => void) => void (frames.isHeld ? frames.held.push(run) : run())
  const {
    page: opened,
    stream,
    start,
  } = createPage({ ...fake.platform, nextFrame }, href, { navigate: url => left.push(url) })
  const app = shown(opened)
  beforeStart(app, fake)
  await start()
  await settle()
  let n = 10
  const say = (source: string, type: string, data: unknown, place: object = {}) => {
    n += 1
    stream.onFrame({ source, n, type, data, ...place } as unknown as Frame)
  }
  return {
    ...fake,
    app,
    frames,
    left,
    sessions,
    standing: stream.subscriptions,
    connect: (state: Parameters<StreamListener['onState']>[0]) => stream.onState(state),
    say,
    row: (id: string, patch = {}) => {
      n += 1
      stream.onFrame(rowFrame(n, fakeRow(id, patch)))
    },
    turn: (type: string, data: object = {}) => say('session:a', type, data),
    submit: async (text: string) => {
      app.composer.draft.edit(text)
      await app.composer.submit()
      await settle()
    },
    texts: () => app.chat.transcript.chat.value.messages.map(({ content }) => content),
    said: () => app.shell.toasts.list.value.at(-1)?.text,
  }
}
const START = 'POST /api/chat/start'
const QUEUE = 'POST /api/queue/add'
const STEER = 'POST /api/chat/steer'
const started = {
  session_id: 'a',
  stream_id: 'f',
  model: 'm1',
  provider: 'p',
  started_at: 1,
}

const test = suite('page')

test('on a phone the open chat is requested before the lists; a chat that stalls does not keep them away', async () => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<object>()
  const started = Promise.withResolvers<ReturnType<typeof fakePlatform>>()
  const opening = page('session/a', { 'GET /api/session': () => arrived }, (app, fake) => {
    app.shell.layout.narrow.value = true
    started.resolve(fake)
  })
  const { clock, service } = await started.promise
  const { of } = service
  await settle()
  assert.equal([of('GET /api/session').length, of('GET /api/sessions').length], [1, 0])
  await clock.advance(2_000)
  await settle()
  assert.is(of('GET /api/sessions').length, 1)
  arrive({ session: fakeSession('a', { cursor: 'aaaaaaaa-10' }) })
  const { app } = await opening
  assert.is(app.chat.transcript.state.value, 'ready')
})

test('the message that a chat needs input ends with its question: answered, timed out, or gone while the page was not connected', async () => {
  const { app, say, service } = await page('')
  let n = 0
  const texts = () => app.shell.toasts.list.value.map(({ text }) => text)
  const ask = () => {
    n += 1
    const data = { clarify_id: `c${n}`, session_id: 'a', question: '?', choices_offered: [] }
    say('inbox', 'asked', { kind: 'clarify', ...data, requested_at: 1 })
    assert.equal(texts(), ['Needs your input: Title a'])
    app.shell.toasts.pauseTimers()
  }
  ask()
  say('inbox', 'settled', { id: 'other', session_id: 'a', answer: 'x' })
  assert.is(texts().length, 1)
  say('inbox', 'settled', { id: 'c1', session_id: 'a', answer: 'x' })
  assert.equal(texts(), [])
  ask()
  say('inbox', 'settled', { id: 'c2', session_id: 'a', answer: '', reason: 'timeout' })
  assert.equal(texts(), [])
  ask()
  const asked = [...app.inbox.open.value.values()]
  service.answers['GET /api/inbox'] = () => ({ questions: asked, cursor: 'aaaaaaaa-90' })
  await app.inbox.load()
  assert.is(texts().length, 1)
  service.answers['GET /api/inbox'] = () => ({ questions: [], cursor: 'aaaaaaaa-91' })
  await app.inbox.load()
  assert.equal(texts(), [])
})

test('two chats side by side: one address, no session twice, a deleted one closes its side', async () => {
  const { app, sessions, say, service, left } = await page('session/a?beside=b')
  sessions.set('b', {}).set('c', {})
  const second = openSecond(app)
  await settle()
  assert.is(second.openChat.value.sessionId.value, 'b')

  const answer = { message: message('m1', 'assistant', 'for b') }
  say('session:b', 'message', answer)
  assert.is(second.openChat.value.transcript.chat.value.messages.length, 1)
  assert.is(app.chat.transcript.chat.value.messages.length, 0)

  app.shell.route.openSession('b')
  assert.is(app.active.value, second.app.value)
  second.route.openSession('a')
  assert.is(app.active.value, app.first.app.value)
  assert.equal([app.shell.route.sessionId.value, app.shell.route.beside.value], ['a', 'b'])

  // The sidebar acts on the active side, also by its links.
  second.route.follow('http://host/any/path/session/c')
  await settle()
  assert.equal([app.shell.route.sessionId.value, app.shell.route.beside.value], ['a', 'c'])
  app.shell.route.readLocation('http://host/any/path/session/c?beside=c')
  assert.is(app.shell.route.beside.value, null)
  app.shell.route.openSession('a')
  app.shell.route.openBeside('c')
  await settle()
  say('list', 'gone', { session_id: 'c' })
  assert.equal([app.shell.route.sessionId.value, app.shell.route.beside.value], ['a', null])

  // The draft of a closed side was stored; a closed side is not subscribed to.
  app.shell.route.openBeside('b')
  await settle()
  second.openChat.value.draft.edit('half')
  second.layout.closeSide.value?.()
  await settle()
  assert.is(app.shell.route.beside.value, null)
  assert.is(service.of('POST /api/session/draft').at(-1)?.text, 'half')
  say('session:b', 'message', answer)
  assert.is(second.openChat.value.transcript.chat.value.messages.length, 0)
  assert.equal(left, [])
})

test('a list that was asked for before an event does not overwrite it', async () => {
  const held = Promise.withResolvers<object>()
  let list: () => object = () => ({ sessions: [fakeRow('a')], cursor: 'aaaaaaaa-10' })
  const { app, row } = await page('', { 'GET /api/sessions': () => list() })
  list = () => held.promise
  const loading = app.sidebar.reload()
  row('a', { title: 'New title' })
  held.resolve({ sessions: [fakeRow('a', { is_streaming: true })], cursor: 'aaaaaaaa-10' })
  await loading
  const { title, is_streaming } = app.sessions.row('a')!
  assert.equal([title, is_streaming], ['New title', false])
})

test('Retry now names the running turn and what the page has seen of it', async () => {
  const reply = { ok: true, retried: true }
  const { app, turn, say, service, said } = await page('session/a', {
    'POST /api/chat/retry': () => reply,
  })
  await app.chat.turns.retryNow()
  assert.equal(service.of('POST /api/chat/retry'), [])
  say('session:a', 'turn_started', started, { stream: 'f', pos: 1 })
  const data = { message_id: 'm2', attempt: 1, attempts: 4, delay_ms: 9e5, message: 'Slow' }
  say('session:a', 'retry', data, { stream: 'f', pos: 2 })
  await app.chat.turns.retryNow()
  assert.equal(service.of('POST /api/chat/retry'), [{ stream_id: 'f', pos: 2 }])
  assert.is(said(), undefined)
  reply.retried = false
  await app.chat.turns.retryNow()
  assert.is(said(), 'Already retried, or the answer has ended.')
  turn('cancel', { message: '' })
})

test('shows a missing chat', async () => {
  const { app } = await page('session/zzz')
  assert.is(app.chat.transcript.state.value, 'missing')
  assert.is(app.pane.title.value, 'Chat not found · Bot')
})

test('the title of the tab has a mark when another chat has finished, until it is opened', async () => {
  let rows = [fakeRow('a'), fakeRow('b')]
  const { app } = await page('session/a', {
    'GET /api/sessions': () => ({ sessions: rows, cursor: 'aaaaaaaa-10' }),
  })
  assert.is(app.pane.title.value, 'Title a · Bot')
  // Far in the future: after this page was loaded.
  const later = { updated_at: 4e9, message_count: 4 }
  rows = [fakeRow('a'), fakeRow('b', { ...later, is_streaming: true })]
  await app.sessions.load()
  assert.is(app.pane.title.value, 'Title a · Bot')
  rows = [fakeRow('a'), fakeRow('b', later)]
  await app.sessions.load()
  assert.is(app.pane.title.value, '• Title a · Bot')
  app.sidebar.unread.markRead(rows[1]!)
  assert.is(app.pane.title.value, 'Title a · Bot')
})

test('keeps the row of an open session until it is deleted', async () => {
  let isDeleted = false
  const { app } = await page('session/old', {
    'GET /api/session': ({ session_id: id }) => {
      if (isDeleted) throw new ApiError(404, 'Session not found')
      return { session: fakeSession(String(id), { cursor: 'aaaaaaaa-10', title: 'Nightly' }) }
    },
  })
  assert.is(app.sessions.row('old')?.title, 'Nightly')
  await app.sessions.load()
  assert.is(app.sessions.row('old')?.title, 'Nightly')
  // Deleted elsewhere while this page was not connected.
  isDeleted = true
  await app.chat.transcript.reload()
  await app.sessions.load()
  assert.is(app.sessions.row('old'), undefined)
})

test('shows a sent message at once and replaces it with the stored one', async () => {
  const { submit, turn, texts, app, service } = await page('session/a')
  await submit('hello')
  assert.equal([texts(), app.chat.transcript.busy.value], [['hello'], true])
  assert.equal(unnamed(service.of(START)), [{ session_id: 'a', message: 'hello' }])
  turn('turn_started', started)
  const client_message_id = service.of(START)[0]?.client_message_id
  turn('message', { message: { ...message('m1', 'user', 'hello'), client_message_id } })
  assert.equal(texts(), ['hello'])
  assert.is(app.chat.transcript.chat.value.messages[0]?.id, 'm1')
  turn('message', { message: message('m2', 'assistant', 'hi') })
  turn('done', { usage: emptyUsage, message_ids: [] })
  assert.equal([texts(), app.chat.transcript.busy.value], [['hello', 'hi'], false])
})

test('a message names the draft that it was; sending saves no empty one over that of another device', async () => {
  const { app, service, sessions, clock } = await page()
  const composer_draft = { text: 'from the phone', files: [], client_message_id: 'phone-123' }
  sessions.set('a', { composer_draft })
  app.shell.route.openSession('a')
  await settle()
  assert.is(app.composer.draft.text.value, 'from the phone')
  app.composer.draft.edit('from the phone, and here')
  await clock.advance(600)
  const [saved] = service.of('POST /api/session/draft')
  await app.composer.submit()
  await clock.advance(60_000)
  await settle()
  const [sent] = service.of(START)
  assert.equal([sent?.client_message_id, sent?.draft], [saved?.client_message_id, 'phone-123'])
  assert.is(service.of('POST /api/session/draft').length, 1)
  app.composer.draft.edit('the next one')
  await clock.advance(600)
  const next = service.of('POST /api/session/draft')[1]
  assert.not.equal(next?.client_message_id, saved?.client_message_id)
})

test('a turn whose events arrive all at once leaves nothing running', async () => {
  const { submit, turn, app, service, frames } = await page('session/a')
  await submit('hello')
  frames.isHeld = true
  const client_message_id = service.of(START)[0]?.client_message_id
  turn('message', { message: { ...message('m1', 'user', 'hello'), client_message_id } })
  turn('turn_started', started)
  turn('message', { message: message('m2', 'assistant', 'hi') })
  turn('done', { usage: emptyUsage, message_ids: [] })
  for (const run of frames.held.splice(0)) run()
  assert.is(app.chat.transcript.busy.value, false)
})

test('the first message creates the session with the chosen model, workspace and personality', async () => {
  const { submit, app, service, standing } = await page()
  await app.chat.choices.chooseModel('m1')
  await app.chat.choices.chooseWorkspace('/w/one')
  await app.chat.choices.choosePersonality('calm')
  await submit('hello')
  assert.equal(service.of('POST /api/session/new'), [
    { model: 'm1', workspace: '/w/one', profile: 'default' },
  ])
  assert.equal(service.of('POST /api/personality/set'), [{ session_id: 'n', name: 'calm' }])
  assert.equal(unnamed(service.of(START)), [{ session_id: 'n', message: 'hello' }])
  assert.is(app.shell.route.sessionId.value, 'n')
  assert.equal([...standing().positions], [['n', 'aaaaaaaa-10']])
  assert.is(app.pane.title.value, 'New chat · Bot')
})

test('while a turn runs messages queue with the service, or steer it; what it refuses comes back', async () => {
  const { submit, turn, app, service, said } = await page('session/a')
  await submit('one')
  turn('turn_started', started)
  await submit('two')
  assert.equal(unnamed(service.of(QUEUE)), [{ session_id: 'a', message: 'two' }])
  app.composer.draft.edit('left')
  await app.composer.submit(true)
  assert.equal(unnamed(service.of(STEER)), [{ session_id: 'a', message: 'left', attachments: [] }])
  // The turn ended in between: it waits like the others.
  service.answers[STEER] = () => {
    throw new ApiError(409, 'There is no running turn to steer.')
  }
  app.composer.draft.edit('right')
  await app.composer.submit(true)
  assert.is(service.of(QUEUE).at(-1)?.message, 'right')
  service.answers[QUEUE] = () => {
    throw new ApiError(400, 'full', { code: 'queue_full' })
  }
  await submit('three')
  assert.equal([app.composer.draft.text.value, said()], ['three', 'full'])
})

test('shows the queue of the server, which sends the first message itself', async () => {
  const { turn, app, texts } = await page('session/a')
  const queued = [{ id: 'q1', text: 'two', attachments: [], at: 1 }]
  turn('queue', { session_id: 'a', queued })
  assert.equal(app.chat.transcript.chat.value.queued, queued)
  turn('turn_started', { ...started, stream_id: 'g' })
  turn('message', { message: message('m5', 'user', 'two') })
  turn('queue', { session_id: 'a', queued: [] })
  assert.equal([texts(), app.chat.transcript.chat.value.queued], [['two'], []])
})

test('streams a side question during the turn; its end has the full answer', async () => {
  const { turn, app } = await page('session/a')
  const aside = { stream_id: 'h', question: 'why?' }
  turn('aside', { ...aside, status: 'running' })
  turn('aside', { ...aside, status: 'running', text: 'Be' })
  turn('aside', { ...aside, status: 'running', text: 'cause' })
  assert.is(app.chat.transcript.chat.value.aside?.text, 'Because')
  turn('aside', { ...aside, status: 'done', answer: 'Because of that.' })
  assert.equal(
    [app.chat.transcript.chat.value.aside?.text, app.chat.transcript.chat.value.aside?.status],
    ['Because of that.', 'done'],
  )
  turn('aside', { ...aside, stream_id: 'i', status: 'running', text: 'No' })
  assert.equal(
    [app.chat.transcript.chat.value.aside?.text, app.chat.transcript.busy.value],
    ['No', false],
  )
})

test('ignores the end of an earlier turn', async () => {
  const { say, app } = await page('session/a')
  say('session:a', 'turn_started', started, { stream: 'f', pos: 1 })
  say('session:a', 'done', { usage: emptyUsage, message_ids: [] }, { stream: 'f', pos: 2 })
  say('session:a', 'turn_started', { ...started, stream_id: 'g' }, { stream: 'g', pos: 1 })
  say('session:a', 'stream_end', { session_id: 'a' }, { stream: 'f', pos: 3 })
  assert.is(app.chat.transcript.chat.value.live?.stream_id, 'g')
  say('session:a', 'stream_end', { session_id: 'a' }, { stream: 'g', pos: 2 })
  assert.is(app.chat.transcript.chat.value.live, null)
})

test('editing is one request; the chat is unchanged until it is accepted, and after a refusal', async () => {
  const { app, service, sessions, turn, texts } = await page()
  const messages = [message('m1', 'user', 'old'), message('m2', 'assistant', 'answer')]
  sessions.set('a', { messages, _messages_offset: 40 })
  app.shell.route.openSession('a')
  await settle()
  service.answers[START] = () => {
    throw new ApiError(429, 'Too many requests')
  }
  assert.is(await app.chat.turns.edit('m1', 'new'), false)
  assert.equal(texts(), ['old', 'answer'])
  service.answers[START] = () => ({ stream_id: 'f', session_id: 'a' })
  assert.is(await app.chat.turns.edit('m1', 'new'), true)
  const { client_message_id, ...sent } = service.of(START)[1]!
  assert.equal(sent, { session_id: 'a', message: 'new', replace: 'm1' })
  assert.equal(texts(), ['new'])
  const stored = { ...message('m3', 'user', 'new'), client_message_id }
  turn('message', { message: stored, replaces: 'm1' })
  assert.equal(
    app.chat.transcript.chat.value.messages.map(({ id }) => id),
    ['m3'],
  )
})

test('“Can’t reach the server” disappears when the connection is back, other messages stay', async () => {
  const { app, connect } = await page('session/a')
  app.shell.toasts.show('Can’t reach the server', { kind: 'error' })
  app.shell.toasts.show('Deleted')
  connect({ kind: 'waiting', retryAtMs: 0 })
  assert.is(app.shell.toasts.list.value.length, 2)
  connect({ kind: 'live' })
  assert.equal(
    app.shell.toasts.list.value.map(({ text }) => text),
    ['Deleted'],
  )
})

test('discards a late reply for another chat', async () => {
  const slow: ((value: unknown) => void)[] = []
  const { app } = await page('', {
    'GET /api/session': () => new Promise(resolve => slow.push(resolve)),
  })
  const first = app.first.show('a')
  const second = app.first.show('b')
  slow[1]!({ session: fakeSession('b', { title: 'B' }) })
  slow[0]!({ session: fakeSession('a', { title: 'A' }) })
  await Promise.all([first, second])
  assert.is(app.chat.transcript.chat.value.title, 'B')
})

test('the document title counts open questions of all chats', async () => {
  const { app, row, say } = await page('session/a')
  row('a', { title: 'Ask' })
  assert.is(app.pane.title.value, 'Ask · Bot')
  const question = { kind: 'clarify', clarify_id: 'q', session_id: 'b', question: 'Which?' }
  say('inbox', 'asked', { ...question, choices_offered: [], requested_at: 1 })
  assert.is(app.pane.title.value, '(1) Ask · Bot')
  say('inbox', 'settled', { id: 'q', session_id: 'b', answer: 'x' })
  assert.is(app.pane.title.value, 'Ask · Bot')
})

test('unknown commands are text for the agent', async () => {
  const { submit, service } = await page('session/a')
  for (const text of ['/nonsense', '/usr/bin is a path', '/compactor']) {
    assert.is(parseCommand(text), null)
  }
  await submit('/nonsense x')
  assert.is(service.of(START)[0]?.message, '/nonsense x')
})

test('runs every slash command', async () => {
  const { submit, app, service, said, left } = await page('session/a', {
    'GET /api/session/status': () => ({ session_id: 'a', agent_running: false }),
    'POST /api/session/undo': () => ({ error: 'Nothing to undo.' }),
    'POST /api/session/branch': () => ({ session_id: 'a' }),
    'POST /api/chat/interrupt': () => ({ ok: true, stream_id: 'g', session_id: 'a' }),
    'POST /api/btw': () => ({ stream_id: 'h', session_id: 'a', parent_session_id: 'a' }),
    'POST /api/background': () => ({ task_id: 'b', stream_id: 'i', session_id: 'b' }),
    'POST /api/session/yolo': () => ({ ok: true, yolo_enabled: true }),
    'POST /api/session/compress': () => ({
      session: { summaries: [{ n: 9, last: 'm7' }] },
      summary: { headline: 'Compressed: 20 → 6 messages' },
    }),
    'POST /api/session/uncompress': () => ({ ok: true }),
  })
  const says = async (text: string, expected: string | undefined) => {
    await submit(text)
    assert.is(said(), expected, text)
  }
  await says('/usage', 'Token usage on')
  await says('/theme nord', 'Theme: nord')
  await says('/theme', 'Themes: system, dark, light, mist, solarized, monokai, nord, and contrast')
  await says('/reasoning', 'Reasoning is shown, effort: Low')
  await says('/reasoning HIDE', 'Reasoning is hidden, effort: Low')
  await says('/reasoning high', 'Reasoning is shown, effort: High')
  await submit('/reasoning often')
  assert.match(said()!, 'Unknown effort')
  await says('/personality', 'Personalities: calm')
  await says('/personality calm', 'Personality: calm')
  await says('/personality none', 'No personality')
  await says('/model one', 'Model: Model One')
  await says('/model zzz', 'No model matches “zzz”')
  await says('/workspace one', 'Workspace: one')
  await says('/status', 'Title a: 2 messages, model Model One, idle')
  await says('/undo', 'Nothing to undo.')
  await says('/stop', 'Nothing is running')
  await says('/steer left', 'Nothing is running')
  await says('/queue', 'Usage: /queue <message>')
  await submit('/q later')
  assert.is(service.of(QUEUE)[0]?.message, 'later')
  await submit('/interrupt rather this')
  assert.is(service.of('POST /api/chat/interrupt')[0]?.message, 'rather this')
  await submit('/btw why?')
  assert.is(app.chat.queue.aside.value, 'h')
  await says('/bg look around', 'Running in the background')
  await says('/yolo', 'Auto-approve on. Blocked commands stay blocked.')
  assert.equal(service.of('POST /api/session/yolo'), [{ session_id: 'a', enabled: true }])
  await says('/compact the ark', 'Context compacted: 20 → 6 messages')
  assert.equal(service.of('POST /api/session/compress'), [{ session_id: 'a', topic: 'the ark' }])
  app.shell.toasts.list.value.at(-1)?.action?.run()
  await settle()
  assert.equal(service.of('POST /api/session/uncompress'), [{ session_id: 'a', n: 9 }])
  await says('/export pdf', 'Usage: /export md, json or html')
  await submit('/export json')
  assert.equal(left, ['http://host/any/path/api/session/export?session_id=a&format=json'])
  await submit('/title My name')
  assert.equal(service.of('POST /api/session/rename'), [{ session_id: 'a', title: 'My name' }])
  await submit('/model')
  assert.is(app.shell.layout.picker.value, 'model')
  await submit('/help')
  assert.ok(app.shell.layout.shortcutsOpen.value)
  await says('/clear', 'View emptied. Reload to see the messages again.')
  await submit('/branch')
  assert.is(service.of('POST /api/session/branch').length, 1)
  await submit('/new')
  assert.is(app.shell.route.sessionId.value, null)
  await says('/title x', 'Start a chat first')
  assert.is(service.of(START).length, 0)
  assert.equal(new Set(commands.map(({ name }) => name)).size, commands.length)
})

test('/clear empties the view only, until something is jumped to', async () => {
  const { submit, app, service, sessions, texts } = await page('session/a')
  const messages = [
    { id: 'm1', role: 'user', content: 'hello' },
    { id: 'm2', role: 'assistant', content: 'hi' },
  ]
  sessions.set('a', { messages })
  await app.chat.transcript.reload()
  assert.equal(texts(), ['hello', 'hi'])
  await submit('/clear')
  assert.equal([texts(), app.chat.transcript.messages.countBefore('m2')], [[], 1])
  await app.chat.transcript.reload()
  assert.equal(texts(), [])
  assert.equal(await app.chat.transcript.messages.loadUntil('m1'), true)
  assert.equal(texts(), ['hello', 'hi'])
  assert.is(service.of('POST /api/session/clear').length, 0)
})

test('a new chat that was left while many others were opened is still the one that is created', async () => {
  const { app, submit, sessions, texts } = await page()
  for (let n = 0; n < 30; n += 1) {
    sessions.set(`s${n}`, {})
    app.shell.route.openSession(`s${n}`)
    await settle()
  }
  app.shell.route.openSession(null)
  await settle()
  await submit('hello')
  assert.equal(
    [app.shell.route.sessionId.value, app.chat.transcript.sessionId.value, texts()],
    ['n', 'n', ['hello']],
  )
})

test('a message that is being edited keeps its text and its files while many other chats are opened', async () => {
  const { app, sessions } = await page('session/a')
  sessions.set('a', { messages: [{ id: 'm1', role: 'user', content: 'first' }] })
  const files = [{ name: 'log.txt', chars: 9_000 }]
  const editing = [{ id: 'm1', text: 'half edited', files, uploads: 0 }]
  app.chat.transcript.editing.value = editing
  for (let n = 0; n < 30; n += 1) {
    sessions.set(`s${n}`, {})
    app.shell.route.openSession(`s${n}`)
    await settle()
  }
  app.shell.route.openSession('a')
  await settle()
  assert.equal(app.chat.transcript.editing.value, editing)
})

/** A message is on its way in a new chat on the other side; `create` answers the request for its session. */
const sendBeside = async () => {
  const created = Promise.withResolvers<object>()
  const { app } = await page('session/a?beside=', {
    'POST /api/session/new': () => created.promise,
  })
  const second = openSecond(app)
  await settle()
  const { composer, draft } = second.openChat.value
  draft.edit('hello')
  const sent = composer.submit()
  await settle()
  const create = async () => {
    created.resolve({ session: fakeRow('n') })
    await sent
    await settle()
  }
  return { app, second, create }
}

test('the session of a chat on the other side is created: the person stays where they went meanwhile', async () => {
  const { app, create } = await sendBeside()
  app.shell.route.go({ view: 'settings', section: 'general' })
  await create()
  assert.equal(
    [app.shell.route.current.value.view, app.shell.route.beside.value],
    ['settings', 'n'],
  )
})

test('a side that was closed while its session is created stays closed', async () => {
  const { app, second, create } = await sendBeside()
  second.layout.closeSide.value?.()
  await settle()
  await create()
  assert.is(app.shell.route.beside.value, null)
  // Opened again, it is another new chat.
  app.shell.route.openBeside('')
  await settle()
  assert.is(second.openChat.value.sessionId.value, '')
})

test('a new chat whose session was created elsewhere and that was opened since is no new chat any more', async () => {
  const created = Promise.withResolvers<object>()
  const { app, sessions } = await page('', { 'POST /api/session/new': () => created.promise })
  const ensured = app.chat.choices.ensureSession()
  app.shell.route.openSession('a')
  await settle()
  sessions.set('n', {})
  created.resolve({ session: fakeRow('n') })
  await ensured
  app.shell.route.openSession('n')
  await settle()
  app.composer.draft.edit('half a thought')
  app.pane.newChat()
  await settle()
  assert.equal([app.shell.route.sessionId.value, app.composer.draft.text.value], [null, ''])
})

test('New chat returns to the one that was begun, also when its session was created meanwhile: address and chat agree', async () => {
  const created = Promise.withResolvers<object>()
  const { app, sessions } = await page('', { 'POST /api/session/new': () => created.promise })
  app.composer.draft.edit('half a thought')
  const ensured = app.chat.choices.ensureSession()
  app.shell.route.openSession('a')
  await settle()
  sessions.set('n', {})
  created.resolve({ session: fakeRow('n') })
  await ensured
  app.pane.newChat()
  await settle()
  const { sessionId } = app.first.openChat.value
  assert.equal([app.shell.route.sessionId.value, sessionId.value], ['n', 'n'])
  assert.is(app.composer.draft.text.value, 'half a thought')
})

test.run()
