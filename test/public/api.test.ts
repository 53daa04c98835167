/** API client: errors, sign-in, URLs. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ApiError, createApi, urlOf } from '../../public/api.ts'

type Sent = { url: string; init: RequestInit }
const service = (...answers: [status: number, body: string][]) => {
  const sent: Sent[] = []
  let signIns = 0
  const others: string[] = []
  const api = createApi({
    fetch: (async (url: string, init: RequestInit) => {
      sent.push({ url, init })
      const answer = answers.shift()
      if (!answer) throw new TypeError('failed')
      return new Response(answer[1], { status: answer[0] })
    }) as unknown as typeof fetch,
    base: 'http://host/any/path/',
    signIn: async () => {
      signIns += 1
    },
    unreachable: () => 'unreachable',
    onOtherAccount: () => void others.push('reload'),
  })
  return { api, sent, others, signIns: () => signIns }
}
const refusal = async (promise: Promise<unknown>): Promise<ApiError> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('not refused')
}

const test = suite('api')

test('an error carries status, sentence and extra keys', async () => {
  const { api } = service([409, '{"error":"busy","active_stream_id":"x"}'])
  const error = await refusal(api('POST /api/chat/start', { session_id: 'a', message: 'b' }))
  assert.equal([error.status, error.message, error.body.active_stream_id], [409, 'busy', 'x'])
})

test('shows its own text for a code it knows, and the server’s sentence otherwise', async () => {
  for (const [code, message] of [
    ['session_busy', 'An answer is in progress. Wait for it, or stop it first.'],
    ['conflict', 'said by the server'],
    ['code_of_a_newer_server', 'said by the server'],
    ['toString', 'said by the server'],
  ] as const) {
    const { api } = service([409, JSON.stringify({ error: 'said by the server', code })])
    const error = await refusal(api('GET /api/settings'))
    assert.equal([error.code, error.message], [code, message])
  }
})

test('its own text names what the server names, and needs all of it', async () => {
  for (const [values, message] of [
    [{ name: 'a\u202eb' }, 'There’s no profile “a⟨U+202E⟩b”.'],
    [{}, 'said by the server'],
    [{ name: { toString: 1 } }, 'said by the server'],
    [undefined, 'said by the server'],
  ] as const) {
    const reply = { error: 'said by the server', code: 'profile_not_found', values }
    const { api } = service([404, JSON.stringify(reply)])
    assert.is((await refusal(api('GET /api/settings'))).message, message)
  }
})

test('a reply that is not JSON is an error with its status', async () => {
  const { api } = service([502, '<html>bad gateway</html>'])
  assert.is((await refusal(api('GET /api/settings'))).status, 502)
})

test('an error of the server has details to copy; others, and those of a proxy, have none', async () => {
  const failed = { error: 'Internal server error', code: 'internal_error', request_id: 'a1-7' }
  const detailOf = async (status: number, body: unknown) =>
    (await refusal(service([status, JSON.stringify(body)]).api('GET /api/settings'))).copyable ??
    null
  const detail = await detailOf(500, failed)
  assert.is(detail?.label, 'Copy details')
  assert.match(
    detail?.text ?? '',
    /^GET \/api\/settings: 500 Internal server error\nrequest_id: a1-7\n20\d\d-\S+Z$/,
  )
  assert.is((await detailOf(507, { ...failed, code: 'disk_full' }))?.label, 'Copy details')
  assert.is(await detailOf(502, {}), null)
  assert.is(await detailOf(500, { ...failed, request_id: 7 }), null)
  assert.is(await detailOf(409, failed), null)
})

test('reports a server that cannot be reached', async () => {
  const { api } = service()
  const error = await refusal(api('GET /api/settings'))
  assert.equal([error.status, error.message], [0, 'unreachable'])
})

test('a 401 waits for the sign-in and retries once', async () => {
  const { api, sent, signIns } = service([401, '{}'], [200, '{"name":"default","path":"/"}'])
  assert.is((await api('GET /api/profile/active')).name, 'default')
  assert.equal([sent.length, signIns()], [2, 1])
  const again = service([401, '{}'], [401, '{"error":"no"}'])
  assert.is((await refusal(again.api('GET /api/profile/active'))).status, 401)
  assert.is(again.signIns(), 1)
})

test('a wrong password does not open the sign-in dialog again', async () => {
  const { api, signIns } = service([401, '{"error":"Invalid password"}'])
  await refusal(api('POST /api/auth/login', { password: 'x' }))
  assert.is(signIns(), 0)
})

test("URLs are relative to the page's path, without blank values", async () => {
  const { api, sent } = service([200, '{}'], [200, '{}'])
  await api('GET /api/session', { session_id: 'a b', limit: 5 })
  await api('POST /api/session/clear', { session_id: 'a' })
  assert.is(sent[0]!.url, 'http://host/any/path/api/session?session_id=a+b&limit=5')
  assert.is(sent[1]!.url, 'http://host/any/path/api/session/clear')
  assert.is(sent[1]!.init.body, '{"session_id":"a"}')
  assert.is(urlOf('http://host/', 'x', { a: '', b: undefined, c: 0 }), 'http://host/x?c=0')
})

test('what creates something is made again once when its reply was lost, with the same key', async () => {
  const created = '{"session":{"session_id":"a"}}'
  const lost = service()
  const keyOf = ({ init }: Sent) => new Headers(init.headers).get('idempotency-key')
  assert.is((await refusal(lost.api('POST /api/session/new', {}))).status, 0)
  assert.equal([lost.sent.length, new Set(lost.sent.map(keyOf)).size], [2, 1])
  const { api, sent } = service([200, created], [200, created])
  await api('POST /api/session/new', {})
  await api('POST /api/session/new', {})
  assert.is(new Set(sent.map(keyOf)).size, 2)
  // Who gives a key repeats the request by itself.
  const own = service()
  await refusal(own.api('POST /api/session/new', {}, { key: 'own' }))
  assert.equal(own.sent.map(keyOf), ['own'])
  const other = service()
  await refusal(other.api('POST /api/session/pin', { session_id: 'a', pinned: true }))
  assert.equal(other.sent.map(keyOf), [null])
})

test('so is one whose connection broke behind a forwarder; an answer of the server is one', async () => {
  const created = '{"session":{"session_id":"a"}}'
  for (const [status, body, count] of [
    [502, '{"error":"broke","code":"bad_gateway"}', 2],
    [504, '<html>', 2],
    [502, '{"error":"the model refused","code":"provider_refused"}', 1],
    [503, '{"error":"full","code":"workers_full"}', 1],
  ] as const) {
    const { api, sent } = service([status, body], [200, created])
    await api('POST /api/session/new', {}).catch(() => undefined)
    assert.is(sent.length, count, body)
    const setting = service([status, body], [200, created])
    await refusal(setting.api('POST /api/session/pin', { session_id: 'a', pinned: true }))
    assert.is(setting.sent.length, 1, 'it has no key')
  }
})

test.run()
