/** Other sites' pages, re-pointed names, proxies: who is believed. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { OWNER } from '../../../lib/schema/person.ts'
import { endpoint, openServer, type TestServer } from './_server.ts'

const routes = {
  'POST /change': endpoint({ summary: 'change', run: () => ({ ok: true }) }),
  'GET /effects': endpoint({ summary: 'changes', effects: true, run: () => ({ ok: true }) }),
  'GET /read': endpoint({ summary: 'reads', run: () => ({ ok: true }) }),
  'GET /api/read': endpoint({ summary: 'reads', run: () => ({ ok: true }) }),
  'GET /api/open': endpoint({ summary: 'reads', public: true, run: () => ({ ok: true }) }),
  'GET /client': endpoint({
    summary: 'who',
    cache: 'no-store',
    run: ({ client: { address, loopback, secure, host, prefix } }) => ({
      address,
      loopback,
      secure,
      host,
      prefix,
    }),
  }),
}
const config = {
  host: 'box.lan',
  allowedOrigins: ['https://allowed.example', 'http://other.example:8080'],
  trustedProxies: ['127.0.0.0/8', '10.0.0.0/8', 'fd00::/8'],
}

const test = suite<{ at: TestServer; locked: TestServer; direct: TestServer }>('http/origin')
test.before(async context => {
  context.at = await openServer(routes, { config })
  context.locked = await openServer(routes, {
    config,
    authenticator: { isRequired: () => true, personOf: () => OWNER, may: () => true },
  })
  context.direct = await openServer(routes, {
    config: { ...config, trustedProxies: ['10.0.0.0/8'] },
  })
})
test.after(async ({ at, locked, direct }) => {
  await Promise.all([at.close(), locked.close(), direct.close()])
})

/** fetch sets Host itself, so these go out as text. */
const send = async (
  at: TestServer,
  line: string,
  headers: Record<string, string>,
): Promise<{ status: number; body: string }> => {
  const all = { Host: 'localhost', ...headers, Connection: 'close' }
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const answer = await at.raw(`${line} HTTP/1.1\r\n${head.join('')}\r\n`)
  return { status: Number(answer.slice(9, 12)), body: answer.split('\r\n\r\n')[1] ?? '' }
}

