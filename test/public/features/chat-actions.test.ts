/**
 * What a person does in a chat stays in that chat: each action, with each of its requests held while another chat is opened, and
 * each of its requests refused. Generated from the table of actions.
 */
import { withEdit } from '../../../public/features/messages/editing.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ApiError } from '../../../public/api.ts'
import type { App, Page } from '../../../public/app.ts'
import { messageOf } from '../../../lib/base/draft-message.ts'
import type { Approval } from '../../../lib/schema/question.ts'
import { answerWithToast } from '../../../public/features/approvals/answer.ts'
import { showFilesAfter } from '../../../public/features/time-travel/open-past.ts'
import { editWaiting } from '../../../public/features/queue/outbox-list.tsx'
import { steeringActions } from '../../../public/features/queue/actions.ts'
import type { Frame } from '../../../lib/schema/event.ts'
import { createPage } from '../_open-page.ts'
import { fakeMemory, fakePlatform, fakeRow, fakeSession, settle } from '../_page.ts'

type Input = Record<string, unknown>
type StoredSession = {
  messages: Message[]
  queued: Input[]
  draft: Input
  fields: Input
  live: unknown
}
type Message = { id: string; role: string; content: string; [key: string]: unknown }

const say = (id: string, role: string, content: string): Message => ({ id, role, content })

const ALL_PAGES = {
  'GET /api/settings': () => ({ bot_name: 'Bot', webui_version: '1', auth_enabled: false }),
  'GET /api/profile/active': () => ({ name: 'default', path: '/' }),
  'GET /api/models': () => ({
    active_provider: 'p',
    default_model: 'm1',
    groups: [{ provider: 'P', provider_id: 'p', models: [{ id: 'm1', label: 'Model One' }] }],
  }),
  'GET /api/reasoning': () => ({ show_reasoning: true, reasoning_effort: 'low' }),
  'GET /api/workspaces': () => ({ workspaces: [{ path: '/w/one', name: 'one' }], last: '/w' }),
  'POST /api/workspaces/add': () => ({ ok: true, workspaces: [] }),
}

/** The sessions `a` and `b`, and those that are created, for all pages that are open. */
const createServer = () => {
  const sessions = new Map<string, StoredSession>()
  const readers = new Set<(frame: Frame) => void>()
  let n = 10
  const add = (id: string, messages: Message[] = []): void => {
    const draft = { text: '', files: [] }
    sessions.set(id, { messages, queued: [], draft, fields: {}, live: null })
  }
  for (const id of ['a', 'b'])
    add(id, [
      say('m1', 'user', `first of ${id}`),
      say('m2', 'assistant', `answer of ${id}`),
      say('m3', 'user', `second of ${id}`),
      say('m4', 'assistant', `last of ${id}`),
    ])
  sessions.get('b')!.draft = { text: 'half of b', files: ['b.txt'] }

  const of = (id: unknown): StoredSession => {
    const found = sessions.get(String(id))
    if (!found) throw new ApiError(404, 'Session not found', { code: 'session_not_found' })
    return found
  }
  const tell = (source: string, type: string, data: unknown, more: object = {}): void => {
    n += 1
    for (const read of readers) read({ source, n, type, data, ...more } as unknown as Frame)
  }
  const row = (id: unknown) => {
    n += 1
    return { session: fakeRow(String(id), { ...of(id).fields, seq: n }) }
  }
  const patch = ({ session_id: id, ...fields }: Input) => {
    Object.assign(of(id).fields, fields)
    return row(id)
  }
  const queue = (id: unknown, change: (list: Input[]) => Input[]) => {
    const record = of(id)
    record.queued = change(record.queued)
    tell(`session:${id}`, 'queue', { queued: record.queued })
    return { ok: true, queued: record.queued, stream_id: null }
  }
  const start = (input: Input) => {
    const { session_id: id, message: content, client_message_id, replace, attachments } = input
    const record = of(id)
    const isKnown = record.messages.some(one => one.client_message_id === client_message_id)
    if (isKnown) return { stream_id: 's', session_id: id, repeated: true }
    if (record.live) throw new ApiError(409, 'busy', { code: 'session_busy' })
    const at = record.messages.findIndex(one => one.id === replace)
    if (replace !== undefined && at < 0)
      throw new ApiError(404, 'gone', { code: 'message_not_found' })
    const message = {
      ...say(`m${record.messages.length + 10}`, 'user', String(content)),
      client_message_id,
      ...(attachments ? { attachments } : {}),
    }
    record.messages = [...(at < 0 ? record.messages : record.messages.slice(0, at)), message]
    tell(`session:${id}`, 'message', { message, ...(replace ? { replaces: replace } : {}) })
    tell(`session:${id}`, 'turn_started', {
      session_id: id,
      stream_id: 's',
      model: '',
      provider: '',
      started_at: 1,
    })
    tell(`session:${id}`, 'stream_end', { session_id: id }, { stream: 's' })
    return { stream_id: 's', session_id: id }
  }
  const answers: Record<string, (input: Input) => unknown> = {
    ...ALL_PAGES,
    'GET /api/commands': () => ({ commands: [] }),
    'GET /api/config/problems': () => ({ problems: [], guards: [], changed: null, ignored: [] }),
    'GET /api/projects': () => ({ projects: [] }),
    'GET /api/personalities': () => ({ personalities: [{ name: 'calm', description: '' }] }),
    'POST /api/personality/set': input => {
      patch({ session_id: input.session_id, personality: input.name || null })
      return { ok: true, personality: input.name || null }
    },
    'GET /api/sessions': () => ({
      sessions: [...sessions].map(([id, { fields }]) => fakeRow(id, fields)),
      cursor: `aaaaaaaa-${n}`,
    }),
    'GET /api/session': ({ session_id: id }) => {
      const { messages, queued, draft, fields } = of(id)
      return {
        session: fakeSession(String(id), {
          ...{ messages, queued, composer_draft: draft, ...fields },
          cursor: `aaaaaaaa-${n}`,
        }),
      }
    },
    'GET /api/inbox': () => ({ questions: [], cursor: `aaaaaaaa-${n}` }),
    'POST /api/session/new': () => {
      if (!sessions.has('n')) add('n')
      return { session: fakeRow('n', { title: 'Untitled', message_count: 0 }) }
    },
    'POST /api/session/draft': ({ session_id: id, ...draft }) => {
      of(id).draft = draft
      return { ok: true }
    },
    'POST /api/upload': ({ session_id: id, name, size }) => {
      of(id)
      return { filename: name, path: `/w/${name}`, size, mime: 'text/plain' }
    },
    'POST /api/session/update': patch,
    'POST /api/session/rename': patch,
    'POST /api/session/pin': patch,
    'POST /api/session/archive': patch,
    'POST /api/session/mode': ({ session_id: id, mode }) => ({
      ok: true,
      ...patch({ session_id: id, mode }),
    }),
    'POST /api/session/yolo': ({ session_id: id, enabled }) => ({
      ok: true,
      yolo_enabled: enabled,
      ...patch({ session_id: id, yolo: enabled }),
    }),
    'POST /api/session/branch': ({ session_id: id }) => {
      add('c', of(id).messages)
      return { session_id: 'c' }
    },
    'POST /api/session/duplicate': ({ session_id: id }) => {
      add('c', of(id).messages)
      return row('c')
    },
    'POST /api/session/undo': ({ session_id: id }) => {
      of(id).messages = of(id).messages.slice(0, -2)
      tell(`session:${id}`, 'reset', {})
      return { ok: true, removed_preview: 'second' }
    },
    'POST /api/session/clear': ({ session_id: id }) => {
      of(id).messages = []
      tell(`session:${id}`, 'reset', {})
      return row(id)
    },
    'POST /api/session/version': ({ session_id: id, message_id: shown }) => {
      of(id).messages = [say(String(shown), 'user', 'an earlier version')]
      tell(`session:${id}`, 'reset', {})
      return row(id)
    },
    'GET /api/rollback/list': () => ({ checkpoints: [] }),
    'POST /api/session/delete': ({ session_id: id }) => {
      of(id)
      sessions.delete(String(id))
      tell('list', 'gone', { session_id: id })
      return { ok: true }
    },
    'POST /api/session/compress': ({ session_id: id }) => ({
      session: { ...fakeSession(String(id)), summaries: [] },
      summary: { headline: 'Compressed: 20 → 6 messages' },
    }),
    'GET /api/session/status': ({ session_id: id }) => ({ session_id: id, agent_running: false }),
    'POST /api/chat/start': start,
    'POST /api/chat/cancel': () => ({ ok: true, cancelled: true }),
    'POST /api/chat/steer': ({ session_id: id }) => ({ ok: true, accepted: Boolean(of(id)) }),
    'POST /api/chat/interrupt': ({ session_id: id }) =>
      of(id) && { ok: true, stream_id: 'i', session_id: id },
    'POST /api/btw': ({ session_id: id }) =>
      of(id) && { stream_id: 'h', session_id: id, parent_session_id: id },
    'POST /api/background': ({ session_id: id }) =>
      of(id) && { task_id: 't', stream_id: 'i', session_id: 'b' },
    'POST /api/approval/respond': () => ({ ok: true, accepted: true, answer: null }),
    'POST /api/queue/add': ({ session_id: id, message, attachments = [], client_message_id }) =>
      queue(id, list => [
        ...list,
        { id: 'q1', text: message, attachments, at: 1, client_message_id },
      ]),
    'POST /api/queue/remove': ({ session_id: id, id: item }) => {
      const removed = of(id).queued.find(one => one.id === item)
      return { ...queue(id, list => list.filter(one => one.id !== item)), removed }
    },
    'POST /api/queue/send': ({ session_id: id, id: item }) =>
      queue(id, list => list.filter(one => one.id !== item)),
    'POST /api/queue/reorder': ({ session_id: id }) => queue(id, list => list.toReversed()),
  }
  return { sessions, answers, readers, tell, add }
}

