/** Signing in to an MCP server over HTTP, as the page and the browser do it. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type AppOptions, startApp, type TestApp } from '../_app.ts'
import { browse, type ProtectedServer, startProtected } from '../lib/mcp/_protected-server.ts'

type World = {
  server: ProtectedServer
  app: TestApp
  boot: (options?: AppOptions) => Promise<TestApp>
}

const test = suite<World>('mcp sign-in over HTTP')
test.before.each(async world => {
  world.server = await startProtected()
  world.boot = async options => {
    world.app = await startApp(options)
    writeFileSync(
      join(world.app.home, 'config.yaml'),
      JSON.stringify({ mcp_servers: { p: { url: world.server.url }, local: { command: 'x' } } }),
    )
    return world.app
  }
})
test.after.each(async ({ app, server }) => {
  await app.close()
  await server.close()
})

/** What a browser sends when another site redirects to us. */
const FROM_ELSEWHERE = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' }
const CALLBACK = '/api/mcp/oauth/callback'

const begin = async (app: TestApp, headers: Record<string, string> = {}) => {
  const answer = await app.request('POST', '/api/mcp/oauth/start', { body: { name: 'p' }, headers })
  assert.is(answer.status, 200, answer.text)
  const [line = ''] = answer.headers['set-cookie'] ?? []
  return { url: String(answer.body.url), line, cookie: line.split(';')[0] ?? '' }
}

/** Path and query of the callback. */
const wayBack = async (url: string): Promise<string> => {
  const { pathname, search } = new URL(await browse(url, at => at.pathname.endsWith(CALLBACK)))
  return pathname + search
}

const signInOf = async (app: TestApp) => (await app.get('/api/mcp/servers')).body.servers[0].sign_in

test('rejects a start for what has no sign-in, and from other sites', async ({ boot }) => {
  const app = await boot()
  for (const name of ['none', 'local'])
    assert.is((await app.post('/api/mcp/oauth/start', { name })).status, 404)
  await app.request('PATCH', '/api/mcp/servers/p', { body: { enabled: false } })
  assert.is((await app.post('/api/mcp/oauth/start', { name: 'p' })).status, 400)
  for (const path of ['start', 'finish', 'cancel', 'sign-out']) {
    const headers = { Origin: 'https://evil.example' }
    const body = { name: 'p', address: '?' }
    assert.is((await app.request('POST', `/api/mcp/oauth/${path}`, { headers, body })).status, 403)
  }
  assert.is((await app.request('HEAD', CALLBACK)).status, 405)
})

test('a reply that belongs to no sign-in of this browser goes to the settings with the reason', async ({
  boot,
}) => {
  const app = await boot()
  const { url, cookie } = await begin(app)
  const back = await wayBack(url)
  const expired = '/settings/mcp?sign_in=expired'
  for (const [path, headers] of [
    [back, FROM_ELSEWHERE],
    [back, { ...FROM_ELSEWHERE, Cookie: `${cookie}x` }],
    [`${CALLBACK}?state=x&code=y`, { Cookie: cookie }],
    [CALLBACK, { Cookie: cookie }],
    [`${back}&state=z`, {}],
  ] as const) {
    const answer = await app.get(path, { headers })
    assert.equal([answer.status, answer.headers.location], [302, expired], path)
  }
  // A restart ends what is pending.
  await app.restart()
  const late = await app.get(back, { headers: { Cookie: cookie } })
  assert.is(late.headers.location, expired)
  assert.is(
    (await app.post('/api/mcp/oauth/finish', { address: back })).body.code,
    'sign_in_expired',
  )
})

test('signs in and out; neither code nor tokens appear in a reply or in the log', async ({
  boot,
  server,
}) => {
  const app = await boot()
  const { url, line, cookie } = await begin(app)
  assert.match(line, /; HttpOnly; Max-Age=900; Path=\/api\/mcp\/oauth; SameSite=Lax$/)
  assert.is((await signInOf(app)).state, 'pending')
  const back = await wayBack(url)
  const answer = await app.get(back, { headers: { ...FROM_ELSEWHERE, Cookie: cookie } })
  assert.equal([answer.status, answer.headers.location], [302, '/settings/mcp'])
  assert.is(answer.headers['cache-control'], 'no-store')
  const tried = await app.post('/api/mcp/test', { name: 'p' })
  assert.equal(tried.body.tools, ['whoami'], tried.text)
  assert.is((await signInOf(app)).state, 'signed_in')
  const tokens = [
    ...new Set(server.hits.flatMap(({ token }) => (token === null ? [] : [token]))),
    new URL(back, 'http://x').searchParams.get('code') ?? '',
  ]
  assert.is(tokens.length, 2)
  const shown = [(await app.get('/api/mcp/servers')).text, app.lines.join('\n')].join('\n')
  for (const token of tokens) assert.not.match(shown, token)
  // A second device may end it; the tokens are gone then.
  const out = await app.post('/api/mcp/oauth/sign-out', { name: 'p' })
  assert.equal([out.body.problem, out.body.server.sign_in.state], [null, 'none'])
  assert.equal(readdirSync(join(app.home, 'mcp-tokens', 'agent-webui')).filter(isToken), [])
})

