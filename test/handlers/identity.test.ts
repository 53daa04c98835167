/** Devices and pairing over HTTP: one use, races, other people's codes, and who may not. */
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { appendFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../_clock.ts'
import { Audit } from '../../lib/people/audit.ts'
import { Pairing } from '../../lib/people/pairing.ts'
import { isProtectedPath } from '../../lib/store/state-files.ts'
import { startApp, type TestApp } from '../_app.ts'
import { tempDir } from '../_temp-dir.ts'

const PASSWORD = 'correct horse'

const test = suite<{ app: TestApp }>('identity')
test.before(async context => {
  context.app = await startApp({ env: { AGENT_WEBUI_PASSWORD: PASSWORD } })
})
test.after(({ app }) => app.close())

type Reply = Awaited<ReturnType<TestApp['post']>>

const cookieOf = (reply: Reply): string => (reply.headers['set-cookie']?.[0] ?? '').split(';')[0]!

const signIn = async (app: TestApp): Promise<string> =>
  cookieOf(await app.post('/api/auth/login', { password: PASSWORD }))

const as = (cookie: string) => ({ headers: { cookie } })

const devicesOf = async (app: TestApp, cookie: string) =>
  (await app.get('/api/auth/devices', as(cookie))).body.devices

const codeOf = (reply: Reply): unknown[] => [reply.status, reply.body.code]

test('the cookie is for this host only, for a day, and Secure behind TLS; the page gets it by no other means', async ({
  app,
}) => {
  const login = async (headers = {}) => {
    const reply = await app.post('/api/auth/login', { password: PASSWORD }, { headers })
    assert.equal(reply.body, { ok: true })
    return String(reply.headers['set-cookie'])
  }
  const plain =
    /^agent_session=[0-9a-f]{64}\.[0-9a-f]{32}; HttpOnly; Max-Age=86400; Path=\/; SameSite=Lax$/
  assert.match(await login(), plain)
  assert.match(
    await login({ 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }),
    /; SameSite=Lax; Secure$/,
  )
  const mine = await signIn(app)
  const evil = { headers: { cookie: mine, origin: 'https://evil.example' } }
  assert.is((await app.post('/api/auth/logout', {}, evil)).status, 403)
  assert.is((await app.get('/', as(mine))).status, 200)
  await app.post('/api/auth/logout', {}, as(mine))
  assert.is((await app.get('/', as(mine))).status, 302)
})

test('a device is renamed and signed out; its event stream ends', async ({ app }) => {
  const [mine, other] = [await signIn(app), await signIn(app)]
  const devices = await devicesOf(app, mine)
  const { id } = devices.find((each: { current: boolean }) => !each.current)
  assert.is((await app.post('/api/auth/device/rename', { id, name: 'x' })).status, 401)
  assert.is(
    (await app.post('/api/auth/device/rename', { id: 'f'.repeat(16), name: 'x' }, as(mine))).status,
    404,
  )
  await app.post('/api/auth/device/rename', { id, name: ' Tablet ' }, as(mine))
  assert.ok((await devicesOf(app, mine)).some((each: { name: string }) => each.name === 'Tablet'))
  const stream = await fetch(`${app.url}/api/events`, { headers: { cookie: other } })
  const reader = stream.body!.getReader()
  await reader.read()
  await app.post('/api/auth/revoke', { id }, as(mine))
  while (!(await reader.read()).done);
  await app.post('/api/auth/revoke', { others: true }, as(mine))
  assert.is((await devicesOf(app, mine)).length, 1)
})

test('a terminal shows nothing more to a device that was signed out while it waited for output', async ({
  app,
}) => {
  const [mine, other] = [await signIn(app), await signIn(app)]
  const { session_id } = (await app.post('/api/session/new', {}, as(mine))).body.session
  const { terminal_id } = (
    await app.post('/api/terminal/open', { session_id, cols: 80, rows: 24 }, as(mine))
  ).body.terminal
  const one = { session_id, terminal_id }
  const type = (client: string, n: number, data: string) =>
    app.post('/api/terminal/input', { ...one, client, n, data }, as(mine))
  const read = (after: number) =>
    app.post('/api/terminal/read', { ...one, client: 'phone', after }, as(other))
  await type('page', 1, 'stty -echo; echo REA""DY; cat\n')
  let [text, next] = ['', 0]
  // A shell would print more after it: its prompt, with the codes of its terminal.
  while (!/READY\r?\n/.test(text)) {
    const { body } = await read(next)
    text += body.text
    next = body.next
  }
  const waiting = read(next)
  const devices = await devicesOf(app, other)
  const { id } = devices.find((each: { current: boolean }) => each.current)
  await app.post('/api/auth/revoke', { id }, as(mine))
  await type('page', 2, 'echo secret\n')
  const late = await waiting
  assert.equal(codeOf(late), [401, 'sign_in_required'])
  assert.not.ok(late.text.includes('secret'))
  await app.post('/api/terminal/close', one, as(mine))
})

test('a pairing code signs one device in, once, for 30 days', async ({ app }) => {
  const mine = await signIn(app)
  assert.equal(codeOf(await app.post('/api/auth/pair/create', {})), [401, 'sign_in_required'])
  const made = await app.post('/api/auth/pair/create', {}, as(mine))
  assert.match(made.body.code, /^[\w-]{27}$/)
  const status = async (cookie = mine) =>
    (await app.get(`/api/auth/pair/status?id=${made.body.id}`, as(cookie))).body
  assert.equal(await status(), { state: 'waiting' })
  assert.equal(await status(await signIn(app)), { state: 'gone' })
  const foreign = { headers: { origin: 'https://evil.example' } }
  const body = { code: made.body.code, name: 'Phone' }
  assert.equal(codeOf(await app.post('/api/auth/pair/use', body, foreign)), [403, 'cross_origin'])
  assert.equal(codeOf(await app.post('/api/auth/pair/use', { code: 'x'.repeat(27) })), [
    401,
    'pairing_expired',
  ])
  const replies = await Promise.all(
    Array.from({ length: 4 }, () => app.post('/api/auth/pair/use', body)),
  )
  assert.equal(replies.map(reply => reply.status).toSorted(), [200, 401, 401, 401])
  const [paired] = replies.filter(reply => reply.status === 200) as [Reply]
  assert.match(paired.headers['set-cookie']?.[0] ?? '', /; HttpOnly; Max-Age=2592000; /)
  assert.equal(await status(), { state: 'paired', name: 'Phone' })
  const phone = cookieOf(paired)
  const own = (await devicesOf(app, phone)).find((each: { current: boolean }) => each.current)
  assert.equal([own.name, own.how], ['Phone', 'pairing'])
  assert.ok(own.expires_at - own.created_at > 29 * 86_400)
  // A paired device does not pair others by itself.
  assert.equal(codeOf(await app.post('/api/auth/pair/create', {}, as(phone))), [
    403,
    'confirm_password',
  ])
  assert.equal(codeOf(await app.post('/api/auth/pair/create', { password: 'x' }, as(phone))), [
    403,
    'wrong_password',
  ])
  const confirmed = await app.post('/api/auth/pair/create', { password: PASSWORD }, as(phone))
  assert.is(confirmed.status, 200)
  // Its codes end with its sign-in.
  await app.post('/api/auth/logout', {}, as(phone))
  assert.equal(codeOf(await app.post('/api/auth/pair/use', { code: confirmed.body.code })), [
    401,
    'pairing_expired',
  ])
  const canceled = await app.post('/api/auth/pair/create', {}, as(mine))
  await app.post('/api/auth/pair/cancel', { id: canceled.body.id }, as(await signIn(app)))
  await app.post('/api/auth/pair/cancel', { id: canceled.body.id }, as(mine))
  assert.equal(codeOf(await app.post('/api/auth/pair/use', { code: canceled.body.code })), [
    401,
    'pairing_expired',
  ])
  const log = app.lines.join('\n')
  assert.not.ok(log.includes(made.body.code))
})

test('five wrong pairing codes are enough', async ({ app }) => {
  const from = { headers: { 'x-forwarded-for': '203.0.113.9' } }
  for (let i = 0; i < 5; i += 1)
    assert.is((await app.post('/api/auth/pair/use', { code: `${i}` }, from)).status, 401)
  assert.is((await app.post('/api/auth/pair/use', { code: 'x' }, from)).status, 429)
})

test('a code expires, is canceled by its maker only, and does not outlive a restart', async () => {
  const clock = createTestClock()
  const pairing = new Pairing(clock, by => by !== 'gone')
  const first = pairing.create('a')
  await clock.advance(299_000)
  pairing.cancel(first.id, 'b')
  assert.is(pairing.status(first.id, 'a').state, 'waiting')
  await clock.advance(1_000)
  assert.is(pairing.use(first.code, ''), undefined)
  assert.is(pairing.status(first.id, 'a').state, 'gone')
  const second = pairing.create('a')
  pairing.cancel(second.id, 'a')
  assert.is(pairing.use(second.code, ''), undefined)
  assert.is(pairing.use(pairing.create('gone').code, ''), undefined)
  for (let i = 0; i < 5; i += 1) pairing.create('a')
  assert.throws(() => pairing.create('a'), /Too many/)
})

const KEY = {
  id: 'AAAA',
  rawId: 'AAAA',
  type: 'public-key',
  response: { clientDataJSON: 'e30', authenticatorData: 'AA', signature: 'AA' },
}

test('passkeys and codes are changed by signed-in people only, who are confirmed', async ({
  app,
}) => {
  const closed: [path: string, body: object][] = [
    ['/api/auth/passkeys', {}],
    ['/api/auth/passkey/register/options', { password: PASSWORD }],
    ['/api/auth/passkey/register', { response: KEY }],
    ['/api/auth/passkey/rename', { id: 'x', name: 'x' }],
    ['/api/auth/passkey/delete', { id: 'x', password: PASSWORD }],
    ['/api/auth/totp/start', { password: PASSWORD }],
    ['/api/auth/totp/enable', { code: '123456' }],
    ['/api/auth/totp/disable', { password: PASSWORD }],
    ['/api/auth/totp/recovery', { password: PASSWORD }],
  ]
  for (const [path, body] of closed)
    assert.equal(codeOf(await app.post(path, body)), [401, 'sign_in_required'], path)
  assert.is((await app.get('/api/auth/totp')).status, 401)
  const mine = await signIn(app)
  const at = { headers: { cookie: mine, host: 'agent.example:80' } }
  const evil = { headers: { ...at.headers, origin: 'https://evil.example' } }
  for (const [path, body] of closed)
    assert.equal(codeOf(await app.post(path, body, evil)), [403, 'cross_origin'], path)
  for (const path of ['start', 'disable', 'recovery'])
    for (const [password, code] of [
      ['', 'confirm_password'],
      ['wrong', 'wrong_password'],
    ])
      assert.equal(codeOf(await app.post(`/api/auth/totp/${path}`, { password }, as(mine))), [
        403,
        code,
      ])
  assert.is(
    (await app.post('/api/auth/totp/recovery', { password: PASSWORD }, as(mine))).status,
    409,
  )
  assert.equal((await app.get('/api/auth/totp', as(mine))).body, {
    enabled: false,
    recovery_left: 0,
  })
  assert.equal((await app.post('/api/auth/passkeys', {}, as(mine))).body, {
    passkeys: [],
    usable: false,
  })
  assert.equal(codeOf(await app.post('/api/auth/passkey/register/options', {}, as(mine))), [
    400,
    'passkey_no_host',
  ])
  const { body } = await app.post('/api/auth/passkey/register/options', {}, at)
  assert.equal(
    [body.rp.id, body.attestation, body.authenticatorSelection.userVerification],
    ['agent.example', 'none', 'required'],
  )
  assert.equal(codeOf(await app.post('/api/auth/passkey/register', { response: KEY }, at)), [
    400,
    'passkey_rejected',
  ])
  assert.is((await app.post('/api/auth/passkey/rename', { id: 'x', name: 'x' }, at)).status, 404)
  assert.is((await app.post('/api/auth/passkey/delete', { id: 'x' }, at)).status, 404)
})

test('a passkey that is not known is refused, and five times are enough', async ({ app }) => {
  const from = { headers: { host: 'agent.example', 'x-forwarded-for': '203.0.113.7' } }
  const { body } = await app.post('/api/auth/passkey/options', {}, from)
  assert.equal(
    [body.rpId, body.userVerification, body.allowCredentials],
    ['agent.example', 'required', undefined],
  )
  for (let i = 0; i < 5; i += 1)
    assert.equal(codeOf(await app.post('/api/auth/passkey/login', { response: KEY }, from)), [
      401,
      'passkey_rejected',
    ])
  assert.is((await app.post('/api/auth/passkey/login', { response: KEY }, from)).status, 429)
})

/** A passkey made in software: what people.json has of it, and what it signs. */
const softwareKey = (rpId: string, origin: string) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const bytes = (head: string, text: string) =>
    Buffer.concat([Buffer.from(head, 'hex'), Buffer.from(text, 'base64url')])
  // COSE: {1: 2, 3: -7, -1: 1, -2: x, -3: y}
  const cose = Buffer.concat([bytes('a5010203262001215820', x), bytes('225820', y)])
  const [id, at] = ['c29mdHdhcmU', 1_700_000_000]
  const stored = {
    id,
    public_key: cose.toString('base64url'),
    counter: 0,
    transports: [],
    rp_id: rpId,
    origin,
    name: '',
    created_at: at,
    last_used_at: null,
  }
  const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest()
  return {
    stored,
    /** As a browser signs for a page of this origin. */
    sign(challenge: string, page: string) {
      const client = Buffer.from(
        JSON.stringify({ type: 'webauthn.get', challenge, origin: page, crossOrigin: false }),
      )
      // User present and verified, counter 0.
      const data = Buffer.concat([sha256(rpId), Buffer.from('0500000000', 'hex')])
      const signature = sign('sha256', Buffer.concat([data, sha256(client)]), privateKey)
      return {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: signature.toString('base64url'),
        },
      }
    },
  }
}