type Server = ReturnType<typeof createServer>
type Hold = {
  route: string
  at: number
  until: Promise<void>
  begun: () => void
  fails?: Error
  /** The request arrives, its reply does not. */
  isReached?: boolean
}

type Memory = ReturnType<typeof fakeMemory>
/** What the page that is loaded again finds. */
type Opened = { hold?: Hold; storage?: Memory; tab?: Memory }

/** A request that is held until `release`; `begun` when it was made. */
const holdAt = (route: string, at: number, more: Pick<Hold, 'fails' | 'isReached'> = {}) => {
  const [begun, until] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const hold: Hold = { route, at, until: until.promise, begun: begun.resolve, ...more }
  return { hold, begun: begun.promise, release: until.resolve }
}

const openPage = async (
  server: Server,
  href: string,
  { hold, storage = fakeMemory(), tab = fakeMemory() }: Opened = {},
) => {
  let count = 0
  const answers = Object.fromEntries(
    Object.entries(server.answers).map(([route, answer]) => [
      route,
      async (input: Input) => {
        if (hold?.route === route && ++count === hold.at) {
          const reply = hold.isReached && (await answer(input))
          hold.begun()
          await hold.until
          if (hold.fails) throw hold.fails
          if (hold.isReached) return reply
        }
        return answer(input)
      },
    ]),
  )
  const fake = fakePlatform(answers)
  const platform = { ...fake.platform, drafts: storage, tab }
  const { page, stream, start } = createPage(platform, href)
  const receive = (frame: Frame): void => {
    // The service sends what this page has subscribed to.
    const { positions: wanted } = stream.subscriptions()
    if (!frame.source.startsWith('session:') || wanted.has(frame.source.slice(8)))
      stream.onFrame(frame)
  }
  server.readers.add(receive)
  await start()
  await settle()
  return { page, fake, stream, storage, tab, close: () => server.readers.delete(receive) }
}

const show = async (page: Page, id: string | null): Promise<App> => {
  page.shell.route.openSession(id)
  await settle()
  return page.first.app.peek()
}

/** What a person sees of the shown chat, and what is stored of it. */
const viewOf = (page: Page, server: Server) => {
  const { transcript: chat, queue } = page.first.app.peek().chat
  const { draft: composer, attachments } = page.first.app.peek().composer
  const id = chat.sessionId.peek()
  const { messages, queued, live } = chat.chat.peek()
  const record = server.sessions.get(id)
  return structuredClone({
    id,
    state: chat.state.peek(),
    texts: messages.map(({ role, content }) => [role, content]),
    busy: chat.busy.peek(),
    live,
    queued: queued.map(({ text }) => text),
    aside: queue.aside.peek(),
    draft: [composer.text.peek(), [...composer.files.peek()]],
    uploads: attachments.list.peek().map(({ name, state }) => [name, state]),
    editing: chat.editing.peek()[0] ?? null,
    model: chat.details.peek()?.model,
    workspace: chat.details.peek()?.workspace,
    personality: chat.details.peek()?.personality,
    stored: record && {
      texts: record.messages.map(({ role, content }) => [role, content]),
      queued: record.queued.map(({ text }) => text),
      fields: record.fields,
    },
  })
}

