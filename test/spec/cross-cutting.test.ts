/** spec.md walked sentence by sentence: what the service does, cross-cutting rules, configuration inputs, limits, versioning. */
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readConfig } from '../../lib/config.ts'
import { routes } from '../../router.ts'
import { startApp, type TestApp } from '../_app.ts'
import { git, writeFiles } from '../_git.ts'

const test = suite<{ app: TestApp }>('spec.md: the service')
test.before(async context => {
  context.app = await startApp()
})
test.after(({ app }) => app.close())

const config = (app: TestApp) => readFileSync(join(app.home, 'config.yaml'), 'utf8')

test('cross-cutting 1: requests and responses are JSON, except the stream, pages and static files', async ({
  app,
}) => {
  for (const path of ['/health', '/api/settings', '/api/sessions', '/api/models', '/api/projects'])
    assert.match(String((await app.get(path)).headers['content-type']), /^application\/json/)
  const stream = await app.get('/api/events', { headOnly: true })
  assert.match(String(stream.headers['content-type']), /^text\/event-stream/)
  assert.match(String((await app.get('/')).headers['content-type']), /^text\/html/)
})

test('cross-cutting 2: default model, effort and display flag are stored in config.yaml; both sides see changes', async ({
  app,
}) => {
  await app.post('/api/default-model', { model: 'gpt-x' })
  await app.post('/api/reasoning', { effort: 'high' })
  await app.post('/api/reasoning', { display: 'hide' })
  assert.match(config(app), /model:\n(?: {2}.*\n)* {2}default: gpt-x/)
  assert.match(config(app), /agent:\n {2}reasoning_effort: high/)
  assert.match(config(app), /display:\n {2}show_reasoning: false/)
  writeFileSync(
    join(app.home, 'config.yaml'),
    'model: {default: from-cli}\nagent: {reasoning_effort: low}\ndisplay: {show_reasoning: true}\n',
  )
  const { body } = await app.get('/api/reasoning')
  assert.equal(body, { show_reasoning: true, reasoning_effort: 'low' })
  assert.is((await app.get('/api/settings')).body.default_model, 'from-cli')
})

test('cross-cutting 3: every response carries the three headers, including login, logout, errors and files', async ({
  app,
}) => {
  const answers = [
    ...(await Promise.all(
      ['/', '/login', '/health', '/static/none.js', '/nowhere', '/api/nothing', '/favicon.ico'].map(
        path => app.get(path),
      ),
    )),
    await app.get('/api/events', { headOnly: true }),
    await app.post('/api/auth/login', { password: 'x' }),
    await app.post('/api/auth/logout'),
    await app.post('/api/session/rename', '{broken'),
    await app.request('DELETE', '/health'),
  ]
  for (const { headers } of answers) {
    assert.is(headers['x-content-type-options'], 'nosniff')
    assert.is(headers['x-frame-options'], 'DENY')
    assert.is(headers['referrer-policy'], 'same-origin')
  }
})

test('cross-cutting 4: settings are stored in settings.json in the state directory, read as UTF-8', async ({
  app,
}) => {
  await app.post('/api/settings', { bot_name: 'Zoë ☂' })
  const path = join(app.state, 'settings.json')
  assert.is(JSON.parse(readFileSync(path, 'utf8')).bot_name, 'Zoë ☂')
  assert.is((await app.get('/api/settings')).body.bot_name, 'Zoë ☂')
  await app.post('/api/settings', { bot_name: '' })
})

test('cross-cutting 6: static files under /static/; outside is 404; binary types have a type and no charset', async ({
  app,
}) => {
  for (const path of [
    '/static/../package.json',
    '/static/%2e%2e/package.json',
    '/static/..%2fpackage.json',
    '/static/%2fetc%2fpasswd',
    '/static/',
    '/static/\\..\\package.json',
  ])
    assert.is((await app.get(path)).status, 404, path)
  const script = /\/?(static\/main-[\w-]+\.js)/.exec((await app.get('/')).text)?.[1]
  const { headers } = await app.get(`/${script}`)
  assert.match(
    String(headers['content-type']),
    /^text\/javascript; charset=utf-8$|^application\/javascript; charset=utf-8$/,
  )
})

const read = (env: Record<string, string>) => readConfig({ HOME: '/home/me', ...env }, [])

test('configuration: AGENT_WEBUI_STATE_DIR overrides the state directory; the default is webui in the base home', () => {
  assert.is(read({}).stateDir, '/home/me/.agent/webui')
  assert.is(read({ AGENT_WEBUI_STATE_DIR: '/srv/state' }).stateDir, '/srv/state')
})

test('configuration: AGENT_WEBUI_AUTO_INSTALL is off by default, and 1 turns it on', () => {
  assert.is(read({}).autoInstall, false)
  assert.is(read({ AGENT_WEBUI_AUTO_INSTALL: '0' }).autoInstall, false)
  assert.is(read({ AGENT_WEBUI_AUTO_INSTALL: '1' }).autoInstall, true)
})

test('configuration: base home = AGENT_BASE_HOME, else AGENT_HOME (two up below "profiles"), else the home directory', () => {
  assert.is(read({ AGENT_BASE_HOME: '/b', AGENT_HOME: '/b/profiles/x' }).baseHome, '/b')
  assert.is(read({ AGENT_HOME: '/h' }).baseHome, '/h')
  assert.is(read({ AGENT_HOME: '/h/profiles/x' }).baseHome, '/h')
  assert.is(read({ AGENT_HOME: '/h/profiles/x/deeper' }).baseHome, '/h/profiles/x/deeper')
  assert.is(read({}).baseHome, '/home/me/.agent')
})