test('GET: other sites may link to pages, embed nothing, and get nothing from the API, with or without a password', async ({
  at,
  locked,
}) => {
  const own = 'http://localhost'
  const cases: [page: number, api: number, headers: Record<string, string>][] = [
    [200, 200, {}],
    [200, 200, { 'Sec-Fetch-Site': 'none' }],
    [200, 200, { 'Sec-Fetch-Site': 'same-origin' }],
    [200, 200, { 'Sec-Fetch-Site': 'same-origin', Referer: `${own}/tasks` }],
    [200, 200, { 'Sec-Fetch-Site': 'cross-site', Referer: 'https://allowed.example/a' }],
    [200, 200, { Referer: 'https://evil.example/' }],
    [200, 403, { 'Sec-Fetch-Site': 'cross-site' }],
    [200, 403, { 'Sec-Fetch-Site': 'same-site' }],
    [200, 403, { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' }],
    [200, 403, { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Dest': 'image' }],
    [200, 403, { 'Sec-Fetch-Site': 'cross-site', Referer: 'https://evil.example/' }],
    [200, 403, { 'Sec-Fetch-Site': 'same-site', Referer: 'http://localhost:3000/' }],
    [200, 403, { 'Sec-Fetch-Site': 'cross-site', Origin: 'null' }],
    [200, 403, { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://allowed.example.evil.example' }],
  ]
  for (const server of [at, locked])
    for (const method of ['GET', 'HEAD'])
      for (const [page, api, headers] of cases) {
        const statuses = []
        for (const path of ['/read', '/api/read', '/api/open'])
          statuses.push((await send(server, `${method} ${path}`, headers)).status)
        assert.equal(statuses, [page, api, api], JSON.stringify(headers))
      }
  for (const path of ['/read', '/api/read', '/nowhere']) {
    const answer = await at.raw(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    )
    assert.match(answer, /\r\nCross-Origin-Resource-Policy: same-origin\r\n/)
  }
})

test('POST: who may send one', async ({ locked }) => {
  const cases: [status: number, headers: Record<string, string>][] = [
    [200, {}],
    [403, { Origin: 'null' }],
    [403, { Origin: 'file://' }],
    [403, { Origin: 'https://' }],
    [403, { Origin: 'localhost' }],
    [200, { Origin: 'http://localhost' }],
    [200, { Origin: 'http://LOCALHOST' }],
    [200, { Origin: 'http://localhost:80' }],
    [403, { Origin: 'http://localhost:8787' }],
    [403, { Origin: 'https://localhost', Host: 'localhost:80' }],
    [403, { Origin: 'http://localhost', Host: 'localhost:443' }],
    [200, { Origin: 'https://localhost', Host: 'localhost:443' }],
    [200, { Origin: 'http://localhost:8787', Host: 'localhost:8787' }],
    [403, { Origin: 'http://localhost:8787', Host: 'localhost' }],
    [200, { Origin: 'http://[::1]:8787', Host: '[::1]:8787' }],
    [403, { Origin: 'http://[::2]:8787', Host: '[::1]:8787' }],
    [403, { Origin: 'http://evil.example' }],
    [403, { Origin: 'http://localhost.evil.example' }],
    [403, { Origin: 'http://localhost@evil.example' }],
    [200, { Origin: 'https://allowed.example' }],
    [403, { Origin: 'http://allowed.example' }],
    [403, { Origin: 'https://allowed.example:444' }],
    [200, { Origin: 'http://other.example:8080' }],
    [200, { Referer: 'http://localhost/page?x' }],
    [403, { Referer: 'http://evil.example/localhost' }],
    [403, { Origin: 'http://evil.example', Referer: 'http://localhost/' }],
    [200, { Origin: 'https://front.example', 'X-Forwarded-Host': 'front.example' }],
    [200, { Origin: 'https://front.example', 'X-Real-Host': 'front.example:443' }],
    [403, { Origin: 'https://front.example', 'X-Forwarded-Host': 'front.example:80' }],
    [403, { 'Sec-Fetch-Site': 'cross-site' }],
    [403, { 'Sec-Fetch-Site': 'same-site' }],
    [200, { 'Sec-Fetch-Site': 'same-origin' }],
    [200, { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://allowed.example' }],
  ]
  for (const [status, headers] of cases) {
    const answer = await send(locked, 'POST /change', headers)
    assert.is(answer.status, status, JSON.stringify(headers))
    if (status === 200) continue
    // Through a proxy, the sentence is longer: test/proofs/install/proxies.test.ts.
    const end = headers['X-Forwarded-Host'] === undefined ? '' : '\\. The browser is at .+'
    assert.match(
      answer.body,
      new RegExp(`^{"error":"Cross-origin request rejected${end}","code":"cross_origin"}$`),
    )
  }
})

test('uses forwarded host names of trusted proxies only', async ({ direct }) => {
  const answer = await send(direct, 'POST /change', {
    Origin: 'https://front.example',
    'X-Forwarded-Host': 'front.example',
  })
  assert.is(answer.status, 403)
})

test('rejects cross-site GET with effects', async ({ at }) => {
  const cases: [number, Record<string, string>][] = [
    [200, {}],
    [200, { 'Sec-Fetch-Site': 'none' }],
    [200, { 'Sec-Fetch-Site': 'same-origin', Referer: 'http://localhost/' }],
    [403, { 'Sec-Fetch-Site': 'cross-site' }],
    [403, { 'Sec-Fetch-Site': 'same-site' }],
    [403, { Referer: 'http://evil.example/' }],
    [403, { Origin: 'null' }],
  ]
  for (const [status, headers] of cases) {
    assert.is((await send(at, 'GET /effects', headers)).status, status, JSON.stringify(headers))
    assert.is((await send(at, 'GET /read', headers)).status, 200)
  }
})

test('without a password, accepts IP addresses, localhost, our own name and allowed hosts', async ({
  at,
  locked,
}) => {
  const good = [
    '127.0.0.1',
    '127.0.0.1:8787',
    '[::1]:8787',
    '192.168.1.5:8787',
    'localhost',
    'LocalHost:1',
    'a.localhost',
    'localhost.',
    'box.lan:8787',
    'allowed.example',
    'other.example:9999',
  ]
  const bad = [
    'evil.example',
    'localhost.evil.example',
    'evillocalhost',
    '127.0.0.1.evil.example',
    '1.2.3',
    'x@localhost',
    '[::1',
    'localhost:x',
    '',
  ]
  for (const host of good)
    assert.is((await send(at, 'GET /read', { Host: host })).status, 200, host)
  for (const host of bad) {
    const answer = await send(at, 'GET /read', { Host: host })
    assert.is(answer.status, 403, host)
    assert.match(answer.body, 'AGENT_WEBUI_ALLOWED_ORIGINS')
    assert.is((await send(at, 'GET /nope', { Host: host })).status, 403, host)
    assert.is((await send(locked, 'GET /read', { Host: host })).status, 200, host)
  }
  // A page on a re-pointed name may send any header it likes, so a forwarded name does not vouch for it.
  assert.is(
    (await send(at, 'GET /read', { Host: 'evil.example', 'X-Forwarded-Host': 'localhost' })).status,
    403,
  )
  assert.is((await send(at, 'GET /read', { 'X-Forwarded-Host': 'evil.example' })).status, 403)
})

test('reads X-Forwarded-For from the right, past trusted proxies', async ({ locked, direct }) => {
  const who = async (at: TestServer, headers: Record<string, string>) =>
    JSON.parse((await send(at, 'GET /client', headers)).body)
  const addresses: [string, string][] = [
    ['9.9.9.9', '9.9.9.9'],
    ['1.1.1.1, 9.9.9.9', '9.9.9.9'],
    ['1.1.1.1, 9.9.9.9, 10.1.2.3', '9.9.9.9'],
    ['9.9.9.9,10.1.2.3,fd00::1', '9.9.9.9'],
    ['10.0.0.1, 10.0.0.2', '10.0.0.1'],
    ['9.9.9.9:1234', '9.9.9.9'],
    ['[2001:db8::1]:1234', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['::ffff:9.9.9.9', '9.9.9.9'],
    ['9.9.9.9, garbage', '127.0.0.1'],
    ['9.9.9.9, garbage, 10.0.0.1', '10.0.0.1'],
    ['', '127.0.0.1'],
  ]
  for (const [forwarded, address] of addresses) {
    assert.is((await who(locked, { 'X-Forwarded-For': forwarded })).address, address, forwarded)
    assert.is((await who(direct, { 'X-Forwarded-For': forwarded })).address, '127.0.0.1')
  }
  const behindTwo = {
    'X-Forwarded-For': '9.9.9.9, 10.0.0.1',
    'X-Forwarded-Proto': 'https, http',
    'X-Forwarded-Host': 'spoof, front.example, inner',
  }
  const seen = await who(locked, { ...behindTwo, 'X-Forwarded-Prefix': '/a/b-c/' })
  assert.equal(seen, {
    address: '9.9.9.9',
    loopback: false,
    secure: true,
    host: 'front.example',
    prefix: '/a/b-c',
  })
  assert.is((await who(locked, { 'X-Forwarded-Proto': 'https' })).secure, true)
  assert.equal(await who(locked, { Host: 'localhost:1' }), {
    address: '127.0.0.1',
    loopback: true,
    secure: false,
    host: 'localhost:1',
    prefix: '',
  })
  const untrusted = await who(direct, { ...behindTwo, 'X-Forwarded-Prefix': '/x' })
  assert.equal(untrusted, {
    address: '127.0.0.1',
    loopback: false,
    secure: false,
    host: 'localhost',
    prefix: '',
  })
})

test('accepts a prefix of plain path segments only', async ({ locked }) => {
  const cases: [string, string][] = [
    ['/', ''],
    ['/a', '/a'],
    ['/a/', '/a'],
    ['a', ''],
    ['//evil.example', ''],
    ['/\\evil.example', ''],
    ['/a/../b', ''],
    ['/..', ''],
    ['/a"><script>', ''],
    ['/a b', ''],
    ['/a%0d', ''],
    ['https://evil.example', ''],
    ['/~me/.app', '/~me/.app'],
  ]
  for (const [given, prefix] of cases) {
    const { body } = await send(locked, 'GET /client', { 'X-Forwarded-Prefix': given })
    assert.is(JSON.parse(body).prefix, prefix, given)
  }
})

test.run()