type Action = {
  /** Before the first request is counted. */
  prepare?: (app: App, server: Server) => unknown
  run: (app: App) => unknown
  /** In a new chat. */
  isNew?: true
  /** Its GET requests are its own, too. */
  reads?: true
  /** It leaves the chat, and leads to another one when nobody has gone elsewhere. */
  leads?: true
  /** What was written, and must not be lost when a request is refused. */
  text?: string
  /** In the view after it, besides. */
  shows?: RegExp
  /** The message is sent once, whatever happens to the page and the connection. */
  sends?: string
}

const APPROVAL: Approval = {
  ...{ kind: 'approval', approval_id: '', session_id: 'a', command: 'rm x', description: '' },
  ...{ pattern_key: 'k', pattern_keys: ['k'], requested_at: 1 },
}
let approvals = 0

const file = (name: string) => new File(['x'], name)
const write = (app: App, text: string) => {
  app.composer.draft.edit(text)
  return app.composer.submit()
}
const running = (_: App, server: Server) => {
  server.tell('session:a', 'turn_started', {
    session_id: 'a',
    stream_id: 'r',
    model: '',
    provider: '',
    started_at: 1,
  })
  server.sessions.get('a')!.live = {}
}
const queuedUp = (_: App, server: Server) => {
  const item = (id: string) => ({ id, text: `waits ${id}`, attachments: [], at: 1 })
  const queued = [item('q1'), item('q2')]
  server.sessions.get('a')!.queued = queued
  server.tell('session:a', 'queue', { queued })
}

const ACTIONS: Record<string, Action> = {
  send: {
    run: app => write(app, 'new text'),
    text: 'new text',
    shows: /new text/,
    sends: 'new text',
  },
  'send with a file': {
    run: app => {
      app.composer.attachments.add([file('one.txt'), file('two.txt')])
      return write(app, 'look')
    },
    text: 'look',
    shows: /look.*one.txt.*two.txt/,
    sends: 'look',
  },
  'attach two files': {
    run: app => app.composer.attachments.add([file('one.txt'), file('two.txt')]),
    shows: /one.txt.*two.txt/,
  },
  edit: { run: app => app.chat.turns.edit('m3', 'edited'), shows: /edited/, sends: 'edited' },
  'retry the last': { run: app => app.chat.turns.retry() },
  'retry an earlier one': { run: app => app.chat.turns.retry('m2') },
  queue: {
    prepare: running,
    run: app => write(app, 'afterwards'),
    text: 'afterwards',
    shows: /afterwards/,
    sends: 'afterwards',
  },
  steer: {
    prepare: running,
    run: app => {
      app.composer.draft.edit('to the left')
      return app.composer.submit(true)
    },
    text: 'to the left',
  },
  stop: { prepare: running, run: app => app.chat.turns.stop() },
  'choose a model': { run: app => app.chat.choices.chooseModel('m1') },
  'choose a workspace': { run: app => app.chat.choices.chooseWorkspace('/w/one') },
  'choose a personality': { run: app => app.chat.choices.choosePersonality('calm') },
  rename: { run: app => write(app, '/title Another name') },
  undo: { run: app => write(app, '/undo') },
  'side question': { run: app => write(app, '/btw why?'), text: '/btw why?' },
  background: {
    run: app => write(app, '/background look around'),
    text: '/background look around',
  },
  interrupt: {
    prepare: running,
    run: app => write(app, '/interrupt rather this'),
    text: '/interrupt rather this',
  },
  'queue by command': { run: app => write(app, '/queue later'), text: '/queue later' },
  plan: { run: app => write(app, '/plan the move'), text: 'the move' },
  yolo: { run: app => write(app, '/yolo') },
  compact: { run: app => write(app, '/compact') },
  branch: { run: app => app.sessionActions.branch('a', 'm2'), leads: true },
  duplicate: { run: app => app.sessionActions.duplicate('a'), leads: true },
  pin: { run: app => app.sessions.pin('a', true) },
  archive: { run: app => app.sessionActions.archive('a', true) },
  'edit a queued message': {
    prepare: queuedUp,
    run: app => steeringActions.editQueued(app, 'a', 'q1'),
  },
  'remove a queued message': {
    prepare: queuedUp,
    run: app => steeringActions.removeQueued(app, 'a', 'q1'),
  },
  'send a queued message': {
    prepare: queuedUp,
    run: app => steeringActions.sendQueued(app, 'a', 'q1'),
  },
  'move a queued message': {
    prepare: queuedUp,
    run: app => steeringActions.moveUp(app, 'a', ['q1', 'q2'], 1),
  },
  'show another version': {
    run: app => app.chat.turns.showVersion('m3'),
    shows: /an earlier version/,
  },
  clear: {
    run: async app => {
      await app.sessionActions.confirmClear('a')
      const ask = app.shell.layout.confirmation.peek()
      app.shell.layout.confirmation.value = null
      await ask?.run()
    },
  },
  'allow a command': {
    run: app => answerWithToast(app.shell, { ...APPROVAL, approval_id: `${++approvals}` }, 'once'),
  },
  'paste a long text': {
    run: app => app.composer.attachments.longTexts.onPaste('long '.repeat(5_000)),
    shows: /pasted-text.txt/,
  },
  'the files after a step': { reads: true, run: app => showFilesAfter(app, 'c1') },
  'new chat: send': {
    isNew: true,
    run: app => write(app, 'hello'),
    text: 'hello',
    shows: /hello/,
    sends: 'hello',
  },
  'new chat: send with a file': {
    isNew: true,
    run: app => {
      app.composer.attachments.add([file('one.txt')])
      return write(app, 'with a file')
    },
    text: 'with a file',
    shows: /with a file.*one.txt/,
    sends: 'with a file',
  },
  'new chat: text and a file': {
    isNew: true,
    run: app => {
      app.composer.draft.edit('half a thought')
      app.composer.attachments.add([file('one.txt')])
    },
    text: 'half a thought',
  },
  'new chat: choices, then send': {
    isNew: true,
    prepare: async app => {
      await app.chat.choices.chooseModel('m1')
      await app.chat.choices.choosePersonality('calm')
    },
    run: app => write(app, 'chosen'),
    text: 'chosen',
    shows: /calm.*chosen/,
    sends: 'chosen',
  },
  'new chat: plan': { isNew: true, run: app => write(app, '/plan the move'), text: 'the move' },
}

/** What the pane shows besides its chat. */
const frameOf = ({ shell: { layout, route }, first }: Page) => ({
  focus: layout.composerFocus.peek(),
  picker: layout.picker.peek(),
  overlay: layout.overlay.peek() !== null,
  place: route.place.peek(),
  panel: [first.panel.isShown.peek(), first.panel.tab.peek()],
})

const READ = 'GET /api/session'
/** Requests that any open chat makes, whatever a person does. */
const isOfReading = (route: string) => route.startsWith('GET ')

