/** Requests and their answers: headers, methods, input, caching, the gate, and what a caller never gets to see. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { conflict } from '../../../lib/errors.ts'
import {
  bytes,
  empty,
  html,
  jsonText,
  redirect,
  reply,
  eventStream,
} from '../../../lib/http/reply.ts'
import { frame } from '../../../lib/base/sse.ts'
import { OWNER } from '../../../lib/schema/person.ts'
import type { Authenticator } from '../../../lib/http/access.ts'
import { endpoint, missingHeaders, openServer, type TestServer } from './_server.ts'

const raw = { summary: 'bytes', raw: '*/*' }
async function* two() {
  yield frame('a', { n: 1 }, 1)
  yield frame('b', 'x\ny', '2\nevent: forged')
}
let effects = 0

const routes = {
  'GET /': endpoint({ ...raw, page: true, run: () => html('<p>shell</p>') }),
  'GET /open': endpoint({ summary: 'open', public: true, run: ctx => ({ word: ctx.app.word }) }),
  'GET /api/echo': endpoint({
    summary: 'echo',
    input: z.object({ a: z.string().optional(), n: z.coerce.number().optional() }),
    output: z.object({ a: z.string().optional(), n: z.number().optional() }),
    run: (_ctx, input) => input,
  }),
  'POST /api/echo': endpoint({
    summary: 'echo',
    input: z.object({
      id: z.string().min(1),
      title: z.string().max(5),
      tags: z.array(z.string()).optional(),
    }),
    run: (_ctx, input) => input,
  }),
  'POST /api/nothing': endpoint({ summary: 'takes nothing', run: () => ({ ok: true }) }),
  'GET /api/busy': endpoint({
    summary: 'refuses',
    run: ctx => {
      ctx.setCookie('a=b')
      throw conflict('session already has an active stream', { active_stream_id: 'x' })
    },
  }),
  'GET /api/throws': endpoint({
    summary: 'a bug',
    run: () => {
      throw new Error('secret /home/me/.env')
    },
  }),
  'GET /api/rejects': endpoint({
    summary: 'a bug',
    run: () => Promise.reject(new Error('secret')),
  }),
  'GET /api/throws-odd': endpoint({
    summary: 'a bug',
    run: () => {
      throw null
    },
  }),
  'GET /api/full': endpoint({
    summary: 'full disk',
    run: () => {
      throw Object.assign(new Error('ENOSPC: /secret'), { code: 'ENOSPC' })
    },
  }),
  'GET /api/circle': endpoint({
    summary: 'cannot be JSON',
    run: () => {
      const a: Record<string, unknown> = {}
      a.a = a
      return a
    },
  }),
  'GET /api/wrong': endpoint({
    summary: 'against its schema',
    output: z.object({ n: z.number() }),
    run: () => ({ n: 'x' }) as never,
  }),
  'GET /api/void': endpoint({ summary: 'nothing', run: () => undefined }),
  'GET /api/cookies': endpoint({
    summary: 'two cookies',
    cache: 'no-store',
    run: ctx => {
      ctx.setCookie('a=1')
      ctx.setCookie('b=2')
      return { mine: ctx.cookies.mine ?? null, again: ctx.cookies.again ?? null }
    },
  }),
  'GET /api/status': endpoint({
    summary: 'status',
    run: () => reply({ made: true }, { status: 201 }),
  }),
  'GET /api/parts': endpoint({
    summary: 'parts',
    run: () =>
      jsonText([Buffer.from('{"a":'), Buffer.from('"ü"'), Buffer.from('}')], { etag: '"p"' }),
  }),
  'GET /api/bytes': endpoint({
    ...raw,
    run: () => bytes(Buffer.from([0, 255]), { type: 'image/png', policy: 'sandbox' }),
  }),
  'GET /api/redirect': endpoint({ ...raw, run: ctx => redirect(`${ctx.client.prefix}/login`) }),
  'GET /api/empty': endpoint({ ...raw, run: () => empty() }),
  'GET /api/nonce': endpoint({
    ...raw,
    run: ctx => html(`<style nonce="${ctx.nonce()}${ctx.nonce()}">`),
  }),
  'GET /api/stream': endpoint({ ...raw, run: () => eventStream(two()) }),
  'GET /api/effects': endpoint({
    summary: 'changes',
    effects: true,
    run: () => ({ n: ++effects }),
  }),
  'POST /api/effects': endpoint({ summary: 'changes', run: () => ({ n: ++effects }) }),
  'GET /api/inject': endpoint({ summary: 'tests only', loopback: true, run: () => ({ ok: true }) }),
}
const patternRoutes = {
  'GET /session/:id': endpoint({
    ...raw,
    page: true,
    input: z.object({ id: z.string() }),
    run: (_ctx, { id }) => html(id),
  }),
  'GET /static/*': endpoint({ ...raw, public: true, run: ctx => html(ctx.url.path) }),
}

