/**
 * Moving over from Hermes WebUI, and back. The files in `test/fixtures/hermes-webui` were written by the session code of
 * Hermes WebUI 0.50, for conversations that were made up.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { formerStateChecks } from '../../lib/operations/checks/former-state.ts'
import { readConfig } from '../../lib/config.ts'
import { startApp, type TestApp } from '../_app.ts'
import { createDesk } from '../lib/cli/_run.ts'

const FIXTURES = join(import.meta.dirname, '../fixtures/hermes-webui/sessions')
const ID = '5a5b5c5d5e5f'
const IMPORTED = '20260101_101010_abcdef'

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const original = read(join(FIXTURES, `${ID}.json`))

const test = suite<{ app: TestApp; sessions: string }>('migration from the former service')
test.before.each(async state => {
  state.app = await startApp()
  state.sessions = join(state.app.state, 'sessions')
  mkdirSync(state.sessions, { recursive: true })
  cpSync(FIXTURES, state.sessions, { recursive: true })
})
test.after.each(({ app }) => app.close())

type Listed = { session_id: string; title: string; message_count: number }

const listed = async (app: TestApp): Promise<Listed[]> =>
  (await app.get('/api/sessions')).body.sessions

/** As a program of the former format writes: a temporary file, then a rename. */
const rewrite = (dir: string, id: string, change: (file: typeof original) => unknown): void =>
  writeFileSync(join(dir, `${id}.json`), JSON.stringify(change(structuredClone(original)), null, 2))

const more = (...texts: string[]) =>
  texts.map(content => ({ role: 'user', content, timestamp: 1760000900 }))

test('sessions of the former service are listed, opened, searched and exported unchanged', async ({
  app,
}) => {
  const rows = await listed(app)
  assert.equal(rows.map(({ session_id, message_count }) => [session_id, message_count]).sort(), [
    ['0f0f0f0f0f0f', 1],
    [IMPORTED, 2],
    [ID, 5],
  ])
  const { session } = (await app.get(`/api/session?session_id=${ID}`)).body
  assert.is(session.title, original.title)
  for (const [at, message] of original.messages.entries()) {
    const { id: _, ...kept } = session.messages[at]
    assert.equal(kept, message)
  }
  // What was asked and never answered is not lost.
  const waiting = (await app.get('/api/session?session_id=0f0f0f0f0f0f')).body.session
  assert.is(waiting.messages[0].content, 'Never answered')
})

test('the first change converts a file; the original remains, byte for byte', async ({
  app,
  sessions,
}) => {
  const before = readFileSync(join(FIXTURES, `${ID}.json`))
  const renamed = await app.post('/api/session/rename', { session_id: ID, title: 'Renamed' })
  assert.is(renamed.status, 200)
  assert.ok(before.equals(readFileSync(join(sessions, `${ID}.json.migrated`))))
  assert.not.ok(existsSync(join(sessions, `${ID}.json`)))
})

test('a conversation that goes on in the former format is one, trip after trip', async ({
  app,
  sessions,
}) => {
  await app.post('/api/session/rename', { session_id: ID, title: 'Renamed' })
  const extended = (...texts: string[]) =>
    rewrite(sessions, ID, file => ({ ...file, messages: [...file.messages, ...more(...texts)] }))
  const texts = async () =>
    (await listed(app)) &&
    (await app.get(`/api/session?session_id=${ID}`)).body.session.messages
      .slice(5)
      .map(({ content }: { content: string }) => content)
  extended('written there')
  assert.equal(await texts(), ['written there'])
  // The same words again are new all the same.
  extended('written there', 'written there')
  assert.equal(await texts(), ['written there', 'written there'])
  await app.restart()
  assert.equal(await texts(), ['written there', 'written there'])
  const counts = (await listed(app)).map(row => row.message_count).sort()
  assert.equal(counts, [1, 2, 7])
  assert.is((await listed(app)).find(row => row.session_id === ID)?.title, 'Renamed')
})