test('a passkey works once per challenge, on the page it was made on; a page at another port that relays is refused', async ({
  app,
}) => {
  const key = softwareKey('agent.example', 'http://agent.example')
  const owner = { id: 'a', name: 'Owner', role: 'owner', profiles: null, totp: null }
  const people = [{ ...owner, passkeys: [key.stored] }]
  writeFileSync(join(app.state, 'people.json'), JSON.stringify({ version: 1, people }))
  const at = (host: string) => ({ headers: { host, 'x-forwarded-for': '203.0.113.8' } })
  const login = async (host: string, page: string, others = 1) => {
    const { body } = await app.post('/api/auth/passkey/options', {}, at(host))
    const response = key.sign(body.challenge, page)
    const send = () => app.post('/api/auth/passkey/login', { response }, at(host))
    return Promise.all(Array.from({ length: others }, send))
  }
  const [relayed] = await login('agent.example:9999', 'http://agent.example:9999')
  assert.equal(codeOf(relayed!), [401, 'passkey_rejected'])
  const [hidden] = await login('agent.example', 'http://agent.example:9999')
  assert.equal(codeOf(hidden!), [401, 'passkey_rejected'])
  const both = await login('agent.example', 'http://agent.example', 2)
  assert.equal(both.map(reply => reply.status).toSorted(), [200, 401])
  const offer = async (host: string) =>
    (await app.request('GET', '/login', at(host))).text.includes('data-passkeys="yes"')
  assert.equal([await offer('agent.example'), await offer('agent.example:9999')], [true, false])
  rmSync(join(app.state, 'people.json'))
})

