/** API tokens: off by default, stored as hashes, throttled, revoked at once, and each bound to its profile. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyEndpoint } from '../../lib/http/endpoint.ts'
import { routes } from '../../router.ts'
import { gate } from '../_provider.ts'
import { fromSeconds, toSeconds } from '../../lib/base/clock.ts'
import { createTestClock } from '../_clock.ts'
import { startApiAt, withApi } from './_client-api.ts'

const tokens = suite('API tokens')

const HELLO = { model: 'agent', messages: [{ role: 'user', content: 'Hello' }] }

tokens(
  'the secret is in one reply and in no file, log line, or later reply; it works after a restart',
  withApi(async ({ app, token, headers }) => {
    assert.match(token.secret, /^awt_[\w-]{43}$/)
    const path = join(app.state, 'api-tokens.json')
    assert.not.match(readFileSync(path, 'utf8'), token.secret)
    assert.is(statSync(path).mode & 0o777, 0o600)
    const listed = await app.get('/api/tokens')
    assert.not.match(listed.text, token.secret)
    assert.equal(Object.keys(listed.body.tokens[0]).toSorted(), [
      ...['approvals', 'created_at', 'disconnect', 'expires_at', 'id', 'last_used_at', 'name'],
      ...['paths', 'profile', 'scope', 'workspace'],
    ])
    assert.is(listed.body.tokens[0].last_used_at, null)
    await app.restart()
    assert.is((await app.get('/v1/models', { headers })).status, 200)
    assert.type((await app.get('/api/tokens')).body.tokens[0].last_used_at, 'number')
    assert.not.ok(app.lines.some(line => line.includes(token.secret)))
  }),
)

tokens(
  'a token opens no route about people, passwords or sign-ins, and none of owners, whatever it may do',
  withApi(async ({ app }) => {
    const given = { name: 'all', approvals: 'deny', paths: ['api'], scope: 'work' }
    const made = await app.post('/api/tokens/create', given)
    const headers = { Authorization: `Bearer ${made.body.secret}` }
    const refused = async (method: string, path: string) => {
      const { status, text } = await app.request(method, path, {
        headers,
        ...(method === 'GET' ? {} : { body: { password: 'another one', role: 'owner' } }),
        headOnly: true,
      })
      assert.is(status, 403, `${method} ${path}: ${text}`)
    }
    const closed = Object.entries(routes as Record<string, AnyEndpoint>).filter(
      ([key, { access, public: isPublic, byToken }]) =>
        !isPublic &&
        !byToken &&
        key.includes(' /api/') &&
        (access === 'own' || /\/(?:people|auth)\//.test(key)),
    )
    assert.ok(closed.some(([key]) => key === 'POST /api/people/password'))
    for (const [key] of closed) {
      const [method = '', path = ''] = key.split(' ')
      await refused(method, path)
    }
    assert.is((await app.get('/api/sessions', { headers })).status, 200)
  }),
)

tokens(
  'a secret that the model writes is masked',
  withApi(async ({ newSession, turn, push, token }) => {
    push({ text: `It is ${token.secret}.` })
    const seen = await turn(await newSession(), 'Which one?')
    assert.not.ok(JSON.stringify(seen).includes(token.secret))
  }),
)

tokens(
  'rejects a missing, wrong or revoked token (401) in the form of the API, and throttles wrong ones (429)',
  withApi(async ({ app, makeToken }) => {
    const old = await makeToken()
    const { body } = await app.post('/api/tokens/revoke', { id: old.id })
    assert.is(body.revoked, true)
    for (const given of [undefined, 'Basic YTpi', `Bearer ${old.secret}`]) {
      const headers: Record<string, string> = given ? { authorization: given } : {}
      const answer = await app.post('/v1/chat/completions', HELLO, { headers })
      assert.is(answer.status, 401)
      assert.is(answer.body.error.code, 'invalid_api_key')
      assert.is(answer.headers['x-should-retry'], 'false')
    }
    const theirs = await app.post('/v1/messages', HELLO, { headers: { 'x-api-key': 'awt_x' } })
    assert.equal([theirs.status, theirs.body.error.type], [401, 'authentication_error'])
    const statuses: number[] = []
    for (let at = 0; at < 6; at++)
      statuses.push((await app.get('/v1/models', { headers: { 'x-api-key': `awt_${at}` } })).status)
    assert.is(statuses.at(-1), 429)
    // The right one is not locked out by another program that guesses.
    const right = await makeToken()
    const ok = await app.get('/v1/models', { headers: { 'x-api-key': right.secret } })
    assert.is(ok.status, 200)
  }),
)

tokens(
  'rejects requests from pages of other sites, and sends no CORS headers',
  withApi(async ({ app, headers }) => {
    const from = { ...headers, Origin: 'https://elsewhere.example' }
    const answer = await app.post('/v1/chat/completions', HELLO, { headers: from })
    assert.is(answer.status, 403)
    assert.is((await app.get('/v1/models', { headers: from })).status, 403)
    const preflight = await app.request('OPTIONS', '/v1/chat/completions', { headers })
    assert.is(preflight.status, 405)
    assert.is(preflight.headers['access-control-allow-origin'], undefined)
  }),
)

tokens(
  'a token admits to nothing but the API',
  withApi(async ({ app, token }) => {
    await app.post('/api/settings', { _set_password: 'a long password' })
    const both: Record<string, string>[] = [
      { authorization: `Bearer ${token.secret}` },
      { 'x-api-key': token.secret },
    ]
    for (const headers of both) {
      assert.is((await app.get('/api/sessions', { headers })).status, 401)
      assert.is((await app.post('/api/tokens/create', { name: 'x' }, { headers })).status, 401)
      assert.is((await app.get('/v1/models', { headers })).status, 200)
    }
  }),
)

const auth = (secret: string, more: Record<string, string> = {}) => ({
  headers: { authorization: `Bearer ${secret}`, ...more },
})

tokens(
  'a token that only reads starts no turn, and is a viewer of its profile in the page’s interface',
  withApi(async ({ app, makeToken, provider }) => {
    const { secret } = await makeToken({ scope: 'read', paths: ['v1', 'api'] })
    assert.is((await app.get('/v1/models', auth(secret))).status, 200)
    assert.is((await app.get('/v1/models/none', auth(secret))).status, 404)
    const turn = await app.post('/v1/chat/completions', HELLO, auth(secret))
    assert.equal(
      [turn.status, turn.body.error.message],
      [403, 'This token can only read. Make one that can work.'],
    )
    assert.is((await app.get('/api/sessions', auth(secret))).status, 200)
    assert.is((await app.post('/api/session/new', {}, auth(secret))).status, 403)
    assert.is(provider.requests.length, 0)
    for (const given of [
      { scope: 'own' },
      { paths: [] },
      { paths: ['v2'] },
      { expires_in_days: 0 },
    ])
      assert.is((await app.post('/api/tokens/create', { name: 'x', ...given })).status, 400)
  }),
)

tokens(
  'a token for the page’s interface works in its profile, never reaches what an owner decides or what only a person does, and needs no cookie',
  withApi(async ({ app }) => {
    await app.post('/api/profile/create', { name: 'second' })
    const theirs = (await app.post('/api/session/new', { profile: 'second' })).body.session
    await app.post('/api/settings', { _set_password: 'a long password' })
    const signedIn = await app.post('/api/auth/login', { password: 'a long password' })
    const cookie = signedIn.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    const { body } = await app.post(
      '/api/tokens/create',
      { name: 'x', paths: ['api'] },
      { headers: { cookie } },
    )
    const own = auth(body.secret)
    const made = await app.post('/api/session/new', {}, own)
    assert.is(made.body.session.profile, 'default')
    const { session_id } = made.body.session
    assert.is((await app.get(`/api/session?session_id=${session_id}`, own)).status, 200)
    const at = `/api/session?session_id=${theirs.session_id}`
    assert.is((await app.get(at, own)).status, 404)
    assert.is((await app.get('/v1/models', own)).status, 403)
    // The owner's cookie beside it gives nothing more.
    for (const given of [own, auth(body.secret, { cookie })]) {
      assert.is((await app.get(at, given)).status, 404)
      const closed = [
        await app.get('/api/tokens', given),
        await app.post('/api/tokens/create', { name: 'y' }, given),
        await app.post('/api/settings', { _clear_password: true }, given),
        await app.get('/api/auth/devices', given),
        await app.post('/api/auth/revoke', { others: true }, given),
        await app.get('/api/auth/linked', given),
        await app.get('/api/notifications', given),
        await app.post('/api/approval/respond', { session_id, choice: 'once' }, given),
        await app.post('/api/session/yolo', { session_id, enabled: true }, given),
        await app.get('/api/terminals', given),
      ]
      assert.equal(
        closed.map(({ status }) => status),
        closed.map(() => 403),
      )
    }
    const from = { ...own.headers, origin: 'https://elsewhere.example' }
    assert.is((await app.get('/api/sessions', { headers: from })).status, 403)
    const wrong = await app.get('/api/sessions', auth('awt_wrong'))
    assert.is(wrong.status, 401)

    const stream = await fetch(`${app.url}/api/events`, { headers: own.headers })
    const reader = stream.body!.getReader()
    await app.post('/api/tokens/revoke', { id: body.tokens.at(-1).id }, { headers: { cookie } })
    try {
      while (!(await reader.read()).done);
    } catch {
      // Cut.
    }
    assert.is((await app.get('/api/sessions', own)).status, 401)
    // Nor does the cookie give it back the rights that were taken from it, or those of a token of another kind.
    for (const token of [body.secret, 'awt_never'])
      assert.is((await app.get('/api/sessions', auth(token, { cookie }))).status, 401)
    for (const other of ['Bearer of-a-proxy', 'Basic YTpi'])
      assert.is(
        (await app.get('/api/sessions', { headers: { cookie, authorization: other } })).status,
        200,
      )
  }),
)

const { opened, open } = gate()

tokens(
  'a revoked token ends its running requests, streamed or not',
  withApi(
    async ({ app, token, openai, sessions, provider }) => {
      const whole = openai().chat.completions.create(HELLO as never)
      const failed = whole.then(
        () => 'answered',
        (error: { status: number }) => error.status,
      )
      const stream = await openai().chat.completions.create({ ...HELLO, stream: true } as never)
      const { promise: started, resolve: start } = Promise.withResolvers<void>()
      const read = (async () => {
        let text = ''
        for await (const chunk of stream as unknown as AsyncIterable<{
          choices: { delta: { content?: string } }[]
        }>) {
          text += chunk.choices[0]?.delta.content ?? ''
          if (text !== '') start()
        }
        return text
      })().catch(() => 'cut')
      await provider.arrived(2)
      await started
      await app.post('/api/tokens/revoke', { id: token.id })
      assert.is(await failed, 401)
      await read
      open()
      for (const row of await sessions()) assert.is(row.last_turn, 'cancelled')
    },
    { text: ['One ', 'two ', 'three'], middle: opened },
    { text: ['One ', 'two ', 'three'], middle: opened },
  ),
)

tokens(
  'a token that expires ends its requests and is refused with that reason; one in a file of an earlier version never expires',
  async () => {
    const clock = createTestClock(Date.now())
    await using service = await startApiAt(clock, { text: ['One ', 'two'], middle: gate().opened })
    const { app, makeToken, openai, provider } = service
    const { secret, id } = await makeToken({ expires_in_days: 30, disconnect: 'continue' })
    const { expires_at } = (await app.get('/api/tokens')).body.tokens.at(-1)
    assert.is(expires_at, Math.floor(toSeconds(clock.now())) + 30 * 86_400)
    clock.set(fromSeconds(expires_at) - 1)
    const running = openai(secret).responses.create({ model: 'agent', input: 'Hello' })
    const failed = running.then(
      () => 200,
      (error: { status: number }) => error.status,
    )
    await provider.arrived(1)
    await clock.advance(1)
    assert.is(await failed, 401)
    const late = await app.get('/v1/models', auth(secret))
    assert.equal(
      [late.status, late.body.error.message],
      [401, 'The token "test" has expired. Make a new one.'],
    )
    const path = join(app.state, 'api-tokens.json')
    const change = (patch: (token: Record<string, unknown>) => void) => {
      const file = JSON.parse(readFileSync(path, 'utf8'))
      for (const token of file.tokens) if (token.id === id) patch(token)
      writeFileSync(path, JSON.stringify(file))
    }
    // One of an earlier version: it never expires, and works.
    change(token => {
      for (const key of ['expires_at', 'scope', 'paths']) delete token[key]
    })
    await app.restart()
    const old = (await app.get('/api/tokens')).body.tokens.at(-1)
    assert.equal([old.expires_at, old.scope, old.paths], [null, 'work', ['v1']])
    assert.is((await app.get('/v1/models', auth(secret))).status, 200)
  },
)

tokens(
  'tokens of two profiles use their own models and chats, and none finds those of another',
  withApi(
    async ({ app, openai, makeToken, sessions, provider, headers }) => {
      await app.post('/api/profile/create', { name: 'second' })
      writeFileSync(
        join(app.home, 'profiles', 'second', 'config.yaml'),
        `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: second-model\n`,
      )
      const other = await makeToken({ profile: 'second' })
      const first = await openai().responses.create({ model: 'agent', input: 'One' })
      await openai(other.secret).responses.create({ model: 'agent', input: 'Two' })
      assert.equal(
        provider.requests
          .map(({ body }) => body.model)
          .filter((model, at, models) => models.indexOf(model) === at),
        ['test-model', 'second-model'],
      )
      const rows = await sessions()
      const mine = rows.find(({ profile }) => profile === 'default')
      for (const given of [
        { previous_response_id: first.id },
        { conversation: String(mine?.session_id) },
      ]) {
        const answer = await app.post(
          '/v1/responses',
          { input: 'Three', ...given },
          { headers: { 'x-api-key': other.secret } },
        )
        // A name of its own is a new conversation; an unknown response is an error.
        assert.is(answer.status, 'conversation' in given ? 200 : 404)
      }
      const { headers: named } = await app.get(`/v1/responses/${first.id}`, { headers })
      assert.match(String(named['content-type']), 'application/json')
      const theirs = await app.get(`/v1/responses/${first.id}`, {
        headers: { 'x-api-key': other.secret },
      })
      assert.is(theirs.status, 404)
      const after = await sessions()
      assert.is(after.find(row => row.session_id === mine?.session_id)?.message_count, 2)
    },
    { text: 'First.' },
    { text: 'Second.' },
    { text: 'Third.' },
  ),
)

tokens(
  'a token with a workspace runs there, and the page keeps its own last workspace',
  withApi(
    async ({ app, makeToken, openai, sessions }) => {
      const elsewhere = join(app.userHome, 'elsewhere')
      mkdirSync(elsewhere)
      const before = (await app.post('/api/session/new', {})).body.session.workspace
      const { secret } = await makeToken({ workspace: elsewhere })
      await openai(secret).responses.create({ model: 'agent', input: 'Hello' })
      const [row] = (await sessions()).filter(({ source_tag }) => source_tag === 'api')
      assert.is(row?.workspace, elsewhere)
      assert.is((await app.post('/api/session/new', {})).body.session.workspace, before)
    },
    { text: 'Yes.' },
  ),
)

tokens(
  'rejects a token for a profile or a workspace that does not exist',
  withApi(async ({ app }) => {
    const bad = [
      { name: '' },
      { name: 'x', profile: 'none' },
      { name: 'x', workspace: '/nowhere/at/all' },
      { name: 'x', approvals: 'allow' },
    ]
    for (const given of bad)
      assert.ok([400, 404].includes((await app.post('/api/tokens/create', given)).status))
    assert.is((await app.get('/api/tokens')).body.tokens.length, 1)
  }),
)

tokens.run()
