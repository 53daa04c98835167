/** Profiles over HTTP: listed, made, entered and deleted, each with real homes on a real disk. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { gate } from '../_provider.ts'
import { until } from '../_wait.ts'
import { startChat } from './_chat.ts'

type Context = { app: TestApp; before: string | undefined }
const test = suite<Context>('profiles')
test.before.each(async context => {
  context.before = process.env.AGENT_HOME
  context.app = await startApp()
})
test.after.each(async ({ app, before }) => {
  await app.close()
  if (before === undefined) delete process.env.AGENT_HOME
  else process.env.AGENT_HOME = before
})

const as = (profile: string) => ({ headers: { Cookie: `agent_profile=${profile}` } })
const cookieOf = (headers: { 'set-cookie'?: string[] | undefined }): string =>
  headers['set-cookie']?.find(text => text.startsWith('agent_profile=')) ?? ''
const make = async (app: TestApp, name: string, more: Record<string, unknown> = {}) => {
  const answer = await app.post('/api/profile/create', { name, ...more })
  assert.is(answer.status, 200, answer.text)
  return answer.body.profile
}
const names = async (app: TestApp) =>
  (await app.get('/api/profiles')).body.profiles.map(({ name }: { name: string }) => name)
const homeOf = (app: TestApp, name: string) => join(app.home, 'profiles', name)
const modeOf = (path: string) => statSync(path).mode & 0o777

const FIELDS = [
  'name',
  'path',
  'is_default',
  'is_active',
  'gateway_running',
  'model',
  'provider',
  'has_env',
  'skill_count',
]
const EIGHT = ['cron', 'logs', 'memories', 'plans', 'sessions', 'skills', 'skins', 'workspace']

test('create: the name is matched against the entire string (400), default is taken (400)', async ({
  app,
}) => {
  const bad = ['', 'Upper', 'a b', '../x', '-a', 'work\n', 'a'.repeat(65), 'ä', 'default', '.', 7]
  for (const name of [...bad, null, undefined, ['a']]) {
    const { status, body } = await app.post('/api/profile/create', { name })
    assert.is(status, 400, JSON.stringify(name))
    assert.type(body.error, 'string')
  }
  for (const clone_from of ['../x', 'Upper', 'work\n', 'a/b'])
    assert.is((await app.post('/api/profile/create', { name: 'a', clone_from })).status, 400)
  const gone = await app.post('/api/profile/create', { name: 'a', clone_from: 'gone' })
  assert.is(gone.status, 404)
  assert.match(gone.body.error, /does not exist/)
  for (const base_url of ['ftp://x', 'localhost:1', 'javascript:alert(1)', 'http://'])
    assert.is((await app.post('/api/profile/create', { name: 'a', base_url })).status, 400)
  assert.equal(await names(app), ['default'])
  assert.not.ok(
    existsSync(join(app.home, 'profiles')) && readdirSync(join(app.home, 'profiles'))[0],
  )
})

test('create: makes eight private directories and returns exactly nine fields', async ({ app }) => {
  const profile = await make(app, 'work')
  assert.equal(Object.keys(profile).toSorted(), FIELDS.toSorted())
  assert.equal(profile, {
    name: 'work',
    path: homeOf(app, 'work'),
    is_default: false,
    is_active: false,
    gateway_running: false,
    model: null,
    provider: null,
    has_env: false,
    skill_count: 0,
  })
  assert.equal(readdirSync(homeOf(app, 'work')).toSorted(), EIGHT)
  for (const name of ['', ...EIGHT]) assert.is(modeOf(join(homeOf(app, 'work'), name)), 0o700, name)
})

test('create: fails atomically for an existing directory; of concurrent requests one succeeds', async ({
  app,
}) => {
  const dir = homeOf(app, 'taken')
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'mine'), 'kept')
  const taken = await app.post('/api/profile/create', { name: 'taken' })
  assert.is(taken.status, 400)
  assert.match(taken.body.error, /already exists/)
  assert.equal(readdirSync(dir), ['mine'])
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => app.post('/api/profile/create', { name: 'race' })),
  )
  assert.equal(answers.map(({ status }) => status).toSorted(), [200, ...Array(7).fill(400)])
  assert.equal(readdirSync(homeOf(app, 'race')).toSorted(), EIGHT)
})

test('create: a failed clone leaves nothing behind', async ({ app }) => {
  writeFileSync(join(app.home, 'config.yaml'), 'model: [unclosed\n')
  const input = { name: 'half', clone_config: true, base_url: 'http://127.0.0.1:1/v1' }
  const { status, body } = await app.post('/api/profile/create', input)
  assert.is(status, 409, body.error)
  assert.equal(readdirSync(join(app.home, 'profiles')), [])
})

test('create: completes a home that a killed process left half-made', async ({ app }) => {
  const stale = join(app.home, 'profiles', '.creating-work')
  mkdirSync(join(stale, 'memories'), { recursive: true })
  writeFileSync(join(stale, 'memories', 'MEMORY.md'), 'another program’s')
  assert.equal(await names(app), ['default'])
  await make(app, 'work')
  assert.equal(readdirSync(join(app.home, 'profiles')), ['work'])
  assert.equal(readdirSync(join(homeOf(app, 'work'), 'memories')), [])
})

const fillBase = (home: string): void => {
  mkdirSync(join(home, 'memories'))
  mkdirSync(join(home, 'skills', 'a'), { recursive: true })
  const files: [string, string, number][] = [
    ['config.yaml', '# mine\nmodel:\n  default: m1 # this one\n  provider: openrouter\n', 0o640],
    ['.env', '# keys\nOPENROUTER_API_KEY=sk-or-base-secret\n', 0o644],
    ['SOUL.md', 'I am base.', 0o644],
    ['memories/MEMORY.md', 'remember', 0o600],
    ['memories/USER.md', 'the user', 0o640],
    ['memories/OTHER.md', 'not taken', 0o600],
    ['auth.json', '{}', 0o600],
    ['skills/a/SKILL.md', '# a', 0o600],
  ]
  for (const [path, text, mode] of files) {
    writeFileSync(join(home, path), text)
    chmodSync(join(home, path), mode)
  }
}

test('create: a clone copies config.yaml, .env, SOUL.md and the two memories with their modes, nothing else', async ({
  app,
}) => {
  fillBase(app.home)
  const work = await make(app, 'work', { clone_config: true })
  assert.is(work.model, 'm1')
  assert.is(work.provider, 'openrouter')
  assert.is(work.has_env, true)
  assert.is(work.skill_count, 0)
  const dir = homeOf(app, 'work')
  for (const path of ['config.yaml', '.env', 'SOUL.md', 'memories/MEMORY.md', 'memories/USER.md'])
    assert.is(readFileSync(join(dir, path), 'utf8'), readFileSync(join(app.home, path), 'utf8'))
  assert.equal(
    ['config.yaml', '.env', 'SOUL.md', 'memories/USER.md'].map(path => modeOf(join(dir, path))),
    [0o640, 0o600, 0o644, 0o640],
  )
  assert.equal(
    [readdirSync(dir).toSorted(), readdirSync(join(dir, 'memories')).toSorted()],
    [['.env', 'SOUL.md', 'config.yaml', ...EIGHT].toSorted(), ['MEMORY.md', 'USER.md']],
  )

  // clone_from alone clones too ('default' is a valid source); without it the request's profile is the source.
  writeFileSync(join(dir, 'SOUL.md'), 'I am work.')
  const soul = (name: string) => readFileSync(join(homeOf(app, name), 'SOUL.md'), 'utf8')
  await make(app, 'from-default', { clone_from: 'default' })
  await make(app, 'from-work', { clone_from: 'work' })
  const input = { name: 'from-cookie', clone_config: true }
  assert.is((await app.post('/api/profile/create', input, as('work'))).status, 200)
  assert.equal(['from-default', 'from-work', 'from-cookie'].map(soul), [
    'I am base.',
    'I am work.',
    'I am work.',
  ])
  await make(app, 'empty', { clone_config: false, clone_from: '' })
  assert.not.ok(existsSync(join(homeOf(app, 'empty'), '.env')))
})

test('create: base_url, api_key and model are written to config.yaml; a key is never used for another address', async ({
  app,
}) => {
  const local = { base_url: 'http://127.0.0.1:9/v1/', api_key: 'sk-local-1', model: 'qwen' }
  const made = await make(app, 'local', local)
  assert.is(made.model, 'qwen')
  const read = (name: string) => readFileSync(join(homeOf(app, name), 'config.yaml'), 'utf8')
  assert.match(read('local'), /base_url: http:\/\/127\.0\.0\.1:9\/v1\n/)
  assert.match(read('local'), /api_key: sk-local-1\n/)
  assert.is(modeOf(join(homeOf(app, 'local'), 'config.yaml')), 0o600)
  await make(app, 'moved', { clone_from: 'local', base_url: 'http://127.0.0.1:8/v1' })
  assert.not.match(read('moved'), /sk-local-1/)
  await make(app, 'same', { clone_from: 'local', base_url: 'http://127.0.0.1:9/v1' })
  assert.match(read('same'), /sk-local-1/)
  writeFileSync(join(app.home, 'config.yaml'), 'model: plain-name\n')
  await make(app, 'text', { clone_from: 'default', api_key: 'sk-2' })
  assert.match(read('text'), /default: plain-name\n {2}api_key: sk-2/)
})

test('list: default first, then sorted; valid directory names only; reads the current files', async ({
  app,
}) => {
  for (const name of ['zeta', 'alpha', 'm-1']) await make(app, name)
  for (const name of ['Upper', '.hidden', 'a b', 'default']) mkdirSync(homeOf(app, name))
  writeFileSync(homeOf(app, 'file'), '')
  assert.equal(await names(app), ['default', 'alpha', 'm-1', 'zeta'])

  const dir = homeOf(app, 'zeta')
  for (const path of ['a', 'b/c', '.hub/x', 'b/.git', 'deep/er/still']) {
    mkdirSync(join(dir, 'skills', path), { recursive: true })
    writeFileSync(join(dir, 'skills', path, 'SKILL.md'), '')
  }
  symlinkSync(join(dir, 'skills'), join(dir, 'skills', 'loop'))
  writeFileSync(join(dir, 'config.yaml'), 'model:\n  model: other\n  provider: openai\n')
  writeFileSync(join(dir, 'gateway.pid'), JSON.stringify({ pid: process.pid }))
  writeFileSync(join(homeOf(app, 'alpha'), 'gateway.pid'), '-1')
  const { body } = await app.get('/api/profiles', as('zeta'))
  assert.is(body.active, 'zeta')
  const found = body.profiles.at(-1)
  const { skill_count, model, provider, gateway_running, is_active } = found
  assert.equal(
    [skill_count, model, provider, gateway_running, is_active],
    [3, 'other', 'openai', true, true],
  )
  assert.is(body.profiles[1].gateway_running, false)
  assert.equal(
    body.profiles.map(({ is_active: on }: { is_active: boolean }) => on),
    [false, false, false, true],
  )
})

test('switch: an invalid name is 400, an unknown one 404 "does not exist"; neither switches', async ({
  app,
}) => {
  for (const name of ['', 'Upper', '../x', 'a\n', 5]) {
    const { status, headers } = await app.post('/api/profile/switch', { name })
    assert.is(status, 400, JSON.stringify(name))
    assert.is(cookieOf(headers), '')
  }
  const gone = await app.post('/api/profile/switch', { name: 'gone' })
  assert.is(gone.status, 404)
  assert.match(gone.body.error, /does not exist/)
  assert.is(cookieOf(gone.headers), '')
  assert.not.ok(existsSync(join(app.home, 'active_profile')))
})

test('switch: sets the cookie and the sticky marker, updates AGENT_HOME, returns default_model and default_workspace', async ({
  app,
}) => {
  await make(app, 'work')
  const place = join(app.userHome, 'code')
  mkdirSync(place)
  writeFileSync(
    join(homeOf(app, 'work'), 'config.yaml'),
    `model:\n  default: gpt-5\nworkspace: ${place}\n`,
  )
  const there = await app.post('/api/profile/switch', { name: 'work' })
  assert.is(there.status, 200, there.text)
  const { active, default_model, default_workspace, profiles } = there.body
  assert.equal([active, default_model, default_workspace], ['work', 'gpt-5', place])
  assert.is(profiles.find(({ name }: { name: string }) => name === 'work').is_active, true)
  assert.is(cookieOf(there.headers), 'agent_profile=work; HttpOnly; Path=/; SameSite=Lax')
  assert.is(readFileSync(join(app.home, 'active_profile'), 'utf8'), 'work\n')
  assert.is(process.env.AGENT_HOME, homeOf(app, 'work'))
  // Requests without a cookie follow the process-level profile, those with one do not.
  assert.equal((await app.get('/api/profile/active')).body, {
    name: 'work',
    path: homeOf(app, 'work'),
  })
  assert.is((await app.get('/api/profile/active', as('default'))).body.name, 'default')
  await app.restart()
  assert.is((await app.get('/api/profile/active')).body.name, 'work')

  const back = await app.post('/api/profile/switch', { name: 'default' })
  assert.is(cookieOf(back.headers), 'agent_profile=default; HttpOnly; Path=/; SameSite=Lax')
  assert.is(back.body.default_model, null)
  assert.not.ok(existsSync(join(app.home, 'active_profile')))
  assert.is(process.env.AGENT_HOME, app.home)
})

test('AGENT_HOME pointing at a profile never changes the base home, and default can be selected again', async ({
  app,
}) => {
  await make(app, 'work')
  await using inside = await startApp({
    env: {
      AGENT_HOME: homeOf(app, 'work'),
      AGENT_WEBUI_STATE_DIR: join(app.userHome, 'other-state'),
    },
  })
  const { body } = await inside.get('/api/profiles')
  assert.equal(
    body.profiles.map(({ path }: { path: string }) => path),
    [app.home, homeOf(app, 'work')],
  )
  assert.is(body.active, 'work')
  await inside.post('/api/profile/create', { name: 'sibling' })
  assert.ok(existsSync(homeOf(app, 'sibling')), 'beside, not inside')
  await inside.post('/api/profile/switch', { name: 'default' })
  assert.is((await inside.get('/api/profile/active')).body.name, 'default')
})

test('delete: an invalid name and default are 400, an unknown profile is 404', async ({ app }) => {
  for (const name of ['', 'default', 'Upper', '../x', 'a\n', null]) {
    const { status } = await app.post('/api/profile/delete', { name })
    assert.is(status, 400, JSON.stringify(name))
  }
  const gone = await app.post('/api/profile/delete', { name: 'gone' })
  assert.is(gone.status, 404)
  assert.match(gone.body.error, /does not exist/)
  assert.ok(existsSync(app.home))
})

test('delete: removes the whole home but no link targets; a new profile of that name inherits nothing', async ({
  app,
}) => {
  await make(app, 'work')
  const dir = homeOf(app, 'work')
  const outside = join(app.userHome, 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'keep'), '')
  symlinkSync(outside, join(dir, 'workspace', 'link'))
  writeFileSync(join(dir, '.env'), 'OPENAI_API_KEY=sk-old-secret\n')
  writeFileSync(join(dir, 'auth.json'), '{"active_provider":"openai"}')
  assert.is((await app.get('/api/models', as('work'))).body.active_provider, 'openai')
  assert.equal((await app.post('/api/profile/delete', { name: 'work' })).body, {
    ok: true,
    name: 'work',
  })
  assert.equal(readdirSync(join(app.home, 'profiles')), [])
  assert.ok(existsSync(join(outside, 'keep')))
  const again = await make(app, 'work')
  assert.is(again.has_env, false)
  writeFileSync(join(dir, 'auth.json'), '{ broken')
  assert.is.not((await app.get('/api/models', as('work'))).body.active_provider, 'openai')
})

test('delete: the active profile first switches to default, in the caller’s cookie and the process', async ({
  app,
}) => {
  await make(app, 'work')
  await make(app, 'play')
  await app.post('/api/profile/switch', { name: 'work' })
  // Another browser's: the process-level profile is not touched (defect: compared with the process only).
  const play = await app.post('/api/profile/delete', { name: 'play' }, as('play'))
  assert.match(cookieOf(play.headers), /^agent_profile=default;/)
  assert.is((await app.get('/api/profile/active')).body.name, 'work')
  const work = await app.post('/api/profile/delete', { name: 'work' })
  assert.match(cookieOf(work.headers), /^agent_profile=default;/)
  assert.not.ok(existsSync(join(app.home, 'active_profile')))
  assert.is((await app.get('/api/profile/active')).body.name, 'default')
})

test('a browser with a deleted profile gets an error and is switched to default, because the name may be reused', async ({
  app,
}) => {
  await make(app, 'work')
  const events = app.events('/api/events')
  await events.until(({ event }) => event === 'ready')
  await app.post('/api/profile/delete', { name: 'work' })
  const seen = await events.until(({ event }) => event === 'notice')
  events.close()
  assert.match(String(seen.at(-1)?.data.data.message), /'work' was deleted/)
  const { body, headers } = await app.get('/api/profile/active', as('work'))
  assert.is(body.name, 'default')
  assert.match(cookieOf(headers), /^agent_profile=default;/)
  assert.is(cookieOf((await app.get('/api/profile/active', as('default'))).headers), '')
})

test('delete: rejected while a gateway runs (409)', async ({ app }) => {
  await make(app, 'work')
  writeFileSync(join(homeOf(app, 'work'), 'gateway.pid'), String(process.pid))
  assert.is((await app.post('/api/profile/delete', { name: 'work' })).status, 409)
  assert.ok(existsSync(homeOf(app, 'work')))
  rmSync(join(homeOf(app, 'work'), 'gateway.pid'))
})

test('completes an interrupted deletion at the next start', async ({ app }) => {
  await make(app, 'work')
  const grave = join(app.home, 'profiles', '.deleted-old-0a0b0c0d')
  mkdirSync(join(grave, 'memories'), { recursive: true })
  writeFileSync(join(grave, '.env'), 'KEY=secret')
  assert.equal(await names(app), ['default', 'work'])
  await app.restart()
  // The sweep runs beside the start.
  await until(() => !existsSync(grave), 'the sweep')
  assert.equal(readdirSync(join(app.home, 'profiles')), ['work'])
})

test('switch and delete are 409 while any turn runs in any profile, and work afterwards', async () => {
  const held = gate()
  const chat = await startChat({ text: 'hello', gate: held.opened }, { text: 'Title' })
  const before = process.env.AGENT_HOME
  try {
    const { app } = chat
    for (const name of ['idle', 'other']) await make(app, name)
    const id = await chat.newSession()
    const stream = await chat.send(id, 'hi')
    for (const [path, name] of [
      ['switch', 'idle'],
      ['delete', 'idle'],
      ['delete', 'other'],
      ['switch', 'default'],
    ] as const) {
      const { status, body, headers } = await app.post(
        path === 'switch' ? '/api/profile/switch' : '/api/profile/delete',
        { name },
        path === 'delete' ? as('other') : {},
      )
      assert.is(status, 409, `${path} ${name}`)
      assert.match(body.error, /while an agent is running/)
      assert.is(cookieOf(headers), '')
    }
    assert.ok(existsSync(homeOf(app, 'idle')))
    held.open()
    await chat.follow(stream)
    assert.is((await app.post('/api/profile/switch', { name: 'idle' })).status, 200)
    assert.is((await app.post('/api/profile/delete', { name: 'idle' })).status, 200)
  } finally {
    await chat.close()
    if (before === undefined) delete process.env.AGENT_HOME
    else process.env.AGENT_HOME = before
  }
})

test.run()