const begin = async (action: Action, hold?: Hold) => {
  const server = createServer()
  const opened = await openPage(server, action.isNew ? '' : 'session/a', hold ? { hold } : {})
  const app = opened.page.first.app.peek()
  await action.prepare?.(app, server)
  await settle()
  return { server, app, ...opened, before: opened.fake.service.calls.length }
}

/** The action has begun, and waits for the request. */
const runHeld = async (
  action: Action,
  route: string,
  at: number,
  more: Pick<Hold, 'fails' | 'isReached'> = {},
  beforeRun: (app: App) => void = () => undefined,
) => {
  const { hold, begun, release } = holdAt(route, at, more)
  const opened = await begin(action, hold)
  beforeRun(opened.app)
  const done = Promise.resolve(action.run(opened.app))
  const ended = done.catch(() => undefined)
  await settle()
  void opened.page.first.openChat.peek().draft.save()
  await begun
  const end = async () => {
    release()
    await ended
    await settle()
  }
  return { ...opened, done, end }
}

/** The requests of an undisturbed action: route, and which one of its route since the page was opened. */
const requestsOf = async (action: Action): Promise<{ route: string; at: number }[]> => {
  const { app, fake, before, page } = await begin(action)
  await action.run(app)
  await settle()
  // What is saved after a pause belongs to it.
  await page.first.openChat.peek().draft.save()
  await settle()
  const { calls } = fake.service
  return calls.slice(before).flatMap(({ route }, index) =>
    isOfReading(route) && !action.reads
      ? []
      : [
          {
            route,
            at: calls.slice(0, before + index + 1).filter(one => one.route === route).length,
          },
        ],
  )
}

const undisturbed = async (action: Action) => {
  const { app, page, server } = await begin(action)
  await action.run(app)
  await settle()
  const session = page.first.openChat.peek().sessionId.peek() || null
  await show(page, 'b')
  if (!action.leads) await show(page, session)
  else await show(page, 'a')
  return viewOf(page, server)
}

const test = suite('actions of a chat')

/** What the other chat shows when nothing else was done. */
const other = async () => {
  const server = createServer()
  const { page } = await openPage(server, 'session/b')
  return viewOf(page, server)
}
const expectedOther = await other()

let cases = 0
for (const [name, action] of Object.entries(ACTIONS)) {
  const requests = await requestsOf(action)
  test(`${name}: does what it says`, async () => {
    assert.ok(requests.length > 0)
    const view = JSON.stringify(await undisturbed(action))
    if (action.shows) assert.match(view, action.shows)
  })
  for (const { route, at } of requests) {
    cases += 1
    test(`${name}: another chat is opened during ${route} (${at})`, async () => {
      const expected = await undisturbed(action)
      const { page, server, fake, done, end } = await runHeld(action, route, at)
      const key = page.first.openChat.peek()
      await show(page, 'b')
      const held = fake.service.calls.length
      const frame = frameOf(page)
      await end()
      await done
      assert.equal(viewOf(page, server), expectedOther)
      assert.equal(frameOf(page), frame)
      assert.is(page.shell.route.sessionId.peek(), 'b')
      for (const { route: later, input } of fake.service.calls.slice(held))
        if (!isOfReading(later)) assert.not.equal(input.session_id, 'b', later)
      // One comes back.
      await show(page, action.leads ? 'a' : key.sessionId.peek() || null)
      assert.equal(viewOf(page, server), expected)
    })
    test(`${name}: ${route} (${at}) is refused while another chat is open`, async () => {
      const fails = new ApiError(400, 'No', { code: 'invalid' })
      const { page, server, end } = await runHeld(action, route, at, { fails })
      const own = page.first.openChat.peek()
      await show(page, 'b')
      await end()
      assert.equal(viewOf(page, server), expectedOther)
      await show(page, own.sessionId.peek() || null)
      const { texts, draft, stored, queued } = viewOf(page, server)
      if (action.text)
        assert.match(JSON.stringify([texts, draft, queued, stored?.queued]), action.text)
      if (!action.isNew && name !== 'undo')
        assert.ok(texts.length >= 4, 'nothing that was written before is lost')
    })
  }
}
/** How often a text is with the server, and whether it is still to be seen in the page. */
const placesOf = (text: string, page: Page, server: Server) => {
  const records = [...server.sessions.values()]
  const stored = records.flatMap(({ messages, queued }) => [
    ...messages.map(({ content }) => content),
    ...queued.map(one => String(one.text)),
  ])
  const { transcript: chat } = page.first.app.peek().chat
  const { draft: composer } = page.first.app.peek().composer
  const outbox = page.first.app.peek().outbox
  const inPage = [
    composer.text.peek(),
    chat.editing.peek()[0]?.text ?? '',
    ...outbox.list
      .peek()
      .filter(({ state }) => state === 'waiting')
      .map(one => one.text),
  ]
  return {
    sent: stored.filter(content => content.includes(text)).length,
    isInPage: inPage.some(content => content.includes(text)),
  }
}

for (const [name, action] of Object.entries(ACTIONS)) {
  const { sends: text } = action
  if (text === undefined) continue
  for (const { route, at } of await requestsOf(action))
    for (const isReached of [true, false]) {
      const where = `${route} (${at}), which has ${isReached ? '' : 'not '}arrived`
      const lost = new ApiError(0, 'Can’t reach the server')
      test(`${name}: the page is loaded again during ${where}`, async () => {
        const { page, server, storage, tab, close } = await runHeld(action, route, at, {
          ...{ fails: lost, isReached },
        })
        // As when a page is left.
        for (const { draft } of page.chats.all()) void draft.save()
        await settle()
        close()
        const id = page.shell.route.sessionId.peek()
        const again = await openPage(server, id ? `session/${id}` : '', { storage, tab })
        await again.page.outbox.takeOver()
        await again.page.outbox.flush()
        await settle()
        const { sent, isInPage } = placesOf(text, again.page, server)
        assert.equal([sent, isInPage], sent > 0 ? [1, false] : [0, true])
      })
      test(`${name}: the connection is lost during ${where}`, async () => {
        const { page, server, done, end } = await runHeld(action, route, at, {
          ...{ fails: lost, isReached },
        })
        await end()
        await done
        await page.outbox.flush()
        await settle()
        const { sent, isInPage } = placesOf(text, page, server)
        assert.equal([sent, isInPage], sent > 0 ? [1, false] : [0, true])
      })
    }
}

