/** The installable app: manifest and service worker, before a sign-in and in the color of each theme. */
import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { THEME_COLORS } from '../../lib/base/theme-color.ts'
import { startApp } from '../_app.ts'

const test = suite('installable app')

test('the colors of the manifest are those of the themes', () => {
  for (const [theme, color] of Object.entries(THEME_COLORS)) {
    const css = readFileSync(`public/style/themes/${theme}.css`, 'utf8')
    assert.is(/--bg: (#\w+);/.exec(css)?.[1], color, theme)
  }
})

test('manifest and worker need no sign-in, are never stale, and name only files that exist', async () => {
  await using app = await startApp({ env: { AGENT_WEBUI_PASSWORD: 'correct horse' } })
  assert.is((await app.get('/api/sessions')).status, 401)
  const manifest = await app.get('/manifest.webmanifest')
  assert.is(manifest.status, 200)
  assert.is(manifest.headers['cache-control'], 'no-cache')
  const { icons, share_target, ...addresses } = JSON.parse(manifest.text)
  for (const name of ['id', 'start_url', 'scope']) assert.is(addresses[name], './')
  assert.is(share_target.action, 'share-target')
  assert.is((await app.get('/favicon.ico')).status, 200)
  for (const { src } of icons) assert.is((await app.get(`/${src}`)).status, 200, src)

  const asWorker = { headers: { 'Service-Worker': 'script' } }
  for (const path of ['/static/favicon.svg', '/static/none.js', '/share/none.js', '/health'])
    assert.is((await app.get(path, asWorker)).status, 403, path)
  const worker = await app.get('/sw.js', asWorker)
  assert.is(worker.status, 200)
  assert.is(worker.headers['cache-control'], 'no-cache')
  assert.match(worker.headers['content-type'] ?? '', /javascript/)
  const list = /files: ?(\[[^\]]*\])/.exec(worker.text)?.[1] ?? ''
  const files: string[] = JSON.parse(list)
  assert.ok(files.length > 50, `${files.length}`)
  for (const file of files) assert.is((await app.get(`/${file}`)).status, 200, file)
})

test('a page in another language names the texts that it shows first, which are there', async () => {
  await using app = await startApp()
  for (const path of ['/', '/session/abcdef012345', '/tasks']) {
    const page = await app.get(path, { headers: { 'accept-language': 'de' } })
    const links = String(page.headers.link).split(', ')
    assert.ok(links.length >= (path === '/tasks' ? 1 : 2), path)
    for (const link of links) {
      const [, file = ''] =
        /^<(\/static\/de\.[\w-]+\.json)>; rel=preload; as=fetch/.exec(link) ?? []
      assert.is((await app.get(file)).status, 200, link)
    }
  }
  const english = await app.get('/', { headers: { 'accept-language': 'en' } })
  assert.is(english.headers.link, undefined)
})

test('what is shared without a worker arrives in the page, through the sign-in and below a path; files and long texts are reported as missing', async () => {
  await using app = await startApp({ env: { AGENT_WEBUI_PASSWORD: 'correct horse' } })
  const share = (fields: Record<string, string | File>) => {
    const body = new FormData()
    for (const [name, value] of Object.entries(fields)) body.set(name, value)
    // As a browser sends it for the system: without the address of a page.
    const headers = { origin: 'null', 'x-forwarded-prefix': '/any/path' }
    const init = { method: 'POST', body, headers, redirect: 'manual' } as const
    return fetch(`${app.url}/share-target`, init)
  }
  const form = { title: 'A page', text: 'Read & learn ✓', url: 'https://example.com/a?b=c#d' }
  const reply = await share(form)
  assert.is(reply.status, 302)
  const target = new URL(reply.headers.get('location') ?? '', app.url)
  assert.is(target.pathname + target.search, '/any/path/?shared')
  assert.equal(Object.fromEntries(new URLSearchParams(target.hash.slice(1))), form)
  const fragmentOf = async (fields: Record<string, string | File>) =>
    (await share(fields)).headers.get('location')?.split('#')[1]
  assert.is(await fragmentOf({ text: 'x'.repeat(5_000) }), 'missing=1')
  const file = new File(['content'], 'a.txt', { type: 'text/plain' })
  assert.is(await fragmentOf({ title: 'With a file', files: file }), 'title=With+a+file&missing=1')
  assert.is(await fragmentOf({}), '')
  assert.is((await app.post('/share-target', { text: 'no form' })).status, 400)
  assert.is((await app.get('/share-target')).status, 405)
})

test('a request of the page of someone else is refused; one person is the same on every device, after a restart, with a password', async () => {
  const app = await startApp()
  const other = await startApp()
  try {
    const accountOf = async ({ get }: Pick<typeof app, 'get'>, headers = {}) =>
      /data-account="(\w{16})"/.exec((await get('/inbox', { headers })).text)?.[1] ?? ''
    const account = await accountOf(app)
    assert.not.equal(await accountOf(other), account, 'another installation')
    const as = (name: string) => ({ headers: { 'X-Agent-Account': name } })
    const refused = await app.post('/api/session/new', {}, as('0123456789abcdef'))
    assert.equal([refused.status, refused.body.code], [409, 'other_account'])
    assert.is((await app.get('/api/settings', as(''))).status, 409)
    assert.equal((await app.get('/api/sessions')).body.sessions, [])
    assert.is((await app.get('/api/settings', as(account))).status, 200)
    // Programs and pages of an earlier version send no account.
    assert.is((await app.get('/api/settings')).status, 200)

    await app.restart()
    assert.is(await accountOf(app), account)
    const password = 'correct horse'
    await app.post('/api/settings', { _set_password: password })
    // Signed out: any page may sign in, and hears that it has to.
    assert.is((await app.get('/api/sessions', as(account))).status, 401)
    const signIn = await app.post('/api/auth/login', { password }, as('0123456789abcdef'))
    assert.is(signIn.status, 200)
    const cookie = String(signIn.headers['set-cookie']).split(';')[0]!
    assert.is(await accountOf(app, { Cookie: cookie }), account)
    const headers = { Cookie: cookie, ...as('0123456789abcdef').headers }
    assert.is((await app.get('/api/sessions', { headers })).status, 409)
  } finally {
    await app.close()
    await other.close()
  }
})

test.run()