test('a .json that was written after a change here is a separate session and follows later writes', async ({
  app,
  sessions,
}) => {
  await app.post('/api/session/truncate', { session_id: ID, keep_count: 4 })
  const extended = (...texts: string[]) =>
    rewrite(sessions, ID, file => ({ ...file, messages: [...file.messages, ...more(...texts)] }))
  const others = async () =>
    (await listed(app)).filter(({ title }) => title.endsWith('(other version)'))

  extended('written there')
  const [other] = await others()
  assert.is(other?.message_count, 6)
  assert.is((await app.get(`/api/session?session_id=${ID}`)).body.session.messages.length, 4)
  const opened = await app.get(`/api/session?session_id=${other?.session_id}`)
  assert.is(opened.body.session.messages.at(-1).content, 'written there')

  // The other program continues it: the same session grows.
  extended('written there', 'and more')
  const [grown, ...rest] = await others()
  assert.is(rest.length, 0)
  assert.is(grown?.session_id, other?.session_id)
  assert.is(grown?.message_count, 7)

  // Once it was continued here, a later write gets a place of its own.
  await app.post('/api/session/rename', { session_id: grown?.session_id, title: 'Mine' })
  extended('written there', 'and more', 'yet more')
  const counts = (await listed(app)).map(row => row.message_count).sort()
  assert.equal(counts, [1, 2, 4, 7, 8])
  await app.restart()
  assert.equal((await listed(app)).map(row => row.message_count).sort(), counts)
})

test('what was taken back here after a trip is no other version', async ({ app, sessions }) => {
  await app.post('/api/session/rename', { session_id: ID, title: 'Renamed' })
  rewrite(sessions, ID, file => ({ ...file, messages: [...file.messages, ...more('a', 'b')] }))
  assert.equal((await listed(app)).map(row => row.message_count).sort(), [1, 2, 7])
  await app.post('/api/session/truncate', { session_id: ID, keep_count: 4 })
  for (let start = 0; start < 2; start++) {
    assert.equal((await listed(app)).map(row => row.message_count).sort(), [1, 2, 4])
    await app.restart()
  }
  assert.ok(existsSync(join(sessions, `${ID}.json`)))
  // What is said there afterwards is in neither.
  rewrite(sessions, ID, file => ({ ...file, messages: [...file.messages, ...more('a', 'c')] }))
  assert.equal((await listed(app)).map(row => row.message_count).sort(), [1, 2, 4, 7])
})

test('leaves a .json without changes in place', async ({ app, sessions }) => {
  await app.post('/api/session/rename', { session_id: ID, title: 'Renamed' })
  rewrite(sessions, ID, file => ({ ...file, title: 'Renamed there', pinned: true }))
  assert.is((await listed(app)).length, 3)
  assert.ok(existsSync(join(sessions, `${ID}.json`)))
})

/** As it records them: of a call in the messages, of one that only its progress told of, and of one it could not place. */
const RECORDED = [
  {
    name: 'terminal',
    snippet: 'a.txt and one more',
    tid: 'call_1',
    assistant_msg_idx: 1,
    args: { command: 'ls -la' },
  },
  {
    name: 'web_search',
    snippet: 'three results',
    tid: '',
    assistant_msg_idx: 3,
    args: { query: 'kites' },
    duration: 1.5,
  },
  { name: 'read_file', snippet: '', tid: '', assistant_msg_idx: -1, args: {} },
]

const SEEN = [
  { type: 'text', text: 'List the files' },
  { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'high' } },
]

/** Writes it with these summaries, with keys of a later version, and with a picture. */
const writeRecorded = (sessions: string): void =>
  rewrite(sessions, ID, file => ({
    ...file,
    later_key: { deep: [1, null, 'x'] },
    messages: [
      { ...file.messages[0], content: SEEN },
      ...file.messages.slice(1, 4),
      { ...file.messages[4], later_message_key: { kept: true } },
    ],
    tool_calls: RECORDED,
  }))

