/** spec.md walked sentence by sentence: endpoints of models, files, profiles, skills, projects, updates, authentication, errors. */
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { git, writeFiles } from '../_git.ts'
import { createProvider } from '../_provider.ts'
import { addMessage, addSession, createStateDb } from '../_state-db.ts'

const test = suite<{ app: TestApp }>('spec.md: endpoints')
test.before.each(async context => {
  context.app = await startApp()
})
test.after.each(({ app }) => app.close())

const yaml = (app: TestApp, text: string) => writeFileSync(join(app.home, 'config.yaml'), text)
const groupsOf = async (app: TestApp) => (await app.get('/api/models')).body.groups
type Group = { provider_id: string; models: { id: string }[] }

test('GET /health: active_streams is a count', async ({ app }) => {
  assert.is((await app.get('/health')).body.active_streams, 0)
})

test('GET /api/settings: no password_hash, plus webui_version and auth_enabled; POST never accepts the hash', async ({
  app,
}) => {
  await app.post('/api/settings', { password_hash: 'x'.repeat(64) })
  const { body } = await app.get('/api/settings')
  assert.not('password_hash' in body)
  assert.type(body.webui_version, 'string')
  assert.is(body.auth_enabled, false)
})

test('POST /api/default-model: the bare or slash form is persisted, never @provider:', async ({
  app,
}) => {
  for (const [given, kept] of [
    ['@deepseek:deepseek-chat', 'deepseek-chat'],
    ['@openrouter:anthropic/claude-sonnet-4.6', 'anthropic/claude-sonnet-4.6'],
  ] as const) {
    await app.post('/api/default-model', { model: given })
    const text = readFileSync(join(app.home, 'config.yaml'), 'utf8')
    assert.match(text, new RegExp(`default: ${kept}`))
    assert.not.match(text, /@/)
  }
})

test('POST /api/default-model: the model list cache is dropped so that the response is fresh', async ({
  app,
}) => {
  yaml(app, 'model: {provider: deepseek, default: deepseek-chat}\n')
  await groupsOf(app)
  await app.post('/api/default-model', { model: 'brand-new' })
  const { body } = await app.get('/api/models')
  assert.is(body.default_model, 'brand-new')
  assert.ok(JSON.stringify(body.groups).includes('brand-new'))
})