for (const [name, action] of Object.entries(ACTIONS)) {
  const { text, sends } = action
  if (action.isNew || (text ?? sends) === undefined) continue
  for (const { route, at } of await requestsOf(action))
    for (const isShown of [true, false])
      test(`${name}: the chat is deleted elsewhere during ${route} (${at}), while ${isShown ? 'it' : 'another one'} is shown`, async () => {
        const { page, server, before, fake, end } = await runHeld(action, route, at, {}, app => {
          // Its editor is open until the message is accepted.
          if (name === 'edit')
            app.chat.transcript.editing.value = [
              { id: 'm3', text: 'edited', files: [], uploads: 0 },
            ]
        })
        if (!isShown) await show(page, 'b')
        server.sessions.delete('a')
        server.tell('list', 'gone', { session_id: 'a' })
        await settle()
        await end()
        if (!isShown) {
          assert.equal(viewOf(page, server), expectedOther)
          await show(page, 'a')
        }
        assert.is(page.first.app.peek().chat.transcript.state.peek(), 'missing')
        assert.ok(placesOf(text ?? sends!, page, server).isInPage, 'the text is kept')
        for (const { input } of fake.service.calls.slice(before))
          assert.is(input.session_id ?? 'a', input.session_id === 'b' ? 'b' : 'a')
      })
}

for (const [name, action] of Object.entries(ACTIONS)) {
  if (action.isNew || action.leads) continue
  test(`${name}: another device that shows the chat follows, and keeps what is written there`, async () => {
    const server = createServer()
    const other = await openPage(server, 'session/a')
    const { page } = await openPage(server, 'session/a')
    const [there, here] = [other.page, page].map(each => each.first.app.peek()) as [App, App]
    there.composer.draft.edit('of the other device')
    await there.composer.draft.save()
    await action.prepare?.(here, server)
    await settle()
    await action.run(here)
    await settle()
    const [seen, shown] = [viewOf(other.page, server), viewOf(page, server)]
    assert.equal(
      [seen.texts, seen.queued, seen.live, seen.busy],
      [shown.texts, shown.queued, shown.live, shown.busy],
    )
    assert.equal(seen.draft, ['of the other device', []])
  })
}

test('an older reply does not bring back what was undone on another device', async () => {
  const server = createServer()
  const { hold, begun, release } = holdAt(READ, 2, { isReached: true })
  const { page } = await openPage(server, 'session/a', { hold })
  const reading = page.first.app.peek().chat.transcript.reload()
  await begun
  server.answers['POST /api/session/undo']!({ session_id: 'a' })
  await settle()
  release()
  await reading
  await settle()
  const { texts, stored } = viewOf(page, server)
  assert.equal([texts, texts.length], [stored?.texts, 2])
})

const START = 'POST /api/chat/start'
const unreachable = () => {
  throw new ApiError(0, 'Can’t reach the server')
}

test('Edit on a version that waits opens the editor of its message again; it never becomes another message', async () => {
  const server = createServer()
  const { page, fake } = await openPage(server, 'session/a')
  const { [START]: start } = fake.service.answers
  fake.service.answers[START] = unreachable
  const app = page.first.app.peek()
  assert.ok(await app.chat.turns.edit('m3', 'edited', ['more.txt']))
  const waiting = () => page.outbox.list.peek().find(({ state }) => state === 'waiting')
  assert.is(waiting()?.replace, 'm3')
  // One that is being edited is not overwritten.
  app.chat.transcript.editing.value = [{ id: 'm3', text: 'half', files: [], uploads: 0 }]
  await editWaiting(app, waiting()!).catch(() => undefined)
  assert.equal([app.chat.transcript.editing.peek()[0]?.text, waiting()?.replace], ['half', 'm3'])
  app.chat.transcript.editing.value = []
  await editWaiting(app, waiting()!)
  const editing = { id: 'm3', text: 'edited', files: [{ name: 'more.txt' }], uploads: 0 }
  assert.equal([app.chat.transcript.editing.peek(), waiting()], [[editing], undefined])
  assert.is(app.composer.draft.text.peek(), '')
  fake.service.answers[START] = start!
  assert.ok(await app.chat.turns.edit('m3', 'edited again', ['more.txt']))
  await settle()
  assert.equal(
    viewOf(page, server).stored?.texts.map(([, content]) => content),
    ['first of a', 'answer of a', 'edited again\n\n[Attached files: more.txt]'],
  )
})

test('Edit on a version that waits whose message is gone puts the text into the composer', async () => {
  const server = createServer()
  server.answers[START] = unreachable
  const { page } = await openPage(server, 'session/a')
  const app = page.first.app.peek()
  await app.chat.turns.edit('m3', 'edited')
  server.sessions.get('a')!.messages.length = 2
  await app.chat.transcript.reload()
  await editWaiting(app, page.outbox.list.peek()[0]!)
  assert.equal([app.composer.draft.text.peek(), app.chat.transcript.editing.peek()], ['edited', []])
  assert.equal(page.outbox.list.peek(), [])
})

test('a chat that was left is released once its message is accepted, before or after that', async () => {
  for (const isLeftFirst of [true, false]) {
    const server = createServer()
    const { hold, begun, release } = holdAt(START, 1)
    const { page } = await openPage(server, 'session/a', { hold })
    // No event arrives.
    server.readers.clear()
    const left = page.first.openChat.peek()
    const sent = write(page.first.app.peek(), 'hello')
    await begun
    if (isLeftFirst) await show(page, 'b')
    assert.ok(left.isInUse())
    release()
    await sent
    await settle()
    assert.is(left.isInUse(), !isLeftFirst)
    await show(page, 'b')
    assert.equal([left.isInUse(), page.outbox.list.peek()], [false, []])
    await show(page, 'a')
    assert.is(viewOf(page, server).texts.at(-1)?.[1], 'hello')
  }
})

/** What is neither a message of the outbox nor shown any more while its request is under way. */
for (const [name, action] of Object.entries(ACTIONS)) {
  const { text, sends, isNew } = action
  if (text === undefined || sends !== undefined || isNew) continue
  const [first] = await requestsOf(action)
  for (const isLeft of [true, false])
    test(`${name}: the page is loaded again during its request, which has not arrived${isLeft ? '' : ', after it crashed'}`, async () => {
      const { route, at } = first!
      const { hold, begun } = holdAt(route, at)
      const { app, page, server, fake, storage, tab, close } = await begin(action, hold)
      void action.run(app)
      await begun
      if (isLeft) for (const { draft } of page.chats.all()) void draft.save()
      else await fake.clock.advance(1_000)
      await settle()
      close()
      const again = await openPage(server, 'session/a', { storage, tab })
      assert.match(again.page.first.app.peek().composer.draft.text.peek(), text)
    })
}

