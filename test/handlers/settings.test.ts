/** Settings, reasoning and the default model over HTTP: the file they end up in, and who is let in afterwards. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'

const test = suite<{ app: TestApp }>('settings over HTTP')
test.before.each(async context => {
  context.app = await startApp()
})
test.after.each(({ app }) => app.close())

const config = (app: TestApp, dir = app.home) => join(dir, 'config.yaml')
const cookieOf = (answer: { headers: { 'set-cookie'?: string[] | undefined } }): string =>
  answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''

test('a blank password changes nothing', async ({ app }) => {
  for (const _set_password of ['', '   ', null, 5, {}, []]) {
    const { body } = await app.post('/api/settings', { _set_password })
    assert.equal([body.auth_enabled, body.auth_just_enabled, body.logged_in], [false, false, false])
  }
})

test('GET returns the settings, the version and the default model, and no secret', async ({
  app,
}) => {
  const { body, headers } = await app.get('/api/settings')
  assert.equal(
    Object.keys(body).sort(),
    'accent auth_enabled bot_name check_for_updates default_model default_workspace density font_size language language_from logged_in notifications_enabled onboarding_completed password_env_var password_missing reading_font send_key show_cli_sessions show_steps show_thinking show_token_usage sidebar_density skin sound_enabled sync_to_insights theme webui_version'.split(
      ' ',
    ),
  )
  assert.is(headers['cache-control'], 'no-store')
  assert.is(body.default_model, '')
  assert.is(body.auth_enabled, false)
})

test('saves, returns and reads settings, also after a restart; names what it ignores', async ({
  app,
}) => {
  const patch = {
    theme: 'my own',
    sidebar_density: 'detailed',
    show_token_usage: 'yes',
    bot_name: ' Zoë ☂ ',
    send_key: 'space',
  }
  const { body } = await app.post('/api/settings', patch)
  const expected = {
    theme: 'my own',
    sidebar_density: 'detailed',
    show_token_usage: true,
    bot_name: 'Zoë ☂',
    send_key: 'enter',
  }
  const pick = (record: Record<string, unknown>) =>
    Object.fromEntries(Object.keys(expected).map(key => [key, record[key]]))
  assert.equal(pick(body), expected)
  assert.equal(body.ignored, ['send_key'])
  await app.restart()
  assert.equal(pick((await app.get('/api/settings')).body), expected)
})

test('setting a password signs in its setter; clearing it turns authentication off', async ({
  app,
}) => {
  const set = await app.post('/api/settings', { _set_password: ' secret ', theme: 'nord' })
  const { auth_enabled, auth_just_enabled, logged_in, theme } = set.body
  assert.equal([auth_enabled, auth_just_enabled, logged_in, theme], [true, true, true, 'nord'])
  assert.not.match(set.text, /[0-9a-f]{64}/)
  assert.is((await app.get('/api/settings')).status, 401)
  const headers = { Cookie: cookieOf(set) }
  const seen = await app.get('/api/settings', { headers })
  assert.equal([seen.body.auth_enabled, seen.body.logged_in], [true, true])
  const changed = await app.post('/api/settings', { _set_password: 'other' }, { headers })
  assert.equal([changed.body.auth_just_enabled, changed.body.logged_in], [false, true])
  assert.is((await app.post('/api/auth/login', { password: 'secret' })).status, 401)
  assert.is((await app.get('/api/settings', { headers })).status, 200)
  const kept = await app.post('/api/settings', { _clear_password: 'false' }, { headers })
  assert.is(kept.body.auth_enabled, true)
  const cleared = await app.post('/api/settings', { _clear_password: true }, { headers })
  assert.equal([cleared.body.auth_enabled, cleared.body.logged_in], [false, false])
  assert.is((await app.get('/api/settings')).status, 200)
})

const REFUSED: [body: Record<string, unknown>, words: RegExp][] = [
  [{}, /must supply 'display' or 'effort'/],
  [{ effort: null }, /must supply/],
  [{ effort: '' }, /effort is required/],
  [{ effort: ' ' }, /effort is required/],
  [
    { effort: 'ultra' },
    /Unknown reasoning effort 'ultra'\. Valid: none, minimal, low, medium, high, xhigh\./,
  ],
  [{ display: 'hide', effort: 'silly' }, /Unknown reasoning effort 'silly'/],
  [{ display: 'maybe', effort: 'high' }, /display must be show\|hide\|on\|off \(got 'maybe'\)/],
]
test('reasoning: a rejected effort writes nothing', async ({ app }) => {
  for (const [body, words] of REFUSED) {
    const answer = await app.post('/api/reasoning', body)
    assert.is(answer.status, 400)
    assert.match(answer.body.error, words)
  }
  assert.is(existsSync(config(app)), false)
})

test('reasoning: both fields at once', async ({ app }) => {
  const { status, body } = await app.post('/api/reasoning', { effort: 'low', display: 'hide' })
  assert.equal([status, body], [200, { show_reasoning: false, reasoning_effort: 'low' }])
})

test('reasoning: written to config.yaml, mirrored in the settings, and read from either', async ({
  app,
}) => {
  assert.equal((await app.get('/api/reasoning')).body, {
    show_reasoning: true,
    reasoning_effort: '',
  })
  writeFileSync(config(app), '# mine\nagent:\n  max_turns: 9 # nine\n')
  const high = await app.post('/api/reasoning', { effort: 'HIGH' })
  assert.equal(high.body, { show_reasoning: true, reasoning_effort: 'high' })
  const hidden = await app.post('/api/reasoning', { display: 'hide' })
  assert.equal(hidden.body, { show_reasoning: false, reasoning_effort: 'high' })
  assert.is(
    readFileSync(config(app), 'utf8'),
    '# mine\nagent:\n  max_turns: 9 # nine\n  reasoning_effort: high\ndisplay:\n  show_reasoning: false\n',
  )
  assert.is((await app.get('/api/settings')).body.show_thinking, false)
  assert.is(JSON.parse(readFileSync(join(app.state, 'settings.json'), 'utf8')).show_thinking, false)
  await app.post('/api/settings', { show_thinking: true })
  assert.equal((await app.get('/api/reasoning')).body.show_reasoning, true)
  writeFileSync(config(app), 'display: {show_reasoning: off}\n')
  assert.is((await app.get('/api/settings')).body.show_thinking, false)
})

test('reasoning: the efforts that a model knows', async ({ app }) => {
  const custom = (model: string) => `@custom:box:${model}`
  writeFileSync(
    config(app),
    'custom_providers: [{name: box, base_url: "http://127.0.0.1:9/v1", model: m}]\nagent: {reasoning_effort: low}\n',
  )
  for (const [model, efforts] of [
    [custom('Qwen3.6-35B-A3B'), ['none', 'high']],
    [custom('Qwen3-Coder-30B-A3B-Instruct'), []],
    [custom('gpt-oss-20b'), ['low', 'medium', 'high']],
    // What cannot be called is not known.
    ['@openai:gpt-5.4', ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']],
  ] as const)
    assert.equal((await app.get(`/api/reasoning?model=${encodeURIComponent(model)}`)).body, {
      show_reasoning: true,
      reasoning_effort: 'low',
      efforts,
    })
})

test('rejects a change when config.yaml is unreadable, and loses nothing', async ({ app }) => {
  writeFileSync(config(app), 'model: {broken\n')
  const posts: [path: string, body: unknown][] = [
    ['/api/reasoning', { effort: 'high' }],
    ['/api/default-model', { model: 'x' }],
    ['/api/settings', { show_thinking: false, theme: 'nord' }],
  ]
  for (const [path, body] of posts) {
    const answer = await app.post(path, body)
    assert.is(answer.status, 409, path)
    assert.match(answer.body.error, /config\.yaml/)
  }
  assert.is(readFileSync(config(app), 'utf8'), 'model: {broken\n')
  assert.is((await app.get('/api/settings')).body.theme, 'dark')
})

test('the default model: rejects invalid ones, writes as in contract C.5, reads back', async ({
  app,
}) => {
  for (const model of ['', '   ', 5, null, 'a\nb', 'x'.repeat(501), '@nosuchprovider:foo'])
    assert.is((await app.post('/api/default-model', { model })).status, 400)
  const { body } = await app.post('/api/default-model', { model: '@openai:gpt-5.4' })
  assert.equal(body, { ok: true, model: 'gpt-5.4' })
  await app.post('/api/reasoning', { effort: 'high' })
  await app.post('/api/reasoning', { display: 'hide' })
  assert.is(
    readFileSync(config(app), 'utf8'),
    'model:\n  default: gpt-5.4\n  provider: openai\n  base_url: https://api.openai.com/v1\nagent:\n  reasoning_effort: high\ndisplay:\n  show_reasoning: false\n',
  )
  assert.is((await app.get('/api/models')).body.default_model, 'gpt-5.4')
  assert.is((await app.get('/api/settings')).body.default_model, 'gpt-5.4')
})

test('an old default model moves from the settings into config.yaml, once', async ({ app }) => {
  writeFileSync(join(app.state, 'settings.json'), '{"default_model":"old-model","bubble_layout":1}')
  assert.is((await app.get('/api/settings')).body.default_model, 'old-model')
  assert.is(readFileSync(config(app), 'utf8'), 'model:\n  default: old-model\n')
  assert.not.match(readFileSync(join(app.state, 'settings.json'), 'utf8'), /default_model/)
})

test('two profiles have separate effort, display and default model', async ({ app }) => {
  const work = join(app.home, 'profiles', 'work')
  mkdirSync(work, { recursive: true })
  const headers = { Cookie: 'agent_profile=work' }
  await app.post('/api/reasoning', { effort: 'low' }, { headers })
  await app.post('/api/default-model', { model: '@zai:glm-5' }, { headers })
  assert.is(existsSync(config(app)), false)
  assert.match(readFileSync(config(app, work), 'utf8'), /reasoning_effort: low/)
  assert.equal((await app.get('/api/reasoning')).body.reasoning_effort, '')
  assert.is((await app.get('/api/settings', { headers })).body.default_model, 'glm-5')
  assert.is((await app.get('/api/settings')).body.default_model, '')
})

test.run()