test('POST /api/reasoning: accepts six efforts; a rejected one writes nothing', async ({ app }) => {
  for (const effort of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'])
    assert.is((await app.post('/api/reasoning', { effort })).status, 200, effort)
  for (const effort of ['', 'extreme', 5, null])
    assert.is((await app.post('/api/reasoning', { effort })).status, 400)
  assert.is((await app.get('/api/reasoning')).body.reasoning_effort, 'xhigh')
})

test('POST /api/reasoning: default removes the key and is returned afterwards', async ({ app }) => {
  await app.post('/api/reasoning', { effort: 'high' })
  const config = () => readFileSync(join(app.home, 'config.yaml'), 'utf8')
  assert.match(config(), 'reasoning_effort')
  for (const effort of ['Default', 'default'])
    assert.is((await app.post('/api/reasoning', { effort })).body.reasoning_effort, '')
  assert.not.match(config(), 'reasoning_effort')
})

test('Models 1: aliases are normalized to canonical ids before the static list lookup', async ({
  app,
}) => {
  for (const [alias, id] of [
    ['google', 'gemini'],
    ['claude', 'anthropic'],
    ['moonshot', 'kimi-coding'],
    ['glm', 'zai'],
  ] as const) {
    yaml(app, `model: {provider: ${alias}, default: m}\n`)
    const ids = (await groupsOf(app)).map((group: Group) => group.provider_id)
    assert.ok(ids.includes(id), alias)
  }
})

test('Models 2: only configured providers appear: key, pool entry, models in config.yaml', async ({
  app,
}) => {
  const ids = async () => (await groupsOf(app)).map((group: Group) => group.provider_id)
  writeFileSync(join(app.home, '.env'), 'DEEPSEEK_API_KEY=sk-0123456789\n')
  writeFileSync(
    join(app.home, 'auth.json'),
    JSON.stringify({
      version: 1,
      credential_pool: { anthropic: [{ id: 'a1', access_token: 'sk-ant-0123456789' }] },
    }),
  )
  yaml(app, 'providers: {zai: {models: {glm-5: {}}}}\n')
  const found = await ids()
  for (const id of ['deepseek', 'anthropic', 'zai']) assert.ok(found.includes(id), id)
  assert.not.ok(found.includes('openrouter'))
})

test('Models 3: the static list is copied per request', async ({ app }) => {
  writeFileSync(join(app.home, '.env'), 'DEEPSEEK_API_KEY=sk-0123456789\n')
  const one = JSON.stringify(await groupsOf(app))
  yaml(app, 'model: {provider: deepseek, default: injected}\n')
  await groupsOf(app)
  yaml(app, '')
  assert.is(JSON.stringify(await groupsOf(app)), one)
})

test('Models 4: no prefix when the active provider is unknown; never a second one', async ({
  app,
}) => {
  writeFileSync(join(app.home, '.env'), 'DEEPSEEK_API_KEY=sk-0123456789\n')
  yaml(app, '')
  assert.not.match(JSON.stringify(await groupsOf(app)), /"@deepseek/)
  yaml(
    app,
    'model: {provider: anthropic, default: c}\nproviders: {deepseek: {models: ["@deepseek:x"]}}\n',
  )
  assert.not.match(JSON.stringify(await groupsOf(app)), /@deepseek:@/)
})

test('Models 5: the default is inserted at the top of its group; an empty default adds no entry', async ({
  app,
}) => {
  yaml(app, 'model: {provider: deepseek, default: very-new}\n')
  const group = (await groupsOf(app)).find(({ provider_id }: Group) => provider_id === 'deepseek')
  assert.is(group.models[0].id, 'very-new')
  yaml(app, 'model: {provider: deepseek, default: ""}\n')
  for (const { models } of await groupsOf(app)) for (const { id } of models) assert.ok(id !== '')
})

test('Models 6: aggregators keep slash ids; static and live entries have the same prefix, so none appears twice', async ({
  app,
}) => {
  writeFileSync(
    join(app.home, '.env'),
    'OPENROUTER_API_KEY=sk-or-0123456789\nDEEPSEEK_API_KEY=sk-0123456789\n',
  )
  yaml(app, 'model: {provider: deepseek, default: deepseek-chat}\n')
  const group = (await groupsOf(app)).find(({ provider_id }: Group) => provider_id === 'openrouter')
  const ids: string[] = group.models.map(({ id }: { id: string }) => id)
  for (const id of ids) assert.match(id, /^@openrouter:[^@]+\/[^@]+/)
  assert.is(new Set(ids).size, ids.length)
})

test('GET /api/models/live: custom_providers, then a direct /v1/models with only a provider-scoped key, then the static list', async ({
  app,
}) => {
  const server = await createProvider()
  server.models = ['live-one', 'live-two']
  try {
    yaml(
      app,
      `api_key: top-level-key-0123\ncustom_providers:\n  - {name: mine, base_url: '${server.url}', api_key: scoped-0123456789}\n`,
    )
    const { body } = await app.get('/api/models/live?provider=custom:mine')
    assert.ok(body.ids.includes('live-one'))
    assert.is(server.listed.at(-1)?.authorization, 'Bearer scoped-0123456789')
    assert.not.match(JSON.stringify(server.listed), /top-level-key/)
    const offline = await app.get('/api/models/live?provider=deepseek')
    assert.is(offline.status, 200)
    assert.ok(offline.body.models.length > 0)
  } finally {
    await server.close()
  }
})

test('CLI sessions are listed only when show_cli_sessions is true, and the web record wins', async ({
  app,
}) => {
  const db = createStateDb(app.home, 6)
  try {
    addSession(db, '20260101_000000_abcdef', {})
    addMessage(db, '20260101_000000_abcdef', 'user', 'from the shell')
    const rows = async () =>
      (await app.get('/api/sessions')).body.sessions.filter((row: { session_id: string }) =>
        row.session_id.startsWith('2026'),
      )
    assert.equal(await rows(), [])
    await app.post('/api/settings', { show_cli_sessions: true })
    assert.is((await rows()).length, 1)
    const read = await app.get('/api/session?session_id=20260101_000000_abcdef')
    assert.is(read.body.session.is_cli_session, true)
    const first = await app.post('/api/session/import_cli', {
      session_id: '20260101_000000_abcdef',
    })
    assert.is(first.body.imported, true)
    const again = await app.post('/api/session/import_cli', {
      session_id: '20260101_000000_abcdef',
    })
    assert.is(again.body.imported, false)
    assert.is((await rows()).length, 1)
    await app.post('/api/session/delete', { session_id: '20260101_000000_abcdef' })
    assert.equal(await rows(), [])
    const left = db.prepare('select count(*) as n from messages').get() as { n: number }
    assert.is(left.n, 0)
  } finally {
    db.close()
  }
})

test('GET /api/git-info: 404 for an unknown session; X and Y of the porcelain status are both examined', async ({
  app,
}) => {
  assert.is((await app.get('/api/git-info?session_id=aaaaaaaaaaaa')).status, 404)
  const work = join(app.userHome, 'repo')
  writeFiles(work, { 'a.txt': 'a', 'b.txt': 'b' })
  git(work, 'init', '--quiet', '--template=', '--initial-branch=main')
  git(work, 'add', '-A')
  git(work, 'commit', '--quiet', '-m', 'one')
  writeFiles(work, { 'a.txt': 'staged', 'b.txt': 'not staged', 'c.txt': 'new' })
  git(work, 'add', 'a.txt')
  const { body } = await app.post('/api/session/new', { workspace: work })
  const { branch, dirty, modified, untracked, ahead, behind } = (
    await app.get(`/api/git-info?session_id=${body.session.session_id}`)
  ).body
  assert.equal(
    { branch, modified, untracked, ahead, behind },
    { branch: 'main', modified: 2, untracked: 1, ahead: 0, behind: 0 },
  )
  assert.is(dirty, 3)
})

test('GET /api/workspaces/suggest: trusted roots only; nothing through links or ..; hidden directories are supported', async ({
  app,
}) => {
  mkdirSync(join(app.userHome, '.hidden-one'))
  mkdirSync(join(app.userHome, 'shown-one'))
  symlinkSync('/usr', join(app.userHome, 'link'))
  const suggest = async (prefix: string) =>
    (await app.get(`/api/workspaces/suggest?prefix=${encodeURIComponent(prefix)}`)).body
      .suggestions as string[]
  assert.equal(await suggest('/etc/'), [])
  assert.equal(await suggest(`${app.userHome}/link/`), [])
  for (const path of await suggest(`${app.userHome}/../`)) assert.ok(path.startsWith(app.userHome))
  assert.ok((await suggest(`${app.userHome}/.hid`)).some(path => path.endsWith('.hidden-one')))
  assert.not.ok((await suggest(`${app.userHome}/`)).some(path => path.endsWith('.hidden-one')))
})

test('upload: rejects a name of dots only, sanitizes others, keeps the path inside of the workspace', async ({
  app,
}) => {
  const { body } = await app.post('/api/session/new', {})
  const upload = (filename: string) => {
    const form = [
      '--b',
      'Content-Disposition: form-data; name="session_id"',
      '',
      body.session.session_id,
      '--b',
      `Content-Disposition: form-data; name="file"; filename="${filename}"`,
      'Content-Type: text/plain',
      '',
      'x',
      '--b--',
      '',
    ].join('\r\n')
    return app.post('/api/upload', form, {
      headers: { 'Content-Type': 'multipart/form-data; boundary=b' },
    })
  }
  for (const name of ['.', '..', '...']) assert.is((await upload(name)).status, 400, name)
  const { status, body: answer } = await upload('we ird?.txt')
  assert.is(status, 200)
  assert.ok(existsSync(answer.path))
})

test('Profiles: GET active returns the name; create validates name and clone_from; switch sets the cookie, also for default', async ({
  app,
}) => {
  assert.is((await app.get('/api/profile/active')).body.name, 'default')
  for (const body of [
    { name: 'Bad' },
    { name: 'ok\n' },
    { name: 'x'.repeat(65) },
    { name: 'ok', clone_from: '../y' },
  ])
    assert.is((await app.post('/api/profile/create', body)).status, 400, JSON.stringify(body))
  assert.is(
    (await app.post('/api/profile/create', { name: 'ok', clone_from: 'default' })).status,
    200,
  )
  assert.is((await app.post('/api/profile/create', { name: 'ok' })).status, 400)
  const unknown = await app.post('/api/profile/switch', { name: 'nobody' })
  assert.is(unknown.status, 404)
  assert.match(unknown.body.error, /does not exist/)
  for (const name of ['ok', 'default']) {
    const { headers, body } = await app.post('/api/profile/switch', { name })
    assert.match(String(headers['set-cookie']), new RegExp(`agent_profile=${name};`))
    assert.ok('default_model' in body && 'default_workspace' in body)
  }
})

test('Profiles: resolution is per request by the cookie, validated, and changes no global', async ({
  app,
}) => {
  await app.post('/api/profile/create', { name: 'mine' })
  const before = process.env.AGENT_HOME
  const as = async (cookie: string) =>
    (await app.get('/api/profile/active', { headers: { Cookie: `agent_profile=${cookie}` } })).body
      .name
  assert.is(await as('mine'), 'mine')
  assert.is(await as('../../etc'), 'default')
  assert.is(await as('gone'), 'default')
  assert.is(process.env.AGENT_HOME, before)
})

test('Profiles: deleting the active one first switches to default; a sticky marker is stored in the base home', async ({
  app,
}) => {
  await app.post('/api/profile/create', { name: 'short' })
  await app.post('/api/profile/switch', { name: 'short' })
  assert.is(readFileSync(join(app.home, 'active_profile'), 'utf8').trim(), 'short')
  const { headers } = await app.post(
    '/api/profile/delete',
    { name: 'short' },
    { headers: { Cookie: 'agent_profile=short' } },
  )
  assert.match(String(headers['set-cookie']), /agent_profile=default/)
  assert.not.ok(existsSync(join(app.home, 'active_profile')))
})

test('Skills: rejects names with * ? [ ] and a category with / or ..; linked files stay inside', async ({
  app,
}) => {
  for (const name of ['a*', 'a?', '[a]', 'a]'])
    assert.is(
      (await app.get(`/api/skills/content?name=${encodeURIComponent(name)}`)).status,
      400,
      name,
    )
  const content = '---\nname: s\ndescription: d\n---\nbody\n'
  for (const category of ['a/b', '..', '../x'])
    assert.is(
      (await app.post('/api/skills/save', { name: 's', category, content })).status,
      400,
      category,
    )
  await app.post('/api/skills/save', { name: 's', category: 'c', content })
  const outside = await app.get('/api/skills/content?name=s&file=../../../config.yaml')
  assert.ok(outside.status === 400 || outside.status === 404)
})

test('login: a self-contained page with the bot name escaped; Enter submits and the native submit is prevented', async ({
  app,
}) => {
  await app.post('/api/settings', { bot_name: '<b>&"x' })
  const { text, headers } = await app.get('/login')
  assert.match(String(headers['content-type']), /^text\/html/)
  assert.not.ok(text.includes('<b>&"x'))
  assert.match(text, /&lt;b&gt;/)
  assert.not.match(text, /<(?:script|img)[^>]+src=|<link rel="?stylesheet/)
  assert.match(text, /preventDefault\(\)/)
})

test('Authentication 1, 6: off by default; on with a stored password; blank changes nothing; _clear_password clears', async ({
  app,
}) => {
  assert.equal((await app.get('/api/auth/status')).body, { auth_enabled: false, logged_in: false })
  await app.post('/api/settings', { _set_password: '   ' })
  assert.is((await app.get('/api/auth/status')).body.auth_enabled, false)
  const on = await app.post('/api/settings', { _set_password: 'open sesame' })
  const cookie = String(on.headers['set-cookie']).split(';')[0] as string
  assert.is((await app.get('/api/auth/status')).body.auth_enabled, true)
  await app.post('/api/settings', { _set_password: '' }, { headers: { Cookie: cookie } })
  assert.is((await app.get('/api/auth/status')).body.auth_enabled, true)
  await app.post('/api/settings', { _clear_password: true }, { headers: { Cookie: cookie } })
  assert.is((await app.get('/api/auth/status')).body.auth_enabled, false)
})

test('Authentication 3, 4: the cookie lives 24 hours; without it pages are 302 to /login and the API is 401', async () => {
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: 'open sesame' } })
  try {
    for (const path of ['/', '/index.html']) {
      const { status, headers } = await app.get(path)
      assert.is(status, 302, path)
      assert.is(headers.location, '/login')
    }
    assert.is((await app.get('/api/sessions')).status, 401)
    assert.is((await app.post('/api/auth/login', { password: 'wrong' })).status, 401)
    const { headers } = await app.post('/api/auth/login', { password: 'open sesame' })
    const [cookie] = headers['set-cookie'] as string[]
    assert.match(String(cookie), /Max-Age=86400/)
    assert.match(String(cookie), /HttpOnly/)
    const signedIn = { headers: { Cookie: String(cookie).split(';')[0] as string } }
    assert.is((await app.get('/api/sessions', signedIn)).status, 200)
    await app.post('/api/auth/logout', {}, signedIn)
    assert.is((await app.get('/api/sessions', signedIn)).status, 401)
  } finally {
    await app.close()
  }
})

