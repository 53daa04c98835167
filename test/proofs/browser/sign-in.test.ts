/** Login page: redirects back to the requested page and never to another site; first sign-in by token. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../../_app.ts'
import { openPage, type TestPage } from '../../_browser.ts'

const test = suite('login page')

const PASSWORD = 'correct horse'

/** Serves `app` below a path, as a reverse proxy does. */
const serveBelow = async (app: TestApp, prefix: string) => {
  const proxy = createServer((req, res) => {
    const path = req.url?.startsWith(`${prefix}/`) ? req.url.slice(prefix.length) : '/nowhere'
    const headers = { ...req.headers, 'x-forwarded-prefix': prefix, 'x-forwarded-for': '192.0.2.1' }
    const onward = request(`${app.url}${path}`, { method: req.method, headers }, answer => {
      res.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(res)
    })
    onward.on('error', () => res.destroy())
    res.on('close', () => onward.destroy())
    req.pipe(onward)
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  const { port } = proxy.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    close() {
      proxy.close()
      proxy.closeAllConnections()
    },
  }
}

const signIn = async ({ page }: TestPage) => {
  await page.locator('#pw').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.locator('nav').first().waitFor()
}

test('a deep link survives signing in, with its query and its fragment, at the root and below a path', async () => {
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: PASSWORD } })
  const below = await serveBelow(app, '/tools/agent')
  try {
    const login = await app.post('/api/auth/login', { password: PASSWORD })
    const cookie = (login.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
    const { session_id } = (await app.post('/api/session/new', {}, { headers: { cookie } })).body
      .session
    const deep = '/settings/security?a=b%20c&d=//e#here'
    const cases: [root: string, path: string][] = [
      [app.url, '/tasks'],
      [app.url, `/session/${session_id}`],
      [app.url, deep],
      [app.url, '/'],
      [`${below.origin}/tools/agent`, deep],
      [`${below.origin}/tools/agent`, '/'],
    ]
    for (const [root, path] of cases) {
      const at = await openPage(`${root}${path}`)
      assert.is(
        new URL(at.page.url()).pathname,
        `${new URL(root).pathname.replace(/\/$/, '')}/login`,
      )
      // Looking at the page again changes nothing.
      await at.page.reload()
      await signIn(at)
      assert.is(at.page.url(), `${root}${path}`)
      assert.equal(
        await at.page
          .context()
          .cookies()
          .then(all => all.map(({ name }) => name)),
        ['agent_session'],
      )
      await at.close()
    }
  } finally {
    below.close()
    await app.close()
  }
})

const HOSTILE = [
  '//evil.example/',
  '/\\evil.example/',
  '\\\\evil.example',
  'https://evil.example/',
  'javascript:alert(1)',
  '/%2F%2Fevil.example',
  '/.//evil.example',
  '/\t/evil.example',
  '/../../../evil.example/../..//evil.example',
  '/@evil.example',
  'evil.example',
  ' /tasks',
  '%',
  '',
]

test('redirects after sign-in only to pages of this server', async () => {
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: PASSWORD } })
  const below = await serveBelow(app, '/a')
  try {
    const at = await openPage(`${below.origin}/a/login`)
    const signedIn = await app.post('/api/auth/login', { password: PASSWORD })
    const [, value = ''] =
      /agent_session=([^;]+)/.exec(signedIn.headers['set-cookie']?.[0] ?? '') ?? []
    const context = at.page.context()
    await context.addCookies([{ name: 'agent_session', value, url: below.origin }])
    await at.page.route('**/api/auth/login', route => route.fulfill({ json: { ok: true } }))
    const cases = [
      ...HOSTILE.map(text => ['storage', text] as const),
      ['cookie', '//evil.example/'] as const,
      ['cookie', 'https://evil.example/'] as const,
    ]
    // The target page does not matter here: an empty page of the same origin replaces it.
    await at.page.route(
      url => url.origin === below.origin && !/\/(login|api)\b/.test(url.pathname),
      (route, request) =>
        request.resourceType() === 'document'
          ? route.fulfill({ contentType: 'text/html', body: '<!doctype html>' })
          : route.continue(),
    )
    for (const [where, text] of cases) {
      await at.page.evaluate(
        ([place, wanted = '']) => {
          sessionStorage.clear()
          if (place === 'storage') sessionStorage.setItem('agent-webui:wanted', wanted)
          // biome-ignore lint/suspicious/noDocumentCookie: what a hostile neighbor of this origin would do
          else document.cookie = `agent_wanted=${encodeURIComponent(wanted)}; Path=/a/login`
        },
        [where, text],
      )
      await at.page.goto(`${below.origin}/a/login`)
      await at.page.locator('#pw').fill('x')
      await at.page.keyboard.press('Enter')
      await at.page.waitForURL(url => !url.pathname.endsWith('/login'))
      assert.ok(at.page.url().startsWith(`${below.origin}/a/`), `${text}: ${at.page.url()}`)
    }
    assert.equal(
      at.problems.filter(problem => /request to/.test(problem)),
      [],
    )
    await at.close()
  } finally {
    below.close()
    await app.close()
  }
})

const tokensIn = (lines: readonly string[]): string[] =>
  lines.flatMap(line => /setup token (\S+)/.exec(line)?.[1] ?? [])

test('bound to the network without a password: the token in the log signs in once, then a password is set', async () => {
  const app = await startApp({ argv: ['--host', '0.0.0.0'] })
  try {
    assert.is((await app.get('/api/sessions')).status, 401)
    const [first = ''] = tokensIn(app.lines)
    const at = await openPage(`${app.url}/tasks`)
    assert.match((await at.page.locator('#hint').textContent()) ?? '', 'setup token')
    assert.equal(await at.axe(), [])
    await at.page.locator('#pw').fill('aaaaa-aaaaa-aaaaa-aaaaa')
    await at.page.keyboard.press('Enter')
    await at.page.getByText('Incorrect token.').waitFor()
    await at.page.locator('#pw').fill(first)
    await at.page.keyboard.press('Enter')
    await at.page.getByText('Set a password.').waitFor()
    await at.page.waitForURL('**/settings/security')
    await at.page.getByLabel('New password').fill(PASSWORD)
    await at.page.getByLabel('Confirm password').fill(PASSWORD)
    await at.page.getByRole('button', { name: 'Set password' }).click()
    await at.page.getByText('A password protects this page.').waitFor()
    await at.close()
    const second = tokensIn(app.lines).at(-1) ?? ''
    assert.is.not(second, first)
    for (const password of [first, second])
      assert.is((await app.post('/api/auth/login', { password })).status, 401)
    assert.is((await app.post('/api/auth/login', { password: PASSWORD })).status, 200)
  } finally {
    await app.close()
  }
})

test('shows no password form while the environment variable is set', async () => {
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: PASSWORD } })
  try {
    const at = await openPage(`${app.url}/settings/security`)
    await signIn(at)
    await at.page.getByText('The password comes from AGENT_WEBUI_PASSWORD.').waitFor()
    assert.is(await at.page.getByLabel('New password').count(), 0)
    assert.is(await at.page.getByRole('button', { name: 'Disable password' }).count(), 0)
    assert.is(await at.page.getByRole('button', { name: 'Sign out', exact: true }).count(), 1)
    assert.equal(await at.axe(), [])
    await at.close()
  } finally {
    await app.close()
  }
})

test.run()
