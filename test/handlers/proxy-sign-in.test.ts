/** Users whom a trusted proxy names, through a small real proxy: who enters, forged headers, and users that change. */
import { writeFileSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'

const PASSWORD = 'correct horse'
const OWNER = { id: 'f00d', name: 'Owner', role: 'owner', profiles: null, passkeys: [], totp: null }
const member = (id: string, sign_in_as: string, role = 'member') => ({
  ...{ id, name: id, role, sign_in_as, profiles: ['default'], passkeys: [], totp: null },
})

/** As a reverse proxy with a login of its own: it replaces the header by the user of the request's `x-test-user`. */
const startProxy = async (target: () => string): Promise<{ server: Server; url: string }> => {
  const server = createServer((req, res) => {
    const { 'x-test-user': user, 'remote-user': _, ...headers } = req.headers
    const { hostname, port } = new URL(target())
    const onward = request(
      {
        hostname,
        port,
        method: req.method,
        path: req.url,
        headers: {
          ...headers,
          'x-forwarded-for': req.socket.remoteAddress,
          ...(user !== undefined && { 'remote-user': user }),
        },
      },
      reply => {
        res.writeHead(reply.statusCode ?? 502, reply.headers)
        reply.pipe(res)
        reply.on('error', () => res.destroy())
      },
    )
    onward.on('error', () => res.destroy())
    req.pipe(onward)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const test = suite<{ app: TestApp; proxy: string; server: Server }>('sign-in by a trusted proxy')

const setPeople = (app: TestApp, ...people: object[]) =>
  writeFileSync(
    join(app.state, 'people.json'),
    JSON.stringify({ version: 1, people: [OWNER, ...people] }),
  )

test.before(async context => {
  context.app = await startApp({
    env: {
      AGENT_WEBUI_PASSWORD: PASSWORD,
      AGENT_WEBUI_AUTH_HEADER: 'Remote-User',
      AGENT_WEBUI_TRUSTED_PROXIES: '127.0.0.1',
    },
  })
  const { server, url } = await startProxy(() => context.app.url)
  Object.assign(context, { server, proxy: url })
  setPeople(
    context.app,
    member('alice', 'Alice@Example.com'),
    member('bob', 'bob', 'viewer'),
    member('boss', 'boss', 'owner'),
    member('twin1', 'twin'),
    member('twin2', 'twin'),
  )
})
test.after(async ({ app, server }) => {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
  await app.close()
})

const as = (
  user?: string,
  more: Record<string, string> = {},
): { headers: Record<string, string> } => ({
  headers: { ...(user !== undefined && { 'x-test-user': user }), ...more },
})
const cookieOf = (reply: Response): string => reply.headers.getSetCookie()[0]?.split(';')[0] ?? ''
const open = (proxy: string, path: string, given = as()) =>
  fetch(proxy + path, { redirect: 'manual', ...given })

/** Bytes as they are, from an address of this machine. */
const raw = (app: TestApp, lines: string[], localAddress = '127.0.0.1') =>
  new Promise<string>((resolve, reject) => {
    const { hostname, port } = new URL(app.url)
    const socket = connect({ host: hostname, port: Number(port), localAddress })
    let text = ''
    socket.setEncoding('latin1').on('data', chunk => {
      text += chunk
    })
    socket.on('end', () => resolve(text)).on('error', reject)
    socket.end(
      Buffer.from(
        ['GET /api/sessions HTTP/1.1', 'Host: x', 'Connection: close', ...lines, '', ''].join(
          '\r\n',
        ),
        'latin1',
      ),
    )
  })
const statusOf = async (answer: Promise<string>) => Number((await answer).split(' ')[1])

test('the header counts from trusted proxies only; any other peer gets a 400 that says what to set', async ({
  app,
}) => {
  const forged = await raw(app, ['Remote-User: alice@example.com'], '127.0.0.2')
  assert.match(forged, /^HTTP\/1.1 400 /)
  assert.match(forged, 'AGENT_WEBUI_TRUSTED_PROXIES')
  const lines = [
    'Remote-User: alice@example.com',
    'X-Forwarded-For: 127.0.0.1',
    'X-Real-IP: 127.0.0.1',
  ]
  assert.is(await statusOf(raw(app, lines, '127.0.0.2')), 400)
  // Public pages too, so that a wrong setup is noticed at once.
  assert.is(await statusOf(raw(app, ['remote-user: x'], '127.0.0.2')), 400)
  assert.is(await statusOf(raw(app, ['Remote-User: alice@example.com'])), 200)
})

test('the header is one plain name: duplicates and other bytes are refused, other spellings are other headers', async ({
  app,
}) => {
  const cases: [number, string[]][] = [
    [400, ['Remote-User: alice@example.com', 'Remote-User: bob']],
    [400, ['Remote-User: bob', 'REMOTE-USER: bob']],
    [400, ['Remote-User: \u00e1lice@example.com']],
    [400, [`Remote-User: ${'a'.repeat(400)}`]],
    [401, ['Remote_User: alice@example.com']],
    [401, ['HTTP_REMOTE_USER: alice@example.com']],
    [401, ['X-Remote-User: alice@example.com']],
    [401, ['Remote-User:']],
    [401, ['Remote-User: alice@example.com, bob']],
    [401, ['Remote-User: alice']],
    [401, ['Remote-User: Bob']],
    [200, ['REMOTE-USER:   ALICE@example.COM  ']],
    [200, ['Remote-User: bob']],
  ]
  for (const [status, lines] of cases)
    assert.is(await statusOf(raw(app, lines)), status, lines.join(' | '))
})

test('a known user enters without a password and with the rights of the person; no one becomes an owner, and two with one name are none', async ({
  proxy,
}) => {
  assert.is((await open(proxy, '/')).status, 302)
  for (const user of ['stranger', 'boss', 'twin', 'owner'])
    assert.is((await open(proxy, '/', as(user))).status, 302, user)
  assert.match(await (await open(proxy, '/login', as('stranger'))).text(), 'has no access here')
  const page = await open(proxy, '/', as('alice@example.com'))
  assert.is(page.status, 200)
  assert.match(page.headers.getSetCookie()[0]!, /^agent_session=.*HttpOnly; Max-Age=86400/)
  assert.is((await open(proxy, '/api/tokens', as('alice@example.com'))).status, 403)
  assert.is((await open(proxy, '/api/auth/audit', as('bob'))).status, 403)
  const post = (user: string, more = {}) =>
    fetch(`${proxy}/api/session/new`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', 'x-test-user': user, ...more },
    })
  assert.is((await post('bob')).status, 403)
  assert.is((await post('alice@example.com')).status, 200)
  // The header is sent by the browser's own login at the proxy, so other sites must not use it.
  assert.is((await post('alice@example.com', { origin: 'https://evil.example' })).status, 403)
})

test('one device for each user agent; the cookie is worth nothing without the header, and a user that changes ends the streams', async ({
  app,
  proxy,
}) => {
  const agent = { 'user-agent': 'Browser one' }
  const cookie = cookieOf(await open(proxy, '/', as('alice@example.com', agent)))
  assert.is(cookieOf(await open(proxy, '/', as('alice@example.com', agent))), cookie)
  const devices = await (
    await open(proxy, '/api/auth/devices', as('alice@example.com', { ...agent, cookie }))
  ).json()
  const mine = devices.devices.filter((each: { agent: string }) => each.agent === 'Browser one')
  assert.equal([mine.length, mine[0].how, mine[0].current], [1, 'proxy', true])

  const follow = async () => {
    const given = as('alice@example.com', {
      ...agent,
      cookie: cookieOf(await open(proxy, '/', as('alice@example.com', agent))),
    })
    const stream = await open(proxy, '/api/events', given)
    assert.is(stream.status, 200)
    const reader = stream.body!.getReader()
    const ended = (async () => {
      try {
        while (!(await reader.read()).done);
      } catch {
        // Cut.
      }
    })()
    return { given, ended }
  }
  const endings: ((cookie: string) => Promise<unknown>)[] = [
    each => open(proxy, '/api/sessions', as('bob', { ...agent, cookie: each })),
    each => open(proxy, '/api/sessions', as(undefined, { ...agent, cookie: each })),
    each => app.get('/api/sessions', { headers: { cookie: each } }),
    async () => setPeople(app, member('alice', 'someone@else'), member('bob', 'bob', 'viewer')),
  ]
  for (const end of endings) {
    const { given, ended } = await follow()
    await end(given.headers.cookie!)
    await ended
  }
  assert.is((await open(proxy, '/', as('alice@example.com', agent))).status, 302)
})

test('an owner invites a person under the name that the proxy sends; another name ends that', async ({
  app,
  proxy,
}) => {
  const login = await app.post('/api/auth/login', { password: PASSWORD })
  const cookie = login.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  const owner = { headers: { cookie } }
  const given = { name: 'Carla', role: 'viewer', profiles: ['default'], sign_in_as: 'carla' }
  assert.is((await open(proxy, '/', as('carla'))).status, 302)
  const { id } = (await app.post('/api/people/invite', given, owner)).body
  assert.is((await open(proxy, '/', as('carla'))).status, 200)
  const { people } = (await app.post('/api/people/change', { id, sign_in_as: 'c2' }, owner)).body
  assert.is(people.find((each: { id: string }) => each.id === id).sign_in_as, 'c2')
  assert.is((await open(proxy, '/', as('carla'))).status, 302)
  assert.is((await open(proxy, '/', as('c2'))).status, 200)
  await app.post('/api/people/remove', { id }, owner)
  assert.is((await open(proxy, '/', as('c2'))).status, 302)
})

test('the owner links the user that the proxy names, and enters as the owner; the password needs no proxy', async ({
  app,
  proxy,
}) => {
  assert.is((await app.post('/api/auth/linked/proxy', {})).status, 401)
  const login = await fetch(`${proxy}/api/auth/login`, {
    method: 'POST',
    body: JSON.stringify({ password: PASSWORD }),
    headers: { 'content-type': 'application/json', 'x-test-user': 'Me@Example.com' },
  })
  const cookie = cookieOf(login)
  const asOwner = as('Me@Example.com', { cookie, 'content-type': 'application/json' })
  const view = await (await open(proxy, '/api/auth/linked', asOwner)).json()
  assert.is(view.proxy_user, 'Me@Example.com')
  const linked = await fetch(`${proxy}/api/auth/linked/proxy`, {
    ...asOwner,
    method: 'POST',
    body: '{}',
  })
  assert.is(linked.status, 200)
  assert.is((await open(proxy, '/api/tokens', as('me@example.com'))).status, 200)
  await app.restart()
  assert.is((await open(proxy, '/api/tokens', as('me@example.com'))).status, 200)
  // A damaged file of people closes sign-in, and admits no one.
  writeFileSync(join(app.state, 'people.json'), '{')
  assert.is((await open(proxy, '/api/tokens', as('me@example.com'))).status, 503)
  assert.is((await open(proxy, '/login', as('me@example.com'))).status, 200)
})

test.run()