test('a person keeps a way to sign in: neither the only passkey nor the only account is removed', async ({
  app,
}) => {
  const key = softwareKey('agent.example', 'http://agent.example')
  const account = { issuer: 'https://id.example', subject: 's', name: 'kim', linked_at: 1 }
  const path = join(app.state, 'people.json')
  const setKim = (patch: object) => {
    const one = { profiles: null, passkeys: [], totp: null }
    const owner = { ...one, id: 'a', name: 'Owner', role: 'owner' }
    const kim = { ...one, id: 'kim', name: 'Kim', role: 'member', profiles: ['default'], ...patch }
    writeFileSync(path, JSON.stringify({ version: 1, people: [owner, kim] }))
  }
  const host = { host: 'agent.example', 'x-forwarded-for': '203.0.113.9' }
  setKim({ passkeys: [key.stored], identities: [account] })
  const { body } = await app.post('/api/auth/passkey/options', {}, { headers: host })
  const response = key.sign(body.challenge, 'http://agent.example')
  const signedIn = await app.post('/api/auth/passkey/login', { response }, { headers: host })
  const kim = { headers: { ...host, cookie: cookieOf(signedIn) } }
  const remove = async () =>
    codeOf(await app.post('/api/auth/passkey/delete', { id: key.stored.id }, kim))
  const unlink = async () => codeOf(await app.post('/api/auth/linked/remove', account, kim))
  assert.equal(await unlink(), [200, undefined])
  assert.equal(await remove(), [409, 'last_sign_in'])
  setKim({ identities: [account] })
  assert.equal(await unlink(), [409, 'last_sign_in'])
  setKim({ passkeys: [key.stored], sign_in_as: 'kim' })
  assert.equal(await remove(), [200, undefined])
  setKim({ passkeys: [key.stored] })
  const password = { password: 'a password of Kim' }
  assert.is((await app.post('/api/people/password', password, kim)).status, 200)
  assert.equal(await remove(), [200, undefined])
  rmSync(path)
})

