/** Signing in over HTTP, the pages around it, and health: the handlers on a real server. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../lib/base/clock.ts'
import * as authHandlers from '../../handlers/auth.ts'
import * as health from '../../handlers/health.ts'
import * as pages from '../../handlers/pages.ts'
import { Auth, authenticatorOf } from '../../lib/people/auth.ts'
import { People } from '../../lib/people/people.ts'
import { textsFor } from '../../lib/people/login-page.ts'
import { BaseCtx } from '../../lib/http/request-context.ts'
import { createAsset } from '../../lib/http/static.ts'
import { missingHeaders, openServer, type TestServer } from '../lib/http/_server.ts'
import { createTestClock } from '../_clock.ts'

const routes = {
  'GET /': pages.shell,
  'GET /index.html': pages.shell,
  'GET /login': pages.login,
  'GET /favicon.ico': pages.favicon,
  'GET /health': health.health,
  'GET /api/openapi.json': health.openapi,
  'GET /api/auth/status': authHandlers.status,
  'POST /api/auth/login': authHandlers.login,
  'POST /api/auth/logout': authHandlers.logout,
}
const patternRoutes = { 'GET /session/:id': pages.shell, 'GET /static/*': pages.asset }

const page = (name: string) => readFileSync(new URL(`../../public/${name}`, import.meta.url))

const assets = new Map([
  ['index.html', createAsset('index.html', page('index.html'))],
  ['features/sign-in/login.html', createAsset('login.html', page('features/sign-in/login.html'))],
  ['/static/favicon.ico', createAsset('favicon.ico', Buffer.from('icon'))],
])
const settings = { theme: 'dark', language: 'en', bot_name: 'Agent' }

const test = suite<{ at: TestServer; dir: string; auth: Auth }>('handlers/auth')
test.before.each(async context => {
  context.dir = mkdtempSync(join(tmpdir(), 'agent-webui-login-'))
  const auth = new Auth(context.dir, new People(context.dir, () => {}), {
    clock: systemClock,
    config: { password: null, isExposed: false },
    settings: { read: () => ({ kind: 'none' }), store() {} },
    log: { warn: () => {} },
    iterations: 10,
  })
  context.auth = auth
  const clock = createTestClock()
  const app = {
    auth,
    audit: { note() {} },
    people: { hasOthers: () => false, nameOf: () => '' },
    passkeys: { isUsable: () => false },
    settings: { get: () => settings },
    personalSettings: { of: () => settings },
    config: { allowedOrigins: [] },
    version: 'v1.2.3',
    assets: async () => assets,
    clock,
    startedAt: clock.now() - 1500,
    turns: { count: () => 2 },
  }
  context.at = await openServer(routes, {
    patternRoutes,
    authenticator: authenticatorOf(auth),
    makeCtx: (...base) => Object.assign(new BaseCtx(...base), { app, may: () => true }) as never,
  })
})
test.after.each(async ({ at, dir, auth }) => {
  await at.close()
  auth.close()
  rmSync(dir, { recursive: true, force: true })
})

test('authentication off', async ({ at }) => {
  const login = await at.post('/api/auth/login', { password: 'x' })
  assert.equal(
    [login.status, await login.json(), login.headers.getSetCookie()],
    [200, { ok: true, message: 'Auth not enabled' }, []],
  )
  assert.equal(await (await at.post('/api/auth/login', {})).json(), {
    ok: true,
    message: 'Auth not enabled',
  })
  const status = await at.get('/api/auth/status')
  assert.equal(
    [await status.json(), status.headers.get('cache-control')],
    [{ auth_enabled: false, logged_in: false }, 'no-store'],
  )
  const logout = await at.post('/api/auth/logout', {})
  assert.equal(logout.headers.getSetCookie(), ['agent_session=""; HttpOnly; Max-Age=0; Path=/'])
})

test('signs in and out', async ({ at, auth }) => {
  await auth.setPassword('secret')
  const wrong = await at.post('/api/auth/login', { password: 'nope' })
  assert.equal(
    [wrong.status, await wrong.json(), missingHeaders(wrong.headers)],
    [401, { error: 'Invalid password', code: 'wrong_password' }, []],
  )
  assert.is((await at.post('/api/auth/login', { password: 1 })).status, 400)
  assert.is((await at.post('/api/auth/login', {})).status, 401)
  assert.is((await at.post('/api/auth/logout', {})).status, 401)
  const right = await at.post('/api/auth/login', { password: 'secret' })
  assert.equal([await right.text(), missingHeaders(right.headers)], ['{"ok":true}', []])
  const [set = ''] = right.headers.getSetCookie()
  assert.match(
    set,
    /^agent_session=[0-9a-f]{64}\.[0-9a-f]{32}; HttpOnly; Max-Age=86400; Path=\/; SameSite=Lax$/,
  )
  const Cookie = set.split(';')[0]!
  assert.equal(await (await at.get('/api/auth/status', { Cookie })).json(), {
    auth_enabled: true,
    logged_in: true,
  })
  assert.is((await at.get('/', { Cookie })).status, 200)
  assert.is(
    (await at.post('/api/auth/logout', {}, { Cookie, Origin: 'https://evil.example' })).status,
    403,
  )
  assert.is((await at.post('/api/auth/logout', {}, { Cookie })).status, 200)
  assert.is((await at.get('/', { Cookie })).status, 302)
})

test('behind TLS the cookie is Secure, and each client is throttled separately', async ({
  at,
  auth,
}) => {
  await auth.setPassword('secret')
  const from = (address: string) => ({ 'X-Forwarded-For': address, 'X-Forwarded-Proto': 'https' })
  for (let i = 0; i < 5; i++) await at.post('/api/auth/login', { password: 'x' }, from('9.9.9.9'))
  const refused = await at.post('/api/auth/login', { password: 'secret' }, from('9.9.9.9'))
  assert.equal(
    [refused.status, (await refused.json()).error],
    [429, 'Too many attempts. Try again in a minute.'],
  )
  const right = await at.post('/api/auth/login', { password: 'secret' }, from('8.8.8.8'))
  assert.match(right.headers.getSetCookie()[0] ?? '', /; Secure$/)
})

test('only public routes respond without a cookie', async ({ at, auth }) => {
  await auth.setPassword('secret')
  for (const path of ['/login', '/health', '/favicon.ico', '/api/auth/status'])
    assert.is((await at.get(path)).status, 200, path)
  assert.is((await at.get('/static/favicon.ico')).status, 200)
  assert.is((await at.get('/static/index.html')).status, 404)
  for (const path of ['/', '/index.html', '/session/x'])
    assert.is((await at.get(path)).headers.get('location'), '/login', path)
  assert.is((await at.get('/api/openapi.json')).status, 401)
})

test('the login page is one document, escapes hostile names, and allows its parts by hash', async ({
  at,
}) => {
  settings.bot_name = '<script>alert(1)</script>{{base}}"\'&$&'
  settings.theme = '"><img src=x onerror=alert(1)>'
  const answer = await at.get('/login', { 'X-Forwarded-Prefix': '/at/here' })
  const text = await answer.text()
  settings.bot_name = 'élan'
  settings.theme = 'dark'
  assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.is(answer.headers.get('cache-control'), 'no-store')
  assert.is([...text.matchAll(/<script/g)].length, 1)
  assert.not.match(text, '<img')
  assert.match(text, '<h1>&lt;script&gt;alert(1)&lt;/script&gt;{{base}}&quot;&#39;&amp;$&amp;</h1>')
  assert.match(text, '<base href="/at/here/">')
  assert.match(text, /id="login-form"[^>]*data-invalid-pw="[^"]+" data-conn-failed="[^"]+"/)
  assert.match(text, /id="pw"[\s\S]*id="err"/)
  const policy = answer.headers.get('content-security-policy') ?? ''
  assert.match(
    policy,
    /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src 'sha256-[\w+/]{43}='; /,
  )
  assert.not.match(policy, 'unsafe')
  assert.match(policy, "; font-src 'self'; ")
})

test('the login page uses the configured language', () => {
  const cases = {
    en: 'en',
    EN_us: 'en',
    'de-AT': 'de-DE',
    es: 'es-ES',
    'pt-PT': 'pt-BR',
    ru: 'ru-RU',
    'ar-EG': 'ar',
    zh: 'zh-CN',
    'zh-SG': 'zh-CN',
    zh_TW: 'zh-TW',
    'zh-Hant-HK': 'zh-TW',
    'zh-hk': 'zh-TW',
    xx: 'en',
    '': 'en',
    constructor: 'en',
  }
  for (const [language, lang] of Object.entries(cases))
    assert.is(textsFor(language).lang, lang, language)
})

test('the page shell has its base, nonce and ETag', async ({ at }) => {
  const first = await at.get('/session/abc', { 'X-Forwarded-Prefix': '/p/' })
  const text = await first.text()
  const nonce = /nonce="([\w-]{22})"/.exec(text)?.[1]
  assert.match(text, '<base href="/p/">')
  assert.match(text, 'data-theme="dark"')
  assert.not.match(text, /[{]{2}/)
  assert.match(first.headers.get('content-security-policy') ?? '', `'nonce-${nonce}'`)
  const etag = first.headers.get('etag') ?? ''
  const again = await at.get('/', { 'X-Forwarded-Prefix': '/p', 'If-None-Match': etag })
  assert.is(again.status, 304)
  assert.match(again.headers.get('content-security-policy') ?? '', `'nonce-${nonce}'`)
  assert.is((await at.get('/', { 'If-None-Match': etag })).status, 200)
  const forged = await at.get('/', { 'If-None-Match': `"x.${'a'.repeat(22)}"` })
  assert.equal(
    [forged.status, forged.headers.get('content-security-policy')?.includes('aaaa')],
    [200, false],
  )
})

test('health, the icon, the document', async ({ at }) => {
  const { uptime_seconds, ...alive } = await (await at.get('/health')).json()
  assert.equal(alive, { status: 'ok', sessions: 2, active_streams: 2 })
  assert.match(String(uptime_seconds), /^\d+(\.\d)?$/)
  assert.ok(uptime_seconds >= 1.5)
  const icon = await at.get('/favicon.ico')
  assert.equal(
    [icon.headers.get('content-type'), icon.headers.get('cache-control')],
    ['image/x-icon', 'public, max-age=86400'],
  )
  const kept = assets.get('/static/favicon.ico')!
  assets.delete('/static/favicon.ico')
  assert.is((await at.get('/favicon.ico')).status, 204)
  assets.set('/static/favicon.ico', kept)
  const { paths } = (await (await at.get('/api/openapi.json')).json()) as {
    paths: Record<string, unknown>
  }
  assert.is(Object.keys(paths).length, 11)
})

test.run()