test('summaries of tool calls are shown and exported as they were recorded, and follow their messages', async ({
  app,
  sessions,
}) => {
  writeRecorded(sessions)
  const shown = async (id = ID) => (await app.get(`/api/session?session_id=${id}`)).body.session
  assert.equal((await shown()).tool_calls, RECORDED)

  await app.post('/api/session/rename', { session_id: ID, title: 'Renamed' })
  assert.equal((await shown()).tool_calls, RECORDED)
  const exported = (await app.get(`/api/session/export?session_id=${ID}`)).body
  assert.equal(exported.tool_calls, RECORDED)
  assert.equal(exported.later_key, { deep: [1, null, 'x'] })
  assert.equal(exported.messages[4].later_message_key, { kept: true })
  assert.equal(exported.messages[0].content, SEEN)
  // Once, in the place that the other program reads.
  assert.not.match(JSON.stringify(exported.messages), 'three results')
  for (const as of ['md', 'html']) {
    const { text } = await app.get(`/api/session/export?session_id=${ID}&format=${as}`)
    assert.match(text, 'web_search', as)
    assert.match(text, 'three results', as)
  }

  // A page gets those that it has no call for, with ids to tell them apart.
  const page = (await app.get(`/api/session?session_id=${ID}&limit=50`)).body.session
  assert.equal(
    page.messages.map((message: { _tool_summaries?: { tid: string; name: string }[] }) =>
      message._tool_summaries?.map(({ tid, name }) => `${tid} ${name}`),
    ),
    [undefined, [], undefined, ['m5:s0 web_search', 'm5:s1 read_file'], undefined],
  )

  const imported = (await app.post('/api/session/import', exported)).body.session
  assert.equal((await shown(imported.session_id)).tool_calls, RECORDED)
  const copy = (await app.post('/api/session/duplicate', { session_id: ID })).body.session
  assert.equal((await shown(copy.session_id)).tool_calls, RECORDED)

  await app.post('/api/session/truncate', { session_id: ID, keep_count: 3 })
  assert.equal((await shown()).tool_calls, RECORDED.slice(0, 1))
})

test('a file with numbers that only Python writes is a session like any other', async ({
  app,
  sessions,
}) => {
  rewrite(sessions, ID, file => ({ ...file, title: 'NaN, "Infinity"', estimated_cost: 'COST' }))
  const path = join(sessions, `${ID}.json`)
  for (const number of ['NaN', '-Infinity']) {
    writeFileSync(path, readFileSync(path, 'utf8').replace(/"COST"|NaN(?=,\n)/, number))
    const { session } = (await app.get(`/api/session?session_id=${ID}`)).body
    assert.is(session.title, 'NaN, "Infinity"')
    assert.is(session.messages.length, original.messages.length)
    assert.is(session.estimated_cost, 0)
  }
})

const LATER_KEYS = { hidden_tabs: ['kanban'], pinned_sessions_limit: 3, update_channel: 'stable' }

/** The files beside the sessions, with the keys and the form of the other program. */
const writeOthers = (app: TestApp): { project: string; folder: string } => {
  const folder = join(app.userHome, 'Größe')
  mkdirSync(folder)
  const write = (name: string, value: unknown) =>
    writeFileSync(join(app.state, name), JSON.stringify(value, null, 2))
  write('settings.json', {
    default_workspace: folder,
    onboarding_completed: true,
    send_key: 'ctrl+enter',
    show_token_usage: true,
    theme: 'nord',
    skin: 'slate',
    language: 'de',
    bot_name: 'Hermes',
    sidebar_density: 'detailed',
    password_hash: null,
    ...LATER_KEYS,
  })
  const project = { project_id: '0123456789ab', name: 'Maß', color: '#7cb9ff' }
  write('projects.json', [{ ...project, created_at: 1760000000.5 }])
  write('workspaces.json', [{ path: folder, name: 'Work', color: '#7cb9ff' }])
  writeFileSync(join(app.state, 'last_workspace.txt'), folder)
  return { project: project.project_id, folder }
}