test('a paired device does not replace or remove the password, or make an API token, without it', async () => {
  await using own = await startApp()
  const mine = cookieOf(await own.post('/api/settings', { _set_password: PASSWORD }))
  const { body } = await own.post('/api/auth/pair/create', {}, as(mine))
  const phone = cookieOf(await own.post('/api/auth/pair/use', { code: body.code }))
  for (const change of [{ _set_password: 'stolen password' }, { _clear_password: true }]) {
    const attempt = async (_current_password?: string) =>
      codeOf(
        await own.post('/api/settings', { ...change, theme: 'nord', _current_password }, as(phone)),
      )
    assert.equal(await attempt(), [403, 'confirm_password'])
    assert.equal(await attempt('guess'), [403, 'wrong_password'])
  }
  const make = async (password?: string) =>
    codeOf(await own.post('/api/tokens/create', { name: 'x', password }, as(phone)))
  assert.equal(await make(), [403, 'confirm_password'])
  assert.is((await make(PASSWORD))[0], 200)
  const { body: settings } = await own.get('/api/settings', as(mine))
  assert.equal([settings.auth_enabled, settings.theme], [true, 'dark'])
  const change = { _set_password: 'another horse', _current_password: PASSWORD }
  assert.is((await own.post('/api/settings', change, as(phone))).status, 200)
  assert.is((await own.post('/api/auth/login', { password: 'another horse' })).status, 200)
  const log = JSON.stringify((await own.get('/api/auth/audit', as(phone))).body)
  assert.not.ok(log.includes('horse') || log.includes('_current_password'))
})