/** What removes the message that is being edited. */
const REMOVALS: Record<string, (app: App, server: Server) => unknown> = {
  'another device undoes it': (_, { answers }) =>
    answers['POST /api/session/undo']!({ session_id: 'a' }),
  'another device clears the chat': (_, { answers }) =>
    answers['POST /api/session/clear']!({ session_id: 'a' }),
  'another device shows another version': (_, { answers }) =>
    answers['POST /api/session/version']!({ session_id: 'a', message_id: 'm9' }),
  'another device replaces it': (_, { answers }) =>
    answers[START]!({ session_id: 'a', message: 'theirs', client_message_id: 'x', replace: 'm3' }),
  '/clear': app => write(app, '/clear'),
  '/undo': app => write(app, '/undo'),
}
for (const [what, remove] of Object.entries(REMOVALS))
  for (const isShown of [true, false])
    test(`the text of an editor is in the composer when its message is gone: ${what}${isShown ? '' : ', while another chat is shown'}`, async () => {
      const server = createServer()
      const { page } = await openPage(server, 'session/a')
      const app = page.first.app.peek()
      app.composer.draft.edit('half a thought')
      app.chat.transcript.editing.value = [
        {
          ...{ id: 'm3', text: 'reworded', uploads: 0 },
          files: [{ name: 'one.txt' }],
        },
      ]
      const isCommand = what.startsWith('/')
      if (isCommand) app.composer.draft.edit('')
      if (!isShown) await show(page, isCommand ? 'a' : 'b')
      await remove(app, server)
      await settle()
      if (!isShown) await show(page, 'a')
      const { draft, editing } = viewOf(page, server)
      const text = isCommand ? 'reworded' : 'reworded\n\nhalf a thought'
      assert.equal([draft, editing], [[text, ['one.txt']], null])
    })

test('an editor closes when its text is accepted, and stays with a refused one; a message further up stays in it', async () => {
  const server = createServer()
  const { hold, begun, release } = holdAt(START, 1, { isReached: true })
  const { page, fake } = await openPage(server, 'session/a', { hold })
  const app = page.first.app.peek()
  const open = () =>
    (app.chat.transcript.editing.value = [{ id: 'm3', text: 'new', files: [], uploads: 0 }])
  open()
  const sent = app.chat.turns.edit('m3', 'new')
  await begun
  // Its event is faster than the reply.
  assert.is(app.chat.transcript.editing.peek()[0]?.isSending, true)
  release()
  await sent
  assert.equal(viewOf(page, server).draft, ['', []])
  assert.equal(app.chat.transcript.editing.peek(), [])
  const { [START]: start } = fake.service.answers
  fake.service.answers[START] = () => {
    throw new ApiError(403, 'No', { code: 'budget' })
  }
  app.chat.transcript.editing.value = [{ id: 'm1', text: 'first again', files: [], uploads: 0 }]
  await app.chat.turns.edit('m1', 'first again')
  assert.equal(
    [app.chat.transcript.editing.peek()[0]?.text, app.chat.transcript.editing.peek()[0]?.isSending],
    ['first again', false],
  )
  fake.service.answers[START] = start!
})

test('a second message can be edited beside the first, and sending one leaves the other as it was written', async () => {
  const { page } = await openPage(createServer(), 'session/a')
  const app = page.first.app.peek()
  const { editing } = app.chat.transcript
  const first = { id: 'm1', text: 'half', files: [], uploads: 0 }
  const second = { id: 'm3', text: 'new', files: [], uploads: 0 }
  editing.value = withEdit(withEdit([], first), second)
  assert.ok(await app.chat.turns.edit('m3', 'new'))
  assert.equal(editing.peek(), [first])
})

test('a refused text whose editor is not open any more is in the composer', async () => {
  for (const other of [[], [{ id: 'm1', text: 'half', files: [], uploads: 0 }]]) {
    const server = createServer()
    const refusal = Promise.withResolvers<never>()
    server.answers[START] = () => refusal.promise
    const { page } = await openPage(server, 'session/a')
    const app = page.first.app.peek()
    app.chat.transcript.editing.value = [
      {
        ...{ id: 'm3', text: 'new', uploads: 0 },
        files: [{ name: 'one.txt' }],
      },
    ]
    const sent = app.chat.turns.edit('m3', 'new', ['one.txt'])
    await settle()
    app.chat.transcript.editing.value = other
    refusal.reject(new ApiError(403, 'No', { code: 'budget' }))
    assert.not(await sent)
    assert.equal(
      [viewOf(page, server).draft, app.chat.transcript.editing.peek()],
      [['new', ['one.txt']], other],
    )
  }
})

test('a version that waits overwrites no editor that was opened while it was taken back', async () => {
  const server = createServer()
  server.answers[START] = unreachable
  const { page } = await openPage(server, 'session/a')
  const app = page.first.app.peek()
  await app.chat.turns.edit('m3', 'edited')
  const taken = editWaiting(app, page.outbox.list.peek()[0]!)
  const editing = { id: 'm3', text: 'half', files: [], uploads: 0 }
  app.chat.transcript.editing.value = [editing]
  await taken
  assert.equal(
    [app.chat.transcript.editing.peek(), app.composer.draft.text.peek()],
    [[editing], 'edited'],
  )
})

test('a queued message that was taken back is in the composer and not in the queue, whatever reply is lost', async () => {
  for (const isReached of [true, false]) {
    const server = createServer()
    const { page, fake } = await openPage(server, 'session/a')
    const app = page.first.app.peek()
    queuedUp(app, server)
    await settle()
    const route = 'POST /api/queue/remove'
    const { [route]: remove } = fake.service.answers
    fake.service.answers[route] = async input => {
      if (isReached) await remove!(input)
      unreachable()
    }
    await steeringActions.editQueued(app, 'a', 'q1')
    fake.service.answers[route] = remove!
    await fake.clock.advance(60_000)
    await settle()
    const { draft, queued } = viewOf(page, server)
    assert.equal([draft, queued], [['waits q1', []], ['waits q2']], `${isReached}`)
  }
})

test('a queued message that another client has just changed is taken back as it is now', async () => {
  const server = createServer()
  const { page } = await openPage(server, 'session/a')
  const app = page.first.app.peek()
  queuedUp(app, server)
  await settle()
  const session = server.sessions.get('a')!
  session.queued = [{ ...session.queued[0]!, text: 'changed' }]
  await steeringActions.editQueued(app, 'a', 'q1')
  await settle()
  assert.equal(viewOf(page, server).draft, ['changed', []])
  assert.is(session.draft.text, 'changed')
})