test('settings, projects, and workspaces are used as the other program wrote them, and it can read them again after changes', async ({
  app,
}) => {
  const { project, folder } = writeOthers(app)
  const settings = (await app.get('/api/settings')).body
  assert.equal(
    [settings.send_key, settings.theme, settings.skin, settings.language, settings.bot_name],
    ['ctrl+enter', 'nord', 'slate', 'de', 'Hermes'],
  )
  assert.equal([settings.default_workspace, settings.onboarding_completed], [folder, true])
  assert.is((await app.get('/api/projects')).body.projects[0].project_id, project)
  const { workspaces, last } = (await app.get('/api/workspaces')).body
  assert.equal([workspaces[0].path, workspaces[0].name, last], [folder, 'Work', folder])

  await app.post('/api/session/move', { session_id: ID, project_id: project })
  await app.post('/api/settings', { show_thinking: false })
  await app.post('/api/projects/create', { name: 'Here', color: null })
  await app.post('/api/workspaces/rename', { path: folder, name: 'Renamed' })
  await app.restart()

  const kept = read(join(app.state, 'settings.json'))
  // Keys of a later version of it are kept as well.
  for (const [key, value] of Object.entries({
    ...LATER_KEYS,
    theme: 'nord',
    send_key: 'ctrl+enter',
  }))
    assert.equal(kept[key], value, key)
  assert.is(kept.show_thinking, false)
  const projects = read(join(app.state, 'projects.json'))
  assert.equal(
    projects.map((each: object) => Object.keys(each).toSorted()),
    Array.from({ length: 2 }, () => ['color', 'created_at', 'name', 'project_id']),
  )
  assert.equal(read(join(app.state, 'workspaces.json')), [
    { path: folder, name: 'Renamed', color: '#7cb9ff' },
  ])
  assert.is(readFileSync(join(app.state, 'last_workspace.txt'), 'utf8').trim(), folder)
  for (const name of ['settings.json', 'projects.json', 'workspaces.json'])
    assert.match(readFileSync(join(app.state, name), 'utf8'), /^[[{]\n {2}\S/, name)

  // And the session goes back with its project.
  const desk = createDesk()
  const env = { AGENT_HOME: app.home }
  const out = join(desk.root, 'back')
  assert.is((await desk.talk(['export', '--as', 'json', out], { env })).code, 0)
  assert.is(read(join(out, 'sessions', `${ID}.json`)).project_id, project)
  desk.close()
})

test('a start and doctor say which files of it are used, and where others are', async ({
  app,
  sessions,
}) => {
  const said = (env: Record<string, string> = {}) =>
    formerStateChecks(readConfig({ HOME: app.userHome, ...env }, [])).map(check => check.said)
  assert.equal(said(), [
    `3 sessions of it in ${app.state} are listed and read unchanged; a first change converts a session and keeps its file`,
  ])
  await app.post('/api/session/rename', { session_id: ID, title: 'Renamed' })
  assert.match(said()[0] ?? '', '2 sessions')

  const hermes = join(app.userHome, '.hermes')
  cpSync(sessions, join(hermes, 'webui', 'sessions'), { recursive: true })
  // A copy of the sessions alone; other files are none.
  rmSync(join(hermes, 'webui/sessions/_index.json'))
  const elsewhere = join(app.userHome, 'elsewhere')
  mkdirSync(join(elsewhere, 'webui/sessions'), { recursive: true })
  writeFileSync(join(elsewhere, 'webui/sessions/notes.json'), '{"notes": []}')
  assert.equal(said({ AGENT_HOME: elsewhere, HERMES_HOME: elsewhere }), [])
  assert.is(
    said()[1],
    `it has 2 sessions in ${hermes}; AGENT_HOME=${hermes} uses that home and its sessions`,
  )
  assert.match(said({ AGENT_HOME: hermes }).join(), `2 sessions of it in ${hermes}/webui`)
  assert.equal(said({ AGENT_HOME: hermes }).length, 1)
  assert.match(said({ HERMES_HOME: join(app.userHome, 'none') }).join(), /^2 sessions[^,]*$/)

  const desk = createDesk()
  const { out } = await desk.talk(['doctor'], { env: { AGENT_HOME: hermes } })
  assert.match(out, 'Hermes WebUI')
  desk.close()
})

test.run()

const back = suite('export for the former service')

/** What the loader of Hermes WebUI 0.50 asks for: it constructs its session from these keys. */
const KEYS =
  'session_id title workspace model messages created_at updated_at tool_calls pinned archived project_id profile input_tokens output_tokens estimated_cost personality active_stream_id pending_user_message pending_attachments pending_started_at compression_anchor_visible_idx compression_anchor_message_key'.split(
    ' ',
  )

back('export --as json writes every session in the former service’s format', async () => {
  const desk = createDesk()
  const state = join(desk.home, 'webui')
  cpSync(FIXTURES, join(state, 'sessions'), { recursive: true })
  writeFileSync(join(state, 'projects.json'), '[]')
  const entry = (n: number, t: string, rest: object) =>
    JSON.stringify({ n, t, at: 1760001000, ...rest })
  const secret = 'sk-abcdefghijklmnopqrstuvwxyz123456'
  writeFileSync(
    join(state, 'sessions', 'aaaabbbbcccc.jsonl'),
    [
      entry(1, 'session', {
        v: 1,
        id: 'aaaabbbbcccc',
        meta: { title: 'Begun here', workspace: '/tmp' },
      }),
      entry(2, 'message', { message: { id: 'm2', role: 'user', content: `my key is ${secret}` } }),
      entry(3, 'message', { message: { id: 'm3', role: 'assistant', content: 'dropped' } }),
      entry(4, 'cut', { after: 2 }),
      entry(5, 'message', { message: { id: 'm5', role: 'assistant', content: 'kept' } }),
      '',
    ].join('\n'),
  )
  const out = join(desk.root, 'back')
  const { code, out: said } = await desk.talk(['export', '--as', 'json', out])
  assert.is(code, 0)
  assert.match(said, `4 sessions written to ${join(out, 'sessions')}`)

  const exported = read(join(out, 'sessions', 'aaaabbbbcccc.json'))
  for (const key of KEYS) assert.ok(key in exported, key)
  assert.equal(
    exported.messages.map((message: { content: string }) => message.content),
    [`my key is ${secret}`, 'kept'],
  )
  // Older ones come back as they were.
  const again = read(join(out, 'sessions', `${ID}.json`))
  for (const [at, message] of original.messages.entries()) {
    const { id: _, ...kept } = again.messages[at]
    assert.equal(kept, message)
  }
  assert.equal(again.tool_calls, original.tool_calls)
  const index = read(join(out, 'sessions', '_index.json'))
  assert.equal(
    index.map((row: { session_id: string }) => row.session_id),
    ['aaaabbbbcccc', '0f0f0f0f0f0f', IMPORTED, ID],
  )
  assert.ok(existsSync(join(out, 'projects.json')))

  // A second time into the same place replaces nothing.
  const twice = await desk.talk(['export', '--as', 'json', out])
  assert.is(twice.code, 1)
  assert.match(twice.err, 'already exists')
  assert.is((await desk.talk(['export', '--as', 'json', join(desk.root, 'one'), ID])).code, 0)
  assert.equal(readdirSync(join(desk.root, 'one', 'sessions')), [`${ID}.json`])
  for (const words of [['export'], ['export', '--as', 'xml', 'x'], ['export', '--as', 'json']])
    assert.is((await desk.talk(words)).code, 2)
  assert.is((await desk.talk(['export', '--as', 'json', 'x', 'ffffffffffff'])).code, 1)
  desk.close()
})

back('exported into the state directory, the files are not read as other sessions', async () => {
  const app = await startApp()
  cpSync(FIXTURES, join(app.state, 'sessions'), { recursive: true })
  await app.post('/api/session/rename', { session_id: ID, title: 'Renamed' })
  const before = (await listed(app)).length
  const desk = createDesk()
  const { code } = await desk.talk(['export', '--as', 'json', app.state], {
    env: { AGENT_HOME: app.home },
  })
  assert.is(code, 0)
  assert.is(read(join(app.state, 'sessions', `${ID}.json`)).title, 'Renamed')
  assert.is((await listed(app)).length, before)
  await app.restart()
  assert.is((await listed(app)).length, before)
  await app.close()
  desk.close()
})

back.run()