const test = suite<{ at: TestServer; locked: TestServer }>('http/serve')
const authenticator: Authenticator = {
  isRequired: () => true,
  personOf: ({ cookies }) => (cookies.agent_session === 'good' ? OWNER : undefined),
  may: () => true,
}
test.before(async context => {
  context.at = await openServer(routes, { patternRoutes })
  context.locked = await openServer(routes, { patternRoutes, authenticator })
})
test.after(async ({ at, locked }) => {
  await at.close()
  await locked.close()
})

test('a browser that opens an address without a page gets the page, with a 404; a program gets JSON', async () => {
  const at = await openServer(routes, { page: '/', patternRoutes })
  const locked = await openServer(routes, { page: '/', patternRoutes, authenticator })
  const typeOf = async (server: typeof at, path: string, accept: string) => {
    const answer = await fetch(server.url + path, { headers: { accept }, redirect: 'manual' })
    await answer.arrayBuffer()
    return [answer.status, answer.headers.get('content-type')?.split(';')[0]]
  }
  const browser = 'text/html,application/xhtml+xml,*/*;q=0.8'
  try {
    assert.equal(await typeOf(at, '/nope', browser), [404, 'text/html'])
    assert.equal(await typeOf(at, '/session/', browser), [404, 'text/html'])
    assert.equal(await typeOf(at, '/nope', '*/*'), [404, 'application/json'])
    assert.equal(await typeOf(at, '/api/nope', browser), [404, 'application/json'])
    // Whether it exists is not shown without a sign-in.
    const [, type] = await typeOf(locked, '/nope', browser)
    assert.is.not(type, 'text/html')
  } finally {
    await at.close()
    await locked.close()
  }
})

test('every kind of response has the security headers', async ({ at, locked }) => {
  const paths = Object.keys(routes)
    .filter(key => key.startsWith('GET '))
    .map(key => key.slice(4))
  for (const path of [...paths, '/nope', '/api/nope', '/session/x', '/static/x']) {
    for (const server of [at, locked]) {
      const answer = await server.get(path)
      await answer.arrayBuffer()
      const gone = missingHeaders(answer.headers).filter(
        name => path !== '/api/bytes' || name !== 'content-security-policy',
      )
      assert.equal(gone, path === '/api/nonce' && server === at ? [] : [], path)
    }
  }
  const wrong = await fetch(`${at.url}/api/echo`, { method: 'PUT', body: '{}' })
  assert.equal(missingHeaders(wrong.headers), [])
  const cut = await at.post('/api/echo', 'no json')
  assert.equal(missingHeaders(cut.headers), [])
})