test('the audit log says what happened, where from, without secrets, across a restart', async ({
  app,
}) => {
  assert.is((await app.get('/api/auth/audit')).status, 401)
  const Agent = 'AuditTest/1'
  const login = (password: string) =>
    app.post('/api/auth/login', { password }, { headers: { 'user-agent': Agent } })
  await login('not the password')
  const mine = cookieOf(await login(PASSWORD))
  await app.post('/api/settings', { theme: 'light', show_cli_sessions: false }, as(mine))
  const { body: token } = await app.post('/api/tokens/create', { name: 'Editor' }, as(mine))
  await app.post('/api/tokens/revoke', { id: token.tokens[0].id }, as(mine))
  await app.post('/api/auth/logout', {}, as(mine))
  await app.restart()
  const again = cookieOf(await login(PASSWORD))
  const { entries, total } = (await app.get('/api/auth/audit?limit=7', as(again))).body
  assert.equal(
    entries.map(({ what, detail }: { what: string; detail: string }) => `${what} ${detail}`.trim()),
    [
      'sign-in password',
      'sign-out',
      `tokens revoked ${token.tokens[0].id}`,
      'tokens created Editor',
      'settings theme show_cli_sessions',
      'sign-in password',
      'sign-in-failed password wrong_password',
    ],
  )
  assert.equal([entries[0].device, entries[0].address], [Agent, '127.0.0.1'])
  assert.ok(total > 7)
  const failed = (await app.get('/api/auth/audit?kinds=sign-in-failed&limit=1', as(again))).body
  assert.equal([failed.entries.length, failed.entries[0].what], [1, 'sign-in-failed'])
  const all = JSON.stringify((await app.get('/api/auth/audit?limit=200', as(again))).body)
  for (const secret of [PASSWORD, 'not the password', token.secret, again])
    assert.not.ok(all.includes(secret))
})

