/** What the address bar opens: the shell with its base and theme, the login page, files; everything else is 404. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { loginLanguage } from '../../lib/people/login-texts.ts'
import { startApp, type TestApp } from '../_app.ts'
import { PASSWORD, signIn } from '../_people.ts'

const pages = suite<{ app: TestApp }>('pages')
pages.before(async context => {
  context.app = await startApp()
})
pages.after(({ app }) => app.close())

const SHELL = [
  '/',
  '/index.html',
  '/session/abcdef012345',
  '/settings',
  '/settings/general',
  '/tasks',
  '/tasks/abc',
  '/skills',
  '/skills/deploy',
  '/skills?tab=commands&skill=review',
  '/memory',
  '/usage?days=7',
  '/profiles',
]

pages('the shell is served for its views only', async ({ app }) => {
  for (const path of SHELL) {
    const { status, headers, text } = await app.get(path)
    assert.equal([path, status], [path, 200])
    assert.is(headers['content-type'], 'text/html; charset=utf-8')
    assert.match(text, '<base href="/">')
    assert.match(text, 'data-theme="dark"')
  }
  for (const path of [
    '/nope',
    '/session/a/b',
    '/session/',
    '/settings/a/b',
    '/static/',
    '/SETTINGS',
  ])
    assert.equal([path, (await app.get(path)).status], [path, 404])
})

pages(
  'the document has no inline script or style, and every file it names exists',
  async ({ app }) => {
    for (const path of ['/', '/session/abcdef012345']) {
      const { text, headers } = await app.get(path)
      assert.not.match(text, /<script(?![^>]*\ssrc=)/)
      assert.not.match(text, /<style|\sstyle=|\son\w+=/)
      assert.not.match(String(headers['content-security-policy']), 'unsafe-inline')
      const names = [...text.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(match => match[1])
      assert.ok(names.length >= 2)
      for (const name of names) {
        const asset = await app.request('GET', `/${name}`, { headers: { 'accept-encoding': 'br' } })
        assert.equal([name, asset.status], [name, 200])
      }
    }
  },
)

pages(
  'the page of a chat and the first page ask at once for what they show, each for one file',
  async ({ app }) => {
    const preloads = async (path: string) =>
      [...(await app.get(path)).text.matchAll(/rel="modulepreload" href="([^"]+)"/g)].map(
        ([, name]) => name!,
      )
    assert.equal(await preloads('/settings/general'), [])
    const transcript = await preloads('/session/abcdef012345')
    assert.match(transcript.join(' '), /^static\/transcript-\w+\.js$/)
    const home = await preloads('/')
    assert.match(home.join(' '), /^static\/lazy-home-\w+\.js$/)
    // A chunk that only one of them imports would otherwise be requested after it.
    for (const name of [...transcript, ...home]) {
      const { text } = await app.get(`/${name}`)
      const imports = [...text.matchAll(/(?:from|import)\s*"\.\/([\w-]+\.js)"/g)]
      for (const [, from] of imports) assert.match(from!, /^main-/, `${name}: ${from}`)
    }
  },
)

pages(
  'behind a trusted proxy the base has its prefix; the first paint has the stored theme',
  async ({ app }) => {
    await app.post('/api/settings', { theme: 'nord', accent: 'blue', font_size: 'large' })
    const { text } = await app.request('GET', '/settings', {
      headers: { 'x-forwarded-prefix': '/any/path', 'x-forwarded-for': '203.0.113.9' },
    })
    assert.match(text, '<base href="/any/path/">')
    assert.match(text, 'data-theme="nord" data-accent="blue" data-font-size="large" data-density=')
    const hostile = await app.request('GET', '/', {
      headers: { 'x-forwarded-prefix': '"><script>', 'x-forwarded-for': '203.0.113.9' },
    })
    assert.not.match(hostile.text, '"><script>')
  },
)

pages(
  'the login page is one document, escapes hostile names, and allows its parts by hash',
  async () => {
    await using app = await startApp({ env: { AGENT_WEBUI_PASSWORD: PASSWORD } })
    const bot_name = '<script>alert(1)</script>{{base}}"\'&$&'
    await app.post('/api/settings', { bot_name }, await signIn(app))
    const { text, headers } = await app.get('/login', {
      headers: { 'x-forwarded-prefix': '/at/here', 'x-forwarded-for': '203.0.113.9' },
    })
    assert.equal(
      [headers['content-type'], headers['cache-control']],
      ['text/html; charset=utf-8', 'no-store'],
    )
    assert.is([...text.matchAll(/<script/g)].length, 1)
    assert.not.match(text, /(?:src|href)="static/)
    assert.match(
      text,
      '<h1>&lt;script&gt;alert(1)&lt;/script&gt;{{base}}&quot;&#39;&amp;$&amp;</h1>',
    )
    assert.match(text, '<base href="/at/here/">')
    const policy = String(headers['content-security-policy'])
    assert.match(
      policy,
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src 'sha256-[\w+/]{43}='; /,
    )
    assert.not.match(policy, 'unsafe')
  },
)

pages('without a password, the login page leads into the app', async ({ app }) => {
  const headers = { 'x-forwarded-prefix': '/at/here', 'x-forwarded-for': '203.0.113.9' }
  for (const [given, location] of [
    [{}, '/'],
    [headers, '/at/here/'],
  ] as const) {
    const answer = await app.get('/login', { headers: given })
    assert.equal([answer.status, answer.headers.location], [302, location])
  }
})

pages('the login page uses the configured language', () => {
  const cases = {
    en: 'en',
    EN_us: 'en',
    'de-AT': 'de',
    es: 'es',
    'pt-PT': 'pt-BR',
    ru: 'ru',
    'ar-EG': 'ar',
    zh: 'zh-Hans',
    'zh-SG': 'zh-Hans',
    zh_TW: 'zh-Hant',
    'zh-Hant-HK': 'zh-Hant',
    'zh-hk': 'zh-Hant',
    xx: 'en',
    '': 'en',
    constructor: 'en',
  }
  for (const [language, lang] of Object.entries(cases))
    assert.is(loginLanguage(language), lang, language)
})

pages(
  'the nonce of a cached shell stays that of its copy, and no other text can become one',
  async ({ app }) => {
    const first = await app.get('/session/abc')
    const nonce = /nonce="([\w-]{22})"/.exec(first.text)?.[1]
    const { etag = '', 'content-security-policy': policy } = first.headers
    assert.match(String(policy), `'nonce-${nonce}'`)
    const ask = async (tag: string, path = '/session/def') =>
      app.get(path, { headers: { 'If-None-Match': tag } })
    const again = await ask(etag)
    assert.is(again.status, 304)
    assert.match(String(again.headers['content-security-policy']), `'nonce-${nonce}'`)
    const forged = await ask(`"x.${'a'.repeat(22)}"`)
    assert.equal(
      [forged.status, String(forged.headers['content-security-policy']).includes('aaaa')],
      [200, false],
    )
  },
)

pages.run()