test('configuration: <PROVIDER>_API_KEY variables of the environment decide which providers are configured', async () => {
  const app = await startApp({
    env: { DEEPSEEK_API_KEY: 'sk-deepseek-0123456789', GITHUB_TOKEN: 'ghp_0123456789' },
  })
  try {
    const { groups } = (await app.get('/api/models')).body
    const ids = groups.map(({ provider_id }: { provider_id: string }) => provider_id)
    assert.ok(ids.includes('deepseek'))
    assert.not.ok(ids.includes('copilot'), 'an ambient token alone makes no provider appear')
  } finally {
    await app.close()
  }
})

test('limits: a POST body over 20 MB is 400 on every POST and leaves nothing behind', async ({
  app,
}) => {
  const big = Buffer.alloc(20 * 1024 * 1024 + 1, 0x20)
  for (const path of ['/api/projects/create', '/api/session/import']) {
    const { status, body } = await app.post(path, big)
    assert.is(status, 400, path)
    assert.type(body.error, 'string')
  }
  assert.equal((await app.get('/api/projects')).body.projects, [])
})

test('limits: accepts exactly 20 MB', async ({ app }) => {
  const text = JSON.stringify({ name: 'fits', color: '#123' })
  const body = Buffer.alloc(20 * 1024 * 1024, 0x20)
  body.write(text)
  assert.is((await app.post('/api/projects/create', body)).status, 200)
})

test('limits: bot_name has at most 64 characters; blank is stored as the default', async ({
  app,
}) => {
  const { body } = await app.post('/api/settings', { bot_name: 'x'.repeat(65) })
  assert.ok(body.bot_name.length <= 64)
  assert.is((await app.post('/api/settings', { bot_name: ' \t ' })).body.bot_name, 'Agent')
})

test('limits: project names have at most 128 characters, counted after trimming', async ({
  app,
}) => {
  assert.is((await app.post('/api/projects/create', { name: ` ${'p'.repeat(128)} ` })).status, 200)
  assert.is((await app.post('/api/projects/create', { name: 'p'.repeat(129) })).status, 400)
})

test('versioning 1–3: git describe in its own checkout; webui_version and the Server header without the leading v', async () => {
  const app = await startApp()
  try {
    const { webui_version } = (await app.get('/api/settings')).body
    const { server } = (await app.get('/health')).headers
    assert.is(
      server,
      webui_version === 'unknown'
        ? 'agent-webui'
        : `agent-webui/${webui_version.replace(/^v/, '')}`,
    )
  } finally {
    await app.close()
  }
})

test('versioning 1: git describe, else the version file, else unknown', async ({ app }) => {
  const { readVersion } = await import('../../lib/version.ts')
  const root = join(app.userHome, 'checkout')
  mkdirSync(root)
  const path = process.env.PATH
  assert.is(await readVersion({ root, path }), 'unknown')
  assert.is(await readVersion({ root, builtIn: 'v7.7.7', path }), 'v7.7.7')
  writeFiles(root, { 'router.ts': '' })
  git(root, 'init', '--quiet', '--template=')
  git(root, 'add', '-A')
  git(root, 'commit', '--quiet', '-m', 'one')
  git(root, 'tag', 'v1.2.3')
  assert.is(await readVersion({ root, builtIn: 'v7.7.7', path }), 'v1.2.3')
  writeFiles(root, { 'router.ts': 'changed' })
  assert.is(await readVersion({ root, path }), 'v1.2.3-dirty')
})

test('errors: every error body is an object with an "error" string; an unsupported method is 405', async ({
  app,
}) => {
  for (const key of Object.keys(routes)) {
    const [method, path] = key.split(' ') as [string, string]
    if (!path.startsWith('/api/') || path in { '/api/events': 1 }) continue
    const other = method === 'GET' ? 'PUT' : 'PATCH'
    const { status, body, headers } = await app.request(other, path)
    assert.is(status, 405, key)
    assert.type(body.error, 'string')
    assert.ok(String(headers.allow).includes(method), key)
  }
})

test('errors: an unexpected exception is 500 with a generic sentence; its message is only logged', async () => {
  const app = await startApp({ allowErrors: true })
  try {
    // A file where the directory of the sessions should be: no mistake of the request's.
    const dir = join(app.state, 'sessions')
    rmSync(dir, { recursive: true })
    writeFileSync(dir, 'x')
    const { status, body, headers } = await app.get('/api/sessions')
    assert.is(status, 500)
    const id = String(headers['x-request-id'])
    assert.match(id, /^[0-9a-f]{12}-[0-9a-z]+$/)
    const error = 'Internal server error'
    assert.equal(body, { error, code: 'internal_error', request_id: id })
    assert.match(app.errors.join('\n'), /ENOTDIR|not a directory/i)
    // What is not a failure of the server has nothing in the log to be found by.
    assert.is((await app.get('/api/nothing')).body.request_id, undefined)
  } finally {
    await app.close()
  }
})

test('authentication 2: the signing key is 32 random bytes in a file with owner-only permissions', async () => {
  const keys = await Promise.all(
    [0, 1].map(async () => {
      const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: 'correct horse' } })
      try {
        await app.post('/api/auth/login', { password: 'correct horse' })
        const path = join(app.state, '.signing_key')
        assert.is(statSync(path).mode & 0o777, 0o600)
        return readFileSync(path)
      } finally {
        await app.close()
      }
    }),
  )
  assert.is(keys[0]?.length, 32)
  assert.not.equal(keys[0], keys[1])
})

test('workspaces: symbolic links lead static files and suggestions nowhere else', async ({
  app,
}) => {
  symlinkSync('/etc', join(app.userHome, 'escape'))
  const { suggestions } = (
    await app.get(`/api/workspaces/suggest?prefix=${join(app.userHome, 'escape')}/`)
  ).body
  assert.equal(suggestions, [])
})

test.run()
