/** Signing in with an OpenID Connect provider, over HTTP with a real provider: who enters, who does not, and forged answers. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { CLIENT, createBrowser, startProvider, type TestProvider } from '../_oidc-provider.ts'

const PASSWORD = 'correct horse'
const OWNER = { sub: 'owner-1', email: 'me@example.com', email_verified: true, name: 'Me' }

type Context = { app: TestApp; provider: TestProvider }

const test = suite<Context>('OpenID Connect')
test.before(async context => {
  context.provider = await startProvider(() => [`${context.app.url}/api/auth/oidc/callback`])
  context.app = await startApp({
    env: {
      AGENT_WEBUI_PASSWORD: PASSWORD,
      AGENT_WEBUI_OIDC_ISSUER: context.provider.issuer,
      AGENT_WEBUI_OIDC_CLIENT_ID: CLIENT.id,
      AGENT_WEBUI_OIDC_CLIENT_SECRET: CLIENT.secret,
      AGENT_WEBUI_OIDC_NAME: 'Example',
    },
  })
})
test.after(async ({ app, provider }) => {
  await app.close()
  await provider.close()
})

const isLogin = (url: URL) => url.pathname.endsWith('/login')

const signIn = async (
  { app, provider }: Context,
  user: Parameters<TestProvider['signInAs']>[0],
  browser = createBrowser(),
) => {
  provider.signInAs(user)
  return (await browser.open(`${app.url}/api/auth/oidc/start`, isLogin)).hash
}

/** A browser that signed in with the password. */
const withPassword = async ({ app }: Pick<Context, 'app'>) => {
  const browser = createBrowser()
  const json = { 'content-type': 'application/json' }
  const post = async (path: string, body: unknown) => {
    const reply = await browser.request(app.url + path, {
      method: 'POST',
      headers: json,
      body: JSON.stringify(body),
    })
    return reply.json() as Promise<Record<string, string>>
  }
  await post('/api/auth/login', { password: PASSWORD })
  // biome-ignore lint/suspicious/noExplicitAny: a test knows what it asked for, and asserts it
  const get = async (path: string): Promise<any> => (await browser.request(app.url + path)).json()
  return { ...browser, post, get }
}

const link = async (context: Context, user = OWNER) => {
  const owner = await withPassword(context)
  const { url } = await owner.post('/api/auth/oidc/link', {})
  context.provider.signInAs(user)
  const end = await owner.open(url!, each => each.pathname === '/settings/security')
  assert.is(end.search, '')
  return owner
}

const callbackOf = async (
  { app, provider }: Context,
  browser: ReturnType<typeof createBrowser>,
) => {
  provider.signInAs(OWNER)
  return browser.open(`${app.url}/api/auth/oidc/start`, url => url.pathname.endsWith('/callback'))
}

test('an unknown person does not enter, nor does a verified address make an owner; the owner links the account and enters', async context => {
  assert.is(await signIn(context, OWNER), '#oidc=unknown')
  const owner = await link(context)
  const { linked, provider } = await owner.get('/api/auth/linked')
  assert.equal([provider, linked.length, linked[0].subject], ['Example', 1, 'owner-1'])
  assert.is(await signIn(context, { ...OWNER, sub: 'other' }), '#oidc=unknown')

  const browser = createBrowser()
  assert.is(await signIn(context, OWNER, browser), '#oidc=done')
  const { devices } = await owner.get('/api/auth/devices')
  assert.ok(devices.some((each: { how: string }) => each.how === 'oidc'))
  const kinds = (await owner.get('/api/auth/audit')).entries.map(
    ({ what, detail }: Record<string, string>) => `${what} ${detail}`,
  )
  for (const kind of [
    'identity-linked Me',
    'sign-in oidc',
    'sign-in-failed oidc unknown me@example.com',
  ])
    assert.ok(kinds.includes(kind), kind)
  // Signing in again replaces the sign-in of this browser.
  assert.is(await signIn(context, OWNER, browser), '#oidc=done')
  const again = (await owner.get('/api/auth/devices')).devices
  assert.is(again.filter((each: { how: string }) => each.how === 'oidc').length, 1)
})