test('the audit log is bounded, and survives a torn line', () => {
  const dir = tempDir('audit')
  const path = join(dir, 'audit.jsonl')
  const audit = new Audit(path, createTestClock(), assert.unreachable)
  writeFileSync(path, '{"at":1,"what":"sign-o')
  audit.note('sign-out', { address: 'a', device: 'b' })
  audit.note('sign-in', { address: 'a', device: 'x'.repeat(10_000), detail: 'line\nbreak' })
  const [entry, first] = audit.list({ kinds: [], skip: 0, limit: 10 }).entries
  assert.is(first?.what, 'sign-out')
  assert.equal([entry?.what, entry?.device.length, entry?.detail], ['sign-in', 200, 'line\nbreak'])
  for (let i = 0; i < 3; i += 1) {
    appendFileSync(path, `${'x'.repeat(1 << 20)}\n`)
    audit.note('sign-in', { address: `${i}`, device: '' })
  }
  assert.equal(readdirSync(dir).toSorted(), ['audit.1.jsonl', 'audit.jsonl'])
  const { entries } = audit.list({ kinds: ['sign-in'], skip: 0, limit: 1 })
  assert.is(entries[0]?.address, '2')
})

test('refusals that no throttle counts are not recorded: they could push out everything else', async ({
  app,
}) => {
  const mine = await signIn(app)
  const total = async () => (await app.get('/api/auth/audit', as(mine))).body.total
  const before = await total()
  const reply = await app.post('/api/auth/passkey/login', { response: KEY })
  assert.equal(codeOf(reply), [400, 'passkey_no_host'])
  assert.is(await total(), before)
})

test('tools and file requests reach none of the files about sign-in', async ({ app }) => {
  const named = ['people.json', '.second_factor', '.password', '.password_set', 'audit.1.jsonl']
  const written = readdirSync(app.state).filter(name => name !== 'workspace')
  assert.ok(written.includes('audit.jsonl') && written.includes('auth-sessions.json'))
  for (const name of [...named, 'auth-code-throttle.json', ...written])
    assert.ok(isProtectedPath(app.state, join(app.state, name)), name)
})

test('without a password there is nothing to pair with', async () => {
  await using open = await startApp()
  assert.equal(codeOf(await open.post('/api/auth/pair/create', {})), [409, 'password_missing'])
  assert.is((await open.post('/api/auth/pair/use', { code: 'x' })).body.message, 'Auth not enabled')
  await open.post('/api/auth/logout', {})
  assert.is((await open.get('/api/auth/audit')).body.total, 0)
})

test.run()