test('replies 404 to unknown paths of every form', async ({ at }) => {
  const paths = [
    '/nope',
    '/api/echo/',
    '//api/echo',
    '/API/echo',
    '/api/%65cho',
    '/session/',
    '/session/a/b',
    '/session',
    '/__proto__',
    '/constructor',
  ]
  for (const path of paths) {
    const answer = await at.get(path)
    assert.is(answer.status, 404, path)
    assert.is(await answer.text(), '{"error":"not found","code":"not_found"}')
  }
  assert.match(
    await at.raw('GET api/echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1.1 40[04] /,
  )
  assert.match(
    await at.raw('OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1.1 404 /,
  )
  assert.match(
    await at.raw(
      'GET http://localhost/open?x=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    ),
    /^HTTP\/1.1 200 [\s\S]*"word":"hello"/,
  )
})

test('HEAD is GET without a body or effects', async ({ at }) => {
  const answer = await fetch(`${at.url}/open`, { method: 'HEAD' })
  assert.is(answer.status, 200)
  assert.is(answer.headers.get('content-length'), '16')
  assert.is(await answer.text(), '')
  const before = effects
  const refused = await fetch(`${at.url}/api/effects`, { method: 'HEAD' })
  assert.is(refused.status, 405)
  assert.is(refused.headers.get('allow'), 'GET, POST')
  assert.is(effects, before)
  const events = await fetch(`${at.url}/api/stream`, { method: 'HEAD' })
  assert.is(events.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  assert.is(await events.text(), '')
})

test('query: the first value counts, empty is absent, unknown is ignored', async ({ at }) => {
  const ask = async (query: string) => (await at.get(`/api/echo?${query}`)).json()
  assert.equal(await ask('a=1&a=2'), { a: '1' })
  assert.equal(await ask('a=&n=&zz=1'), {})
  assert.equal(await ask('a=&a=2'), { a: '2' })
  assert.equal(await ask('n=3&a=%C3%BC%00%zz'), { a: 'ü\0%zz', n: 3 })
  assert.equal(await ask('__proto__=1&constructor=2'), {})
  assert.equal(await ask('n=x'), { error: 'n must be a number', code: 'invalid_request' })
})

test('reports invalid input as one sentence', async ({ at }) => {
  const ask = async (body: unknown) => {
    const answer = await at.post('/api/echo', body)
    assert.is(answer.status, 400)
    return (await answer.json()).error
  }
  assert.is(await ask({}), 'Missing required field(s): id, title')
  assert.is(await ask({ title: null, id: 'x' }), 'Missing required field(s): title')
  assert.is(await ask({ title: 'x', id: '' }), 'Missing required field(s): id')
  assert.is(await ask({ title: [], id: 'x' }), 'Missing required field(s): title')
  assert.is(await ask({ title: 0, id: 'x' }), 'title must be text')
  assert.is(await ask({ title: 'toolong', id: 'x' }), 'title must have at most 5 characters')
  assert.is(await ask({ title: 'x', id: 'x', tags: ['a', 1] }), 'tags.1 must be text')
})

test('writes replies as described', async ({ at }) => {
  const made = await at.get('/api/status')
  assert.equal([made.status, await made.json()], [201, { made: true }])
  const image = await at.get('/api/bytes')
  assert.equal(
    [image.headers.get('content-type'), image.headers.get('content-security-policy')],
    ['image/png', 'sandbox'],
  )
  assert.equal([...new Uint8Array(await image.arrayBuffer())], [0, 255])
  const nothing = await at.get('/api/empty')
  assert.equal([nothing.status, nothing.headers.get('content-length')], [204, null])
  const cookies = await at.get('/api/cookies', { Cookie: 'mine="q"; again=1; again=2; =x; broken' })
  assert.equal(await cookies.json(), { mine: 'q', again: '1' })
  assert.equal(cookies.headers.getSetCookie(), ['a=1', 'b=2'])
  const page = await at.get('/api/nonce')
  const nonce = /nonce-([\w-]{22})'/.exec(page.headers.get('content-security-policy') ?? '')?.[1]
  assert.is(await page.text(), `<style nonce="${nonce}${nonce}">`)
  assert.is(await (await at.get('/session/abc-1')).text(), 'abc-1')
  assert.is(await (await at.get('/static/a/../b')).text(), '/static/b')
})

test('writes an event stream', async ({ at }) => {
  const answer = await at.get('/api/stream')
  assert.is(answer.headers.get('cache-control'), 'no-cache')
  assert.is(answer.headers.get('x-accel-buffering'), 'no')
  const text = 'id: 1\nevent: a\ndata: {"n":1}\n\nid: 2 event: forged\nevent: b\ndata: x y\n\n'
  assert.is(await answer.text(), text)
})

test('an error reply has its sentence and code, and no headers of the failed response', async ({
  at,
}) => {
  const answer = await at.get('/api/busy')
  assert.is(answer.status, 409)
  assert.equal(await answer.json(), {
    error: 'session already has an active stream',
    code: 'conflict',
    active_stream_id: 'x',
  })
  assert.equal(
    [answer.headers.getSetCookie(), answer.headers.get('cache-control')],
    [[], 'no-store'],
  )
})

test('hides internal errors from clients', async ({ at }) => {
  for (const path of ['throws', 'rejects', 'throws-odd', 'circle', 'wrong', 'void']) {
    at.errors.length = 0
    const answer = await at.get(`/api/${path}`)
    assert.is(answer.status, 500, path)
    assert.equal(await answer.json(), {
      error: 'Internal server error',
      code: 'internal_error',
      request_id: answer.headers.get('x-request-id'),
    })
    assert.is(at.errors.length, 1, path)
  }
  const full = await at.get('/api/full')
  assert.is(full.status, 507)
  assert.not.match(await full.text(), 'secret')
})

test('loopback-only endpoints are 404 for other clients', async ({ at }) => {
  assert.is((await at.get('/api/inject')).status, 200)
  for (const name of [
    'X-Forwarded-For',
    'Forwarded',
    'X-Real-IP',
    'Via',
    'X-Forwarded-Proto',
    'CF-Connecting-IP',
  ]) {
    const answer = await at.get('/api/inject', { [name]: '127.0.0.1' })
    assert.equal(
      [answer.status, await answer.text()],
      [404, '{"error":"not found","code":"not_found"}'],
      name,
    )
    assert.is(
      (await fetch(`${at.url}/api/inject`, { method: 'PUT', headers: { [name]: 'x' } })).status,
      404,
    )
  }
})

test('logs each request once, without its query', async ({ at }) => {
  at.requests.length = 0
  await (await at.get('/open?token=secret')).text()
  await (await at.get('/nope')).text()
  await (await at.get('/api/stream')).text()
  assert.equal(at.requests, [
    { method: 'GET', path: '/open', status: 200 },
    { method: 'GET', path: '/nope', status: 404 },
    { method: 'GET', path: '/api/stream', status: 200 },
  ])
})

test('a request reads its own route only, and none is read before: reading one loads its code', async () => {
  const read: string[] = []
  const late = Object.defineProperties(
    {},
    Object.fromEntries(
      Object.entries(routes).map(([route, made]) => [
        route,
        {
          enumerable: true,
          get() {
            read.push(route)
            return made
          },
        },
      ]),
    ),
  )
  const at = await openServer(late as typeof routes)
  assert.equal(read, [])
  await (await at.get('/api/echo?a=1')).text()
  assert.equal([...new Set(read)], ['GET /api/echo'])
  assert.is((await at.get('/api/none')).status, 404)
  assert.equal([...new Set(read)], ['GET /api/echo'])
  await at.close()
})

test.run()
