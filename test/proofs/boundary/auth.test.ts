/** Proof *Auth* of the bar on the whole service: forged cookies, throttle, restart, revocation, CSRF, DNS rebinding, open redirect. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../../_app.ts'

const auth = suite('auth')
const PASSWORD = 'correct horse'

const withApp =
  (run: (app: TestApp) => Promise<void>, env: Record<string, string> = {}) =>
  async () => {
    const app = await startApp({ env })
    try {
      await run(app)
    } finally {
      await app.close()
    }
  }

const cookieOf = (headers: { 'set-cookie'?: string[] | undefined }): string =>
  headers['set-cookie']?.find(cookie => cookie.startsWith('agent_session='))?.split(';')[0] ?? ''

const signIn = async (app: TestApp, password = PASSWORD, address = '198.51.100.1') => {
  const answer = await app.request('POST', '/api/auth/login', {
    body: { password },
    headers: { 'x-forwarded-for': address },
  })
  return { ...answer, cookie: cookieOf(answer.headers) }
}
const as = (app: TestApp, cookie: string, path = '/api/sessions') =>
  app.request('GET', path, { headers: { cookie } })

auth(
  'no, forged, truncated, duplicated and signed-out cookies give no access',
  withApp(
    async app => {
      const { cookie, headers } = await signIn(app)
      assert.match(cookie, /^agent_session=[0-9a-f]{64}\.[0-9a-f]{32}$/)
      assert.match(String(headers['set-cookie']), /HttpOnly; Max-Age=86400; Path=\/; SameSite=Lax/)
      assert.is((await as(app, cookie)).status, 200)
      const [name, value = ''] = cookie.split('=')
      const forged = `${'0'.repeat(64)}.${value.slice(65)}`
      const flipped = value.slice(0, -1) + (value.endsWith('0') ? '1' : '0')
      for (const bad of [
        '',
        forged,
        flipped,
        value.slice(0, 64),
        value.slice(0, -1),
        `${value}0`,
        value.toUpperCase(),
        '%00',
        '"',
      ])
        assert.equal([bad, (await as(app, `${name}=${bad}`)).status], [bad, 401])
      const { body } = await as(app, '', '/api/nope')
      assert.equal(body, { error: 'Authentication required', code: 'sign_in_required' })
      const out = await app.request('POST', '/api/auth/logout', { headers: { cookie }, body: {} })
      assert.is(out.status, 200)
      assert.is((await as(app, cookie)).status, 401)
    },
    { AGENT_WEBUI_PASSWORD: PASSWORD },
  ),
)

auth(
  'redirects a page without a cookie to exactly /login, for every path',
  withApp(
    async app => {
      for (const path of [
        '/',
        '/index.html',
        '/session/abc',
        '/nope',
        '/%2F%2Fevil.example',
        '/?next=//evil.example',
        '//evil.example/',
      ]) {
        const { status, headers } = await app.get(path)
        assert.equal([path, status, headers.location], [path, 302, '/login'])
      }
    },
    { AGENT_WEBUI_PASSWORD: PASSWORD },
  ),
)

auth(
  'after five wrong passwords a minute from one address the right one waits too; other addresses do not',
  withApp(
    async app => {
      const wrong = await Promise.all(Array.from({ length: 7 }, () => signIn(app, 'wrong')))
      const statuses = wrong.map(answer => answer.status).toSorted()
      assert.equal(statuses, [401, 401, 401, 401, 401, 429, 429])
      assert.is((await signIn(app)).status, 429)
      assert.is((await signIn(app, PASSWORD, '198.51.100.2')).status, 200)
    },
    { AGENT_WEBUI_PASSWORD: PASSWORD },
  ),
)

auth(
  'setting a password keeps its setter signed in, also after a restart; a new one signs out all others',
  withApp(async app => {
    assert.equal((await app.get('/api/auth/status')).body, {
      auth_enabled: false,
      logged_in: false,
    })
    const set = await app.post('/api/settings', { _set_password: PASSWORD })
    assert.equal([set.body.auth_just_enabled, set.body.logged_in], [true, true])
    assert.not.ok('password_hash' in set.body)
    const mine = cookieOf(set.headers)
    const { cookie: other } = await signIn(app)
    await app.restart()
    assert.equal([(await as(app, mine)).status, (await as(app, other)).status], [200, 200])
    assert.is((await app.get('/api/sessions')).status, 401)
    const stored = readFileSync(join(app.state, 'auth-sessions.json'), 'utf8')
    assert.not.match(stored, mine.slice('agent_session='.length, 40))

    const { body } = await as(app, mine, '/api/auth/devices')
    assert.is(body.devices.length, 2)
    const second = body.devices.find((device: { current: boolean }) => !device.current)
    const revoked = await app.request('POST', '/api/auth/revoke', {
      headers: { cookie: mine },
      body: { id: second.id },
    })
    assert.is(revoked.body.revoked, 1)
    assert.is((await as(app, other)).status, 401)

    const { cookie: third } = await signIn(app)
    await app.request('POST', '/api/settings', {
      headers: { cookie: mine },
      body: { _set_password: 'another one' },
    })
    assert.equal([(await as(app, mine)).status, (await as(app, third)).status], [200, 401])
    assert.is((await signIn(app)).status, 401)

    // The hash goes neither out nor in.
    const { text } = await as(app, mine, '/api/settings')
    assert.not.match(text, 'password_hash')
    const written = await app.request('POST', '/api/settings', {
      headers: { cookie: mine },
      body: { password_hash: 'f'.repeat(64) },
    })
    assert.equal(written.body.ignored, ['password_hash'])
    assert.is((await signIn(app, 'another one')).status, 200)
    await app.request('POST', '/api/settings', {
      headers: { cookie: mine },
      body: { _set_password: '  ' },
    })
    assert.is((await app.get('/api/sessions')).status, 401)
    await app.request('POST', '/api/settings', {
      headers: { cookie: mine },
      body: { _clear_password: true },
    })
    assert.is((await app.get('/api/sessions')).status, 200)
  }),
)

auth(
  'cross-site: rejects a POST, a form and a GET with effects; accepts same-site ones',
  withApp(async app => {
    const { body } = await app.post('/api/session/new', {})
    const { session_id } = body.session
    const crossSite: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { referer: 'https://evil.example/page' },
      { origin: 'https://evil.example', 'content-type': 'text/plain' },
    ]
    for (const headers of crossSite) {
      const { status, body } = await app.request('POST', '/api/session/clear', {
        headers,
        body: { session_id },
      })
      assert.equal([status, body.error], [403, 'Cross-origin request rejected'])
    }
    const get = `/api/chat/cancel?stream_id=${'0'.repeat(32)}`
    const far = await app.request('GET', get, { headers: { 'sec-fetch-site': 'cross-site' } })
    assert.is(far.status, 403)
    assert.is((await app.get(get)).status, 200)
    const near = await app.request('POST', '/api/session/clear', {
      headers: { origin: app.url },
      body: { session_id },
    })
    assert.is(near.status, 200)
  }),
)

auth(
  'DNS rebinding: without a password a foreign Host is rejected, with one the cookie decides',
  withApp(async app => {
    for (const host of [
      'evil.example',
      'evil.example:8787',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
    ]) {
      const { status, body } = await app.request('GET', '/api/sessions', { headers: { host } })
      assert.is(status, 403)
      assert.match(body.error, 'AGENT_WEBUI_ALLOWED_ORIGINS')
    }
    for (const host of ['localhost:1', 'app.localhost', '127.0.0.1', '[::1]:5', '192.0.2.7'])
      assert.is((await app.request('GET', '/api/sessions', { headers: { host } })).status, 200)
    const set = await app.post('/api/settings', { _set_password: PASSWORD })
    const { status } = await app.request('GET', '/api/sessions', {
      headers: { host: 'my.box.example', cookie: cookieOf(set.headers) },
    })
    assert.is(status, 200)
  }),
)

auth.run()
