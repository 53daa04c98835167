/** Request bodies: truncated, slow, huge, deep and hostile ones, and that other requests are still served. */
import { once } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { MAX_BODY_BYTES, parseBody } from '../../../lib/http/body.ts'
import { endpoint, headersOf, missingHeaders, openServer, type TestServer } from './_server.ts'

const calls: unknown[] = []
const routes = {
  'POST /echo': endpoint({
    summary: 'echo',
    input: z.looseObject({}),
    run: (_ctx, input) => {
      calls.push(input)
      return { keys: Object.keys(input), polluted: (input as { admin?: boolean }).admin ?? null }
    },
  }),
  'POST /blind': endpoint({ summary: 'takes nothing', run: () => ({ ok: true }) }),
  'POST /upload': endpoint({
    summary: 'upload',
    multipart: true,
    raw: '*/*',
    run: () => ({ ok: true }),
  }),
  'GET /open': endpoint({ summary: 'open', run: () => ({ ok: true }) }),
}

const test = suite<{ at: TestServer; impatient: TestServer; short: TestServer }>('http/body')
test.before(async context => {
  context.at = await openServer(routes)
  // One short time each before the answer: with two, a busy machine decides which ends the request.
  context.impatient = await openServer(routes, {
    bodyIdleMs: 60,
    limits: { keepAliveTimeoutMs: 50 },
  })
  context.short = await openServer(routes, {
    limits: { headersTimeoutMs: 100, requestTimeoutMs: 150, checkEveryMs: 30 },
  })
})
test.after(async ({ at, impatient, short }) => {
  await Promise.all([at.close(), impatient.close(), short.close()])
})

const post = (path: string, headers: string, body = '') =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n${body}`

test('rejects bodies that are not JSON objects (400)', async ({ at }) => {
  const bad = [
    'no json',
    '{',
    '[1]',
    '1',
    'null',
    '"x"',
    '{"a":1}x',
    "{'a':1}",
    '{"a":"\n"}',
    '\0',
    new Uint8Array([0x7b, 0xff, 0x7d]),
  ]
  for (const path of ['/echo', '/blind']) {
    for (const body of bad) {
      const answer = await at.post(path, body)
      assert.is(answer.status, 400, String(body))
      assert.match((await answer.json()).error, /^The request body /)
    }
  }
  assert.is(calls.length, 0)
})

test('parses an empty body as an empty object, for every media type', async ({ at }) => {
  for (const body of ['', '  \n', '{}', '\ufeff{}']) {
    const answer = await at.post('/echo', body, { 'Content-Type': 'text/plain' })
    assert.equal(await answer.json(), { keys: [], polluted: null })
  }
})

test('limits nesting; brackets in strings do not count', () => {
  const nested = (depth: number) => Buffer.from(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`)
  parseBody(nested(99))
  assert.throws(() => parseBody(nested(100)), /nested too deeply/)
  assert.throws(() => parseBody(nested(5_000_000)), /nested too deeply/)
  parseBody(Buffer.from(JSON.stringify({ a: `"\\"${'['.repeat(500)}`, b: '\\' })))
})

test('no key can change a prototype', async ({ at }) => {
  for (const key of ['__proto__', '\\u005f_proto__', '__\\u0070roto__']) {
    const answer = await at.post(
      '/echo',
      `{"${key}":{"admin":true},"b":[{"${key}":1}],"constructor":{"prototype":{"admin":true}}}`,
    )
    assert.equal(await answer.json(), { keys: ['b', 'constructor'], polluted: null }, key)
  }
  assert.is(({} as { admin?: boolean }).admin, undefined)
  const wide = parseBody(Buffer.from(`{"__proto__":1,"a":[${'1,'.repeat(300_000)}1]}`))
  assert.is((wide.a as number[]).length, 300_001)
  assert.not.ok(Object.hasOwn(wide, '__proto__'))
})

test('accepts 20 MiB and rejects one byte more without reading the rest', async ({ at }) => {
  const text = (size: number) => `{"a":"${'x'.repeat(size - 8)}"}`
  assert.is((await at.post('/echo', text(MAX_BODY_BYTES))).status, 200)
  const length = `Content-Length: ${MAX_BODY_BYTES + 1}`
  const answers = await Promise.all([
    at.raw(post('/echo', length, '{"a":"')),
    at.raw(post('/upload', length, '{"a":"')),
    at.raw(post('/echo', `Expect: 100-continue\r\n${length}`)),
  ])
  for (const answer of answers) {
    assert.match(
      answer,
      /^HTTP\/1.1 400 [\s\S]*Connection: close[\s\S]*larger than 20 MB","code":"body_too_large","values":\{"max":20\}}$/,
    )
    assert.equal(missingHeaders(headersOf(answer)), [])
  }
})

test('counts the bytes of chunked bodies', async ({ at }) => {
  const socket = await at.open()
  let answer = ''
  socket.setEncoding('utf8').on('data', chunk => {
    answer += chunk
  })
  socket.write(post('/echo', 'Transfer-Encoding: chunked'))
  const chunk = `100000\r\n${'x'.repeat(1 << 20)}\r\n`
  let sent = 0
  while (!socket.closed && !answer && sent < 64) {
    sent += 1
    if (!socket.write(chunk))
      await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined)
  }
  if (!socket.closed) await once(socket, 'close')
  assert.match(answer, /^HTTP\/1.1 400 [\s\S]*larger than 20 MB/)
  assert.ok(sent < 40)
})

test('a rejected request does not read a large body', async ({ at }) => {
  const answer = await at.raw(post('/nope', 'Content-Length: 9000000', 'x'.repeat(1000)))
  assert.match(answer, /^HTTP\/1.1 404 [\s\S]*Connection: close/)
  // A small body is drained, and the connection stays open.
  const socket = await at.open()
  socket.write(
    post('/nope', 'Content-Length: 4', 'xxxx') +
      post('/blind', 'Content-Length: 2\r\nConnection: close', '{}'),
  )
  let text = ''
  socket.setEncoding('utf8').on('data', chunk => {
    text += chunk
  })
  await once(socket, 'close')
  assert.match(text, /404 Not Found[\s\S]*200 OK[\s\S]*{"ok":true}$/)
})

test('rejects a stalled body (400) and drops a disconnected client', async ({ impatient }) => {
  impatient.requests.length = 0
  const answer = await impatient.raw(post('/echo', 'Content-Length: 100', '{"a":'))
  assert.match(answer, /^HTTP\/1.1 400 [\s\S]*stopped arriving/)
  const socket = await impatient.open()
  const asked = once(impatient.server, 'request')
  socket.write(post('/echo', 'Content-Length: 100', '{"a":'))
  const [, response] = await asked
  socket.destroy()
  await once(response, 'close')
  await new Promise(resolve => setImmediate(resolve))
  assert.is(impatient.requests.at(-1)?.status, 499)
  assert.equal(impatient.errors, [])
})

test('the request timeout ends a slow body', async ({ short }) => {
  const socket = await short.open()
  let answer = ''
  socket.setEncoding('utf8').on('data', chunk => {
    answer += chunk
  })
  socket.write(post('/echo', 'Content-Length: 10000', '{'))
  const drip = setInterval(() => socket.write(' '), 20)
  await once(socket, 'close')
  clearInterval(drip)
  assert.match(answer, /^HTTP\/1.1 408 /)
  assert.equal(missingHeaders(headersOf(answer)), [])
})

test.run()
