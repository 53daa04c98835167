/** Setting a password over HTTP: what is accepted can be signed in with, in every spelling; what could not be is refused. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { launch, SERVICE } from '../../build/start-program.ts'
import { tempDir } from '../_temp-dir.ts'

const test = suite('password over HTTP')

const withApp =
  (run: (app: TestApp) => Promise<void>, env: Record<string, string> = {}) =>
  async () => {
    await using app = await startApp({ env })
    await run(app)
  }

const cookieOf = (answer: { headers: { 'set-cookie'?: string[] | undefined } }) => ({
  cookie: (answer.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '',
})

const COMPOSED = 'Pässwörd-Ångström-한글'.normalize('NFC')
const DECOMPOSED = COMPOSED.normalize('NFD')

/** Set as the first, typed as each of the others. */
const SPELLINGS: [set: string, typed: string[]][] = [
  ['x', ['x', ' x', 'x\n', '\tx  ']],
  ['  spaces around  ', ['spaces around', '  spaces around ']],
  [COMPOSED, [COMPOSED, DECOMPOSED]],
  [DECOMPOSED, [COMPOSED, DECOMPOSED]],
  ['🔑'.repeat(512), ['🔑'.repeat(512)]],
  ['a'.repeat(1_024), ['a'.repeat(1_024), ` ${'a'.repeat(1_024)} `]],
  ['é'.normalize('NFD').repeat(1_024), ['é'.repeat(1_024), 'é'.normalize('NFD').repeat(1_024)]],
  ['"quote\\back\u2028', ['"quote\\back\u2028']],
]

const UNUSABLE = [
  'a'.repeat(1_025),
  `${'a'.repeat(1_024)}é`,
  '🔑'.repeat(513),
  'two\nlines',
  'two\rlines',
  'nul\0',
  '\ud800',
]

test(
  'an accepted password signs in, however it is typed',
  withApp(async app => {
    let headers = {}
    for (const [set, typed] of SPELLINGS) {
      const answer = await app.post('/api/settings', { _set_password: set }, { headers })
      assert.is(answer.status, 200)
      if (answer.headers['set-cookie']) headers = cookieOf(answer)
      for (const password of typed) {
        const { status } = await app.post('/api/auth/login', { password })
        assert.is(status, 200, JSON.stringify(password.slice(0, 40)))
      }
      if (set.length > 30) continue
      const wrong = await app.post('/api/auth/login', { password: `${set.trim().slice(0, 500)}?` })
      assert.is(wrong.status, 401)
    }
  }),
)

test(
  'rejects an unusable password with a reason and stores nothing of the request',
  withApp(async app => {
    for (const password of UNUSABLE) {
      const { status, body } = await app.post('/api/settings', {
        _set_password: password,
        theme: 'nord',
      })
      assert.equal([status, /^A password can/.test(body.error)], [400, true], password.slice(0, 20))
    }
    const { body } = await app.get('/api/settings')
    assert.equal([body.auth_enabled, body.theme], [false, 'dark'])
  }),
)

test('an unusable password variable stops startup with a reason', async () => {
  const home = tempDir('password')
  for (const password of ['a'.repeat(1_025), 'two\nlines']) {
    const program = launch(process.execPath, [SERVICE, '--no-browser'], {
      home,
      env: { AGENT_WEBUI_PASSWORD: password },
    })
    assert.is(await program.exited, 78)
    assert.match(program.output(), /AGENT_WEBUI_PASSWORD cannot be used\. A password can/)
    assert.not.match(program.output(), 'aaaa')
  }
})

test(
  'with the variable set, changing and removing are rejected and change nothing',
  withApp(
    async app => {
      const headers = cookieOf(await app.post('/api/auth/login', { password: COMPOSED }))
      for (const change of [
        { _set_password: 'another one' },
        { _clear_password: true },
        { _set_password: 'another one', _clear_password: true },
        { _set_password: 'another one', theme: 'nord' },
      ]) {
        const { status, body } = await app.post('/api/settings', change, { headers })
        assert.is(status, 409)
        assert.match(body.error, 'AGENT_WEBUI_PASSWORD')
      }
      const harmless = { _set_password: '  ', _clear_password: false, language: 'de' }
      assert.is((await app.post('/api/settings', harmless, { headers })).status, 200)
      const { body } = await app.get('/api/settings', { headers })
      assert.equal(
        [body.password_env_var, body.auth_enabled, body.theme, body.language],
        [true, true, 'dark', 'de'],
      )
      assert.not(
        'password_hash' in JSON.parse(readFileSync(join(app.state, 'settings.json'), 'utf8')),
      )
    },
    { AGENT_WEBUI_PASSWORD: DECOMPOSED },
  ),
)

test('bound to the network, the password cannot be removed, and without one every request is rejected', async () => {
  await using app = await startApp({ argv: ['--host', '0.0.0.0'] })
  for (const path of ['/api/sessions', '/api/settings', '/api/onboarding/status', '/api/events'])
    assert.is((await app.get(path)).status, 401, path)
  assert.is((await app.post('/api/settings', { _set_password: 'mine' })).status, 401)
  assert.is((await app.post('/api/onboarding/setup', {})).status, 401)
  assert.is((await app.get('/')).headers.location, '/login')
  assert.is((await app.get('/health')).status, 200)
  const token = /setup token (\S+)/.exec(app.lines.join('\n'))?.[1] ?? ''
  const headers = cookieOf(await app.post('/api/auth/login', { password: token.toUpperCase() }))
  assert.is((await app.get('/api/settings', { headers })).body.password_missing, true)
  assert.is((await app.post('/api/auth/login', { password: token })).status, 401)
  assert.is((await app.post('/api/settings', { _set_password: 'mine' }, { headers })).status, 200)
  const removed = await app.post('/api/settings', { _clear_password: true }, { headers })
  assert.equal([removed.status, /other machines/.test(removed.body.error)], [409, true])
  assert.is((await app.get('/api/settings', { headers })).body.password_missing, false)
})

test.run()