const isToken = (name: string) => name.endsWith('.json')

test('a canceled sign-in cannot be ended', async ({ boot }) => {
  const app = await boot()
  const { url, cookie } = await begin(app)
  const canceled = await app.post('/api/mcp/oauth/cancel', { name: 'p' })
  assert.is(canceled.body.server.sign_in.state, 'needed')
  const answer = await app.get(await wayBack(url), { headers: { Cookie: cookie } })
  assert.match(answer.headers.location ?? '', 'expired')
})

test('removing a server deletes its sign-in', async ({ boot }) => {
  const app = await boot()
  const { url } = await begin(app)
  const ended = await app.post('/api/mcp/oauth/finish', { address: ` ${await wayBack(url)}#x ` })
  assert.is(ended.body.server.sign_in.state, 'signed_in')
  const dir = join(app.home, 'mcp-tokens', 'agent-webui')
  assert.is(readdirSync(dir).filter(isToken).length, 1)
  assert.is((await app.request('DELETE', '/api/mcp/servers/p', {})).status, 200)
  assert.equal(readdirSync(dir).filter(isToken), [])
})

test('the sign-in of one profile is not that of another', async ({ boot }) => {
  const app = await boot()
  mkdirSync(join(app.home, 'profiles', 'work'), { recursive: true })
  writeFileSync(
    join(app.home, 'profiles', 'work', 'config.yaml'),
    JSON.stringify({
      mcp_servers: { p: { url: (await app.get('/api/mcp/servers')).body.servers[0].url } },
    }),
  )
  const other = { Cookie: 'agent_profile=work' }
  const { url } = await begin(app)
  const address = await wayBack(url)
  const wrong = await app.request('POST', '/api/mcp/oauth/finish', {
    headers: other,
    body: { address },
  })
  assert.is(wrong.body.code, 'sign_in_expired')
  assert.is((await app.post('/api/mcp/oauth/finish', { address })).status, 200)
  const [row] = (await app.get('/api/mcp/servers', { headers: other })).body.servers
  assert.is(row.sign_in.state, 'none')
})

test('behind a reverse proxy the browser comes back to the outside address', async ({ boot }) => {
  const app = await boot({
    env: {
      AGENT_WEBUI_TRUSTED_PROXIES: '127.0.0.1',
      AGENT_WEBUI_ALLOWED_ORIGINS: 'https://agent.example',
    },
  })
  const headers = {
    'X-Forwarded-Host': 'agent.example',
    'X-Forwarded-Proto': 'https',
    'X-Forwarded-Prefix': '/home/ai',
    'X-Forwarded-For': '203.0.113.7',
  }
  const { url, line, cookie } = await begin(app, headers)
  assert.match(line, 'Path=/home/ai/api/mcp/oauth; SameSite=Lax; Secure')
  const back = await browse(url, at => at.host === 'agent.example')
  assert.match(back, /^https:\/\/agent\.example\/home\/ai\/api\/mcp\/oauth\/callback\?/)
  const { search } = new URL(back)
  const answer = await app.get(CALLBACK + search, { headers: { ...headers, Cookie: cookie } })
  assert.is(answer.headers.location, '/home/ai/settings/mcp')
})

test('with a password, only the login session that began a sign-in ends it', async ({ boot }) => {
  const app = await boot({ env: { AGENT_WEBUI_PASSWORD: 'a long password' } })
  const login = async () => {
    const answer = await app.post('/api/auth/login', { password: 'a long password' })
    const line = (answer.headers['set-cookie'] ?? []).find(each =>
      each.startsWith('agent_session='),
    )
    return line?.split(';')[0] ?? ''
  }
  const session = await login()
  const { url, cookie } = await begin(app, { Cookie: session })
  const back = await wayBack(url)
  assert.is((await app.get(back, { headers: { Cookie: cookie } })).status, 401)
  const other = await app.get(back, { headers: { Cookie: `${cookie}; ${await login()}` } })
  assert.match(other.headers.location ?? '', 'expired')
  const own = await app.get(back, { headers: { Cookie: `${cookie}; ${session}` } })
  assert.is(own.headers.location, '/settings/mcp')
})

test.run()