test('a message removes no draft that another page of the browser has stored', async () => {
  for (const href of ['session/a', '']) {
    const server = createServer()
    const [storage, tab] = [fakeMemory(), fakeMemory()]
    const [here, other] = [
      await openPage(server, href, { storage, tab }),
      await openPage(server, href, { storage, tab }),
    ]
    for (const { fake } of [here, other])
      for (const route of [START, 'POST /api/session/new', 'POST /api/session/draft'])
        fake.service.answers[route] = unreachable
    const app = here.page.first.app.peek()
    app.composer.draft.edit('of this page')
    await app.composer.draft.save()
    other.page.first.app.peek().composer.draft.edit('of the other page')
    await other.page.first.app.peek().composer.draft.save()
    other.close()
    await app.composer.submit()
    await settle()
    const drafts = JSON.stringify([...storage.values].filter(([key]) => !key.startsWith('out:')))
    assert.match(drafts, 'of the other page')
    assert.not.match(drafts, 'of this page')
  }
})

test('a queued message that is being taken back is in the draft when the page is loaded again meanwhile', async () => {
  const server = createServer()
  const { hold, begun } = holdAt('POST /api/queue/remove', 1, { isReached: true })
  const { page, storage, tab, close } = await openPage(server, 'session/a', { hold })
  const app = page.first.app.peek()
  queuedUp(app, server)
  await settle()
  void steeringActions.editQueued(app, 'a', 'q1')
  await begun
  close()
  const again = await openPage(server, 'session/a', { storage, tab })
  const { draft, queued } = viewOf(again.page, server)
  assert.equal([draft, queued], [['waits q1', []], ['waits q2']])
})

test('a message names the stored draft that it began as, whose reply was not seen, and that draft is not shown while it waits', async () => {
  const server = createServer()
  const SAVE = 'POST /api/session/draft'
  const save = server.answers[SAVE]!
  server.answers[SAVE] = input => {
    save(input)
    return unreachable()
  }
  const first = await openPage(server, 'session/a')
  first.page.first.app.peek().composer.draft.edit('hello')
  await first.page.first.app.peek().composer.draft.save()
  first.close()
  const { storage, tab } = first
  const name = server.sessions.get('a')!.draft.client_message_id
  assert.ok(name)
  server.answers[START] = unreachable
  const second = await openPage(server, 'session/a', { storage, tab })
  await second.page.first.app.peek().composer.submit()
  assert.is(second.fake.service.of(START)[0]?.draft, name)
  second.close()
  const { page } = await openPage(server, 'session/a', { storage, tab })
  assert.equal(viewOf(page, server).draft, ['', []])
  assert.equal(
    page.outbox.list.peek().map(({ text }) => text),
    ['hello'],
  )
})

/** Everything that a message consists of, in each combination. */
const MESSAGES = ['an existing chat', 'a new chat', 'an edit'].flatMap(where =>
  [true, false].flatMap(hasFiles =>
    [true, false].map(hasComments => ({ where, hasFiles, hasComments })),
  ),
)
type Written = (typeof MESSAGES)[number]
const comment = { path: 'a.ts', removed: true, from: 1, to: 2, quote: '-a\n-b', text: 'Why?' }

const createBrokenServer = ({ hasFiles, hasComments }: Written) => {
  const server = createServer()
  const net = { isOnline: true, isRefused: false }
  for (const route of [START, 'POST /api/session/new', 'POST /api/session/draft']) {
    const answer = server.answers[route]!
    server.answers[route] = input => {
      if (!net.isOnline) unreachable()
      if (net.isRefused && route === START) throw new ApiError(403, 'No', { code: 'budget' })
      return answer(input)
    }
  }
  const given = server.sessions.get('a')!.messages[2]!
  if (hasFiles) given.attachments = ['old.txt']
  given.content = messageOf({
    text: 'second of a',
    files: hasFiles ? ['old.txt'] : [],
    comments: hasComments ? [comment] : [],
  })
  return { server, net }
}

const compose = async (app: App, { where, hasFiles, hasComments }: Written) => {
  const files = hasFiles ? ['one.txt', 'two.txt'] : []
  if (where === 'an edit') {
    app.chat.transcript.editing.value = [
      {
        ...{ id: 'm3', text: 'words', uploads: 0 },
        files: files.map(name => ({ name })),
      },
    ]
    return
  }
  if (where === 'a new chat') {
    await app.chat.choices.chooseModel('m1')
    await app.chat.choices.chooseWorkspace('/w/one')
    await app.chat.choices.choosePersonality('calm')
  }
  app.composer.draft.edit('words')
  for (const name of files) app.composer.draft.addFile(name)
  if (hasComments) app.composer.draft.addComment(comment)
}

const sendComposed = async (app: App) => {
  const [editing] = app.chat.transcript.editing.peek()
  if (!editing) return app.composer.submit()
  // As its editor does.
  const names = editing.files.map(({ name }) => name)
  if (await app.chat.turns.edit(editing.id, editing.text, names))
    app.chat.transcript.editing.value = []
}

type Opener = Awaited<ReturnType<typeof openPage>>
type Trip = (
  at: Opener & { net: { isOnline: boolean; isRefused: boolean } },
  server: Server,
) => unknown

const hrefOf = ({ where }: Written) => (where === 'a new chat' ? '' : 'session/a')
const takeBack = async ({ page }: Opener) => {
  const message = page.outbox.list.peek().find(({ state }) => state === 'waiting')
  assert.ok(message)
  await editWaiting(page.first.app.peek(), message)
}

const TRIPS: Record<string, (written: Written) => Trip | null> = {
  'Edit while it waits': () => async at => {
    at.net.isOnline = false
    await sendComposed(at.page.first.app.peek())
    await takeBack(at)
  },
  'a refusal': () => async at => {
    at.net.isRefused = true
    await sendComposed(at.page.first.app.peek())
  },
  'a reload, then Edit': written => async (at, server) => {
    at.net.isOnline = false
    await sendComposed(at.page.first.app.peek())
    const { storage, tab } = at
    Object.assign(at, await openPage(server, hrefOf(written), { storage, tab }))
    await takeBack(at)
  },
  'a reload before it is sent': written =>
    // What is written in the editor of a message is asked about before the page is left.
    written.where === 'an edit'
      ? null
      : async (at, server) => {
          await at.page.first.openChat.peek().draft.save()
          const { storage, tab } = at
          Object.assign(at, await openPage(server, hrefOf(written), { storage, tab }))
        },
  'the queue of the server, then Edit': written =>
    written.where !== 'an existing chat'
      ? null
      : async (at, server) => {
          const app = at.page.first.app.peek()
          running(app, server)
          await settle()
          await sendComposed(app)
          await settle()
          await steeringActions.editQueued(app, 'a', 'q1')
          server.sessions.get('a')!.live = null
          server.tell('session:a', 'stream_end', { session_id: 'a' }, { stream: 'r' })
          await settle()
        },
}

