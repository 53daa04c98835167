/** What node answers by itself, and callers that hold on without saying anything. */
import { once } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { endpoint, headersOf, missingHeaders, openServer, type TestServer } from './_server.ts'

let let_go: () => void = () => {}
const routes = {
  'GET /open': endpoint({ summary: 'open', public: true, run: () => ({ ok: true }) }),
  'GET /slow': endpoint({
    summary: 'slow',
    run: () =>
      new Promise<{ ok: boolean }>(resolve => {
        let_go = () => resolve({ ok: true })
      }),
  }),
}

const test = suite<{ at: TestServer; impatient: TestServer }>('http/server')
test.before(async context => {
  context.at = await openServer(routes)
  // On a busy machine the headers of any request may take longer.
  context.impatient = await openServer(routes, {
    limits: { headersTimeoutMs: 80, requestTimeoutMs: 5_000, checkEveryMs: 20 },
  })
})
test.after(async ({ at, impatient }) => {
  await Promise.all([at.close(), impatient.close()])
})

const expect = async (at: TestServer, request: string, status: RegExp) => {
  const answer = await at.raw(request)
  assert.match(answer, status)
  assert.equal(missingHeaders(headersOf(answer)), [], answer)
  assert.match(answer, /\r\n\r\n\{"error":"[^"]+","code":"[a-z_]+"\}$/)
}

test('rejects invalid HTTP', async ({ at }) => {
  await expect(at, 'hello\r\n\r\n', /^HTTP\/1.1 400 /)
  await expect(at, 'GET /open HTTP/1.1\r\nHost: x\r\nBad Header: x\r\n\r\n', /^HTTP\/1.1 400 /)
  await expect(
    at,
    'POST /open HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    /^HTTP\/1.1 400 /,
  )
})

test('rejects oversized headers and times out missing ones', async ({ at, impatient }) => {
  await expect(
    at,
    `GET /open HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`,
    /^HTTP\/1.1 431 /,
  )
  await expect(impatient, 'GET /open HTTP/1.1\r\nHost: x\r\n', /^HTTP\/1.1 408 /)
  await expect(impatient, '', /^HTTP\/1.1 408 /)
})

test('handles a missing Host, CONNECT, upgrades and unknown expectations', async ({ at }) => {
  await expect(at, 'GET /open HTTP/1.1\r\nConnection: close\r\n\r\n', /^HTTP\/1.1 400 /)
  assert.match(await at.raw('GET /open HTTP/1.0\r\n\r\n'), /^HTTP\/1.1 200 [\s\S]*{"ok":true}$/)
  await expect(
    at,
    'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n',
    /^HTTP\/1.1 405 /,
  )
  const upgrade =
    'GET /nope HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n'
  await expect(at, upgrade, /^HTTP\/1.1 404 /)
  const odd = await at.raw(
    'GET /open HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\nConnection: close\r\n\r\n',
  )
  assert.match(odd, /^HTTP\/1.1 200 /)
  assert.equal(missingHeaders(headersOf(odd)), [])
})

test('responds to a half-closed connection', async ({ at }) => {
  const request = 'GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const asked = once(at.server, 'request')
  const answer = at.raw(request, { end: true })
  const [req] = await asked
  if (!req.socket.readableEnded) await once(req.socket, 'end')
  let_go()
  assert.match(await answer, /^HTTP\/1.1 200 [\s\S]*{"ok":true}$/)
})

test('answers pipelined requests in order', async ({ at }) => {
  const one = 'GET /open HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const answer = await at.raw(
    `${one}${one}GET /nope HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
  )
  assert.equal(
    [...answer.matchAll(/HTTP\/1.1 (\d+)/g)].map(match => match[1]),
    ['200', '200', '404'],
  )
})

test.run()