test('Authentication 9: the environment file is created with owner-only permissions', async ({
  app,
}) => {
  await app.post('/api/providers', { provider: 'deepseek', api_key: 'sk-0123456789' })
  assert.is(statSync(join(app.home, '.env')).mode & 0o777, 0o600)
})

test('updates: the check is skipped when the checkout has no .git or the setting is off', async ({
  app,
}) => {
  const { body } = await app.get('/api/updates/check')
  assert.is(body.webui, null)
  await app.post('/api/settings', { check_for_updates: false })
  assert.is((await app.get('/api/updates/check')).body.disabled, true)
})

test('test-only: inject_test is 404 for requests through a proxy', async ({ app }) => {
  const { body } = await app.post('/api/session/new', {})
  const from = { headers: { 'X-Forwarded-For': '203.0.113.7' } }
  const { status } = await app.post(
    '/api/approval/inject_test',
    { session_id: body.session.session_id },
    from,
  )
  assert.is(status, 404)
})

test('gateway stream: the probe returns watcher_running only while the watcher is alive, else 503', async ({
  app,
}) => {
  await app.post('/api/settings', { show_cli_sessions: true })
  createStateDb(app.home, 6).close()
  assert.is((await app.get('/api/sessions/gateway/stream?probe=1')).body.watcher_running, true)
  writeFileSync(
    join(app.home, 'state.db'),
    'no database at all, and long enough to be seen as none'.repeat(40),
  )
  const broken = await app.get('/api/sessions/gateway/stream', { headOnly: true })
  assert.is(broken.status, 503)
})

test.run()