const SENDING = [START, 'POST /api/session/new', 'POST /api/personality/set']
const sentAfter = async (written: Written, trip: Trip = () => undefined) => {
  const { server, net } = createBrokenServer(written)
  const at = { ...(await openPage(server, hrefOf(written))), net }
  await compose(at.page.first.app.peek(), written)
  await trip(at, server)
  net.isOnline = true
  net.isRefused = false
  await settle()
  const { calls } = at.fake.service
  const { length } = calls
  const isCreated = at.page.first.openChat.peek().sessionId.peek() === 'n'
  await sendComposed(at.page.first.app.peek())
  await settle()
  return calls
    .filter(
      ({ route }, index) =>
        SENDING.includes(route) && (index >= length || (isCreated && route !== START)),
    )
    .map(({ route, input: { client_message_id: _, draft: __, ...input } }) => [route, input])
}

for (const [name, tripOf] of Object.entries(TRIPS))
  for (const written of MESSAGES) {
    const { where, hasFiles, hasComments } = written
    const trip = tripOf(written)
    if (!trip) continue
    const parts = `${hasFiles ? ' with files' : ''}${hasComments ? ' with comments' : ''}`
    test(`a message for ${where}${parts} is the same after ${name}`, async () => {
      const expected = await sentAfter(written)
      assert.is(expected.length, where === 'a new chat' ? 3 : 1)
      assert.equal(await sentAfter(written, trip), expected)
    })
  }

const READING = {
  'when it is opened': async (page: Page) => void (await show(page, 'a')),
  'after a reset': async (_: Page, server: Server) => {
    server.tell('session:a', 'reset', {})
    await settle()
  },
  'when its session has just been created': async (page: Page) => {
    await write(await show(page, null), 'hello')
    await settle()
  },
}
for (const [when, read] of Object.entries(READING))
  for (const isLive of [true, false])
    test(`a chat that could not be read ${when} is read again ${isLive ? 'with the connection' : 'after a while'}, with its events`, async () => {
      const server = createServer()
      const isOpen = when === 'after a reset'
      const { page, fake, stream } = await openPage(server, isOpen ? 'session/a' : 'session/b')
      const answer = fake.service.answers[READ]!
      fake.service.answers[READ] = unreachable
      await read(page, server)
      const id = page.first.openChat.peek().sessionId.peek()
      const add = (content: string) => {
        const message = say(`x${content}`, 'user', content)
        const record = server.sessions.get(id)!
        record.messages = [...record.messages, message]
        server.tell(`session:${id}`, 'message', { message })
      }
      add('meanwhile')
      await fake.clock.advance(60_000)
      fake.service.answers[READ] = answer
      if (isLive) stream.onState({ kind: 'live' })
      else await fake.clock.advance(60_000)
      await settle()
      add('afterwards')
      await settle()
      const { state, texts, stored } = viewOf(page, server)
      assert.is(state, 'ready')
      assert.equal(texts, stored?.texts)
      assert.equal(
        texts.slice(-2).map(([, text]) => text),
        ['meanwhile', 'afterwards'],
      )
      const { length } = fake.service.of(READ)
      await fake.clock.advance(300_000)
      assert.is(fake.service.of(READ).length, length, 'read once')
    })

test('a chat that is left, and one that is refused, is not read again', async () => {
  for (const status of [0, 403, 404]) {
    const server = createServer()
    const { page, fake, stream } = await openPage(server, 'session/b')
    const answer = fake.service.answers[READ]!
    fake.service.answers[READ] = () => {
      throw new ApiError(status, 'No')
    }
    await show(page, 'a')
    fake.service.answers[READ] = answer
    if (status === 0) await show(page, 'b')
    const { length } = fake.service.of(READ)
    await fake.clock.advance(300_000)
    stream.onState({ kind: 'live' })
    await settle()
    assert.is(fake.service.of(READ).length, length, `${status}`)
  }
})

test('the list that could not be read is read again with the connection', async () => {
  const server = createServer()
  const answer = server.answers['GET /api/sessions']!
  server.answers['GET /api/sessions'] = unreachable
  const { page, fake, stream } = await openPage(server, 'session/a')
  assert.is(page.sessions.state.peek(), 'failed')
  fake.service.answers['GET /api/sessions'] = answer
  stream.onState({ kind: 'live' })
  await settle()
  assert.is(page.sessions.state.peek(), 'ready')
  const { length } = fake.service.of('GET /api/sessions')
  stream.onState({ kind: 'live' })
  await settle()
  assert.is(fake.service.of('GET /api/sessions').length, length)
})

/** Choices, the request of each, and what the chip shows. */
const CHOICES = {
  model: {
    route: 'POST /api/session/update',
    choose: (app: App, value: string) => app.chat.choices.chooseModel(value),
  },
  workspace: {
    route: 'POST /api/session/update',
    choose: (app: App, value: string) => app.chat.choices.chooseWorkspace(value),
  },
  personality: {
    route: 'POST /api/personality/set',
    choose: (app: App, value: string) => app.chat.choices.choosePersonality(value),
  },
} as const
for (const name of ['model', 'workspace', 'personality'] as const) {
  const { route, choose } = CHOICES[name]
  const shown = (app: App) => app.chat.transcript.details.peek()?.[name]

  test(`${name}: of two choices the later one is shown, whatever reply comes first`, async () => {
    const server = createServer()
    const { hold, begun, release } = holdAt(route, 1, { isReached: true })
    const { page } = await openPage(server, 'session/a', { hold })
    const app = page.first.app.peek()
    const first = choose(app, 'one')
    await begun
    await choose(app, 'two')
    release()
    await first
    await settle()
    assert.equal([shown(app), server.sessions.get('a')!.fields[name]], ['two', 'two'])
  })

  test(`${name}: what was refused is not shown`, async () => {
    const server = createServer()
    const { page, fake } = await openPage(server, 'session/a')
    const app = page.first.app.peek()
    await choose(app, 'one')
    fake.service.answers[route] = () => {
      throw new ApiError(403, 'No')
    }
    await Promise.resolve(choose(app, 'two')).catch(() => undefined)
    await settle()
    assert.is(shown(app), 'one')
  })

  test(`${name}: what another device chooses is shown`, async () => {
    const server = createServer()
    const { page } = await openPage(server, 'session/a')
    server.sessions.get('a')!.fields[name] = 'there'
    server.tell('list', 'row', { row: fakeRow('a', { seq: 100, [name]: 'there' }) })
    await settle()
    assert.is(shown(page.first.app.peek()), 'there')
  })
}

test('there are enough cases', () => assert.ok(cases >= 40, `${cases}`))

test.run()