test('an answer is refused in another browser, a second time, with a code of someone else, and when the person cancels', async context => {
  const { app } = context
  const [mine, other] = [createBrowser(), createBrowser()]
  const at = await callbackOf(context, mine)
  assert.is((await other.open(at.href, isLogin)).hash, '#oidc=expired')
  // The code of one sign-in in the answer to another.
  const theirs = await callbackOf(context, other)
  const mixed = new URL(theirs)
  mixed.searchParams.set('code', at.searchParams.get('code')!)
  assert.is((await other.open(mixed.href, isLogin)).hash, '#oidc=rejected')
  assert.is(await signIn(context, null), '#oidc=refused')
  const fresh = await callbackOf(context, mine)
  assert.is((await mine.open(fresh.href, isLogin)).hash, '#oidc=done')
  assert.is(
    (await mine.open(fresh.href, url => url.pathname.startsWith('/settings'))).search,
    '?sign_in=expired',
  )
  assert.not.ok(app.lines.some(line => line.includes(fresh.searchParams.get('code')!)))
})

test('begins on our own pages only, and nowhere else than at the provider', async ({
  app,
  provider,
}) => {
  const start = '/api/auth/oidc/start'
  const headers = { 'sec-fetch-site': 'cross-site' }
  assert.is((await app.get(start, { headers })).status, 403)
  assert.is((await app.request('HEAD', start)).status, 405)
  assert.is((await app.post('/api/auth/oidc/link', {})).status, 401)
  const to = async (path: string, given: Record<string, string> = {}) =>
    new URL((await app.get(path, { headers: given })).headers.location!)
  const asked = await to(`${start}?return=https://evil.example&issuer=https://evil.example`)
  assert.is(asked.origin, provider.issuer)
  // The provider knows the addresses of this server, so another Host leads to an error there.
  const forged = await to(start, { host: 'evil.example' })
  assert.is((await fetch(forged)).status, 400)
  const proxied = await app.get(start, {
    headers: {
      'x-forwarded-prefix': '/p',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'a.example',
    },
  })
  const at = new URL(proxied.headers.location!)
  assert.is(at.searchParams.get('redirect_uri'), 'https://a.example/p/api/auth/oidc/callback')
  assert.match(String(proxied.headers['set-cookie']), /^__Host-agent_oidc=.*; Secure$/)
  const back = await app.get('/api/auth/oidc/callback?state=x', {
    headers: { 'x-forwarded-prefix': '/p' },
  })
  assert.is(back.headers.location, '/p/login#oidc=expired')
})

test('linking needs a confirmed sign-in, and its answer counts for that sign-in only', async context => {
  const { app, provider } = context
  const [owner, other] = [await withPassword(context), await withPassword(context)]
  const { url } = await owner.post('/api/auth/oidc/link', {})
  provider.signInAs({ sub: 'attacker' })
  const at = await owner.open(url!, each => each.pathname.endsWith('/callback'))
  // The cookie of the sign-in that asked, in the browser of another one.
  const [name, value] = [...owner.cookies(app.url)].find(([each]) => each === 'agent_oidc')!
  other.cookies(app.url).set(name, value)
  const end = await other.open(at.href, each => each.pathname.startsWith('/settings'))
  assert.is(end.search, '?sign_in=expired')
  const { linked } = await owner.get('/api/auth/linked')
  assert.not.ok(linked.some((each: { subject: string }) => each.subject === 'attacker'))
})

test('a verified address links the account of one member, once and for good, and never that of an owner', async context => {
  const { app } = context
  const path = join(app.state, 'people.json')
  const before = readFileSync(path, 'utf8')
  const file = JSON.parse(before)
  const person = (id: string, role: string, sign_in_as: string) => ({
    ...{ id, name: id, role, sign_in_as, profiles: ['default'], passkeys: [], totp: null },
  })
  const setPeople = (...people: object[]) =>
    writeFileSync(path, JSON.stringify({ ...file, people: [...file.people, ...people] }))
  const user = (sub: string, email: string, email_verified = true) => ({
    ...{ sub, email, email_verified, name: sub },
  })
  setPeople(
    person('ada', 'member', 'Ada@Example.com'),
    person('boss', 'owner', 'boss@example.com'),
    person('twin1', 'viewer', 'twin@example.com'),
    person('twin2', 'member', 'twin@example.com'),
  )
  for (const refused of [
    user('a', 'ada@example.com', false),
    user('b', 'boss@example.com'),
    user('c', 'twin@example.com'),
    user('d', 'ada@example.com.evil.example'),
  ]) {
    assert.is(await signIn(context, refused), '#oidc=unknown', refused.sub)
    // Clears the count of refusals.
    assert.is(await signIn(context, OWNER), '#oidc=done')
  }
  const browser = createBrowser()
  assert.is(await signIn(context, user('ada-1', 'ADA@example.com'), browser), '#oidc=done')
  const statusOf = async (route: string) => (await browser.request(app.url + route)).status
  assert.equal([await statusOf('/api/sessions'), await statusOf('/api/tokens')], [200, 403])
  // From now on the account counts: under another address too, and no other account with the old one.
  assert.is(await signIn(context, user('ada-1', 'ada@new.example')), '#oidc=done')
  assert.is(await signIn(context, user('ada-2', 'ada@example.com')), '#oidc=unknown')
  // A member links accounts of their own only, and none of someone else.
  const { linked } = await (await browser.request(`${app.url}/api/auth/linked`)).json()
  assert.equal(
    linked.map((each: { subject: string }) => each.subject),
    ['ada-1'],
  )
  const owner = await withPassword(context)
  const { url } = await owner.post('/api/auth/oidc/link', {})
  context.provider.signInAs(user('ada-1', 'ada@example.com'))
  const end = await owner.open(url!, each => each.pathname === '/settings/security')
  assert.is(end.search, '?sign_in=refused')
  writeFileSync(path, before)
  assert.is(await statusOf('/api/sessions'), 401)
})

test('its sign-ins end when the account is removed, revoked, or the password changes; signing out offers the provider’s', async context => {
  const { app, provider } = context
  const owner = await link(context)
  const isIn = async (browser: ReturnType<typeof createBrowser>) =>
    (await (await browser.request(`${app.url}/api/auth/status`)).json()).logged_in
  const entered = async () => {
    const browser = createBrowser()
    assert.is(await signIn(context, OWNER, browser), '#oidc=done')
    assert.ok(await isIn(browser))
    return browser
  }
  const first = await entered()
  const stream = await first.request(`${app.url}/api/events`)
  const reader = stream.body!.getReader()
  const removed = await owner.post('/api/auth/linked/remove', {
    issuer: provider.issuer,
    subject: 'owner-1',
  })
  assert.is(removed.ok as unknown, true)
  try {
    while (!(await reader.read()).done);
  } catch {
    // Cut.
  }
  assert.not.ok(await isIn(first))
  assert.is(await signIn(context, OWNER), '#oidc=unknown')

  await link(context)
  const second = await entered()
  const reply = await second.request(`${app.url}/api/auth/logout`, { method: 'POST' })
  const { provider_url } = await reply.json()
  assert.ok(provider_url.startsWith(`${provider.issuer}/session/end?client_id=agent`))
  assert.not.ok(await isIn(second))
})

test('five answers that are not accepted are the limit; a provider that is down closes nothing, also after a restart', async context => {
  const { app, provider } = context
  await link(context)
  const browser = createBrowser()
  assert.is(await signIn(context, OWNER, browser), '#oidc=done')
  const results: string[] = []
  for (let n = 0; n < 7; n += 1) results.push(await signIn(context, { sub: `nobody-${n}` }))
  assert.is(results.filter(hash => hash === '#oidc=unknown').length, 5)
  assert.is(results.at(-1), '#oidc=throttled')
  await app.restart()
  await provider.close()
  assert.is(await signIn(context, OWNER), '#oidc=unreachable')
  assert.match((await app.get('/login')).text, 'Sign in with Example')
  const owner = await withPassword(context)
  assert.equal(await owner.get('/api/auth/status'), {
    auth_enabled: true,
    logged_in: true,
    provider: 'Example',
  })
  const { devices } = await owner.get('/api/auth/devices')
  assert.ok(devices.some((each: { how: string }) => each.how === 'oidc'))
  assert.not.ok(app.lines.some(line => line.includes(CLIENT.secret)))
})

test('without a password, only the setup token enters', async () => {
  const env = {
    AGENT_WEBUI_OIDC_ISSUER: 'http://127.0.0.1:9',
    AGENT_WEBUI_OIDC_CLIENT_ID: 'agent',
  }
  await using app = await startApp({ env })
  assert.is((await app.get('/api/sessions')).status, 401)
  assert.is((await app.get('/api/auth/oidc/start')).headers.location, '/login')
  assert.not.match((await app.get('/login')).text, 'Sign in with')
})

test.run()
