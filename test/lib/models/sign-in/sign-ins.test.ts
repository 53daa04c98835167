/** Renewal of sign-ins in auth.json against a token server that accepts each refresh token once. */
import { spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../../_clock.ts'
import { systemClock } from '../../../../lib/base/clock.ts'
import { jwtClaims } from '../../../../lib/base/jwt.ts'
import { UserError } from '../../../../lib/errors.ts'
import { writeAuth } from '../../../../lib/models/credential-pool/auth-json.ts'
import { SignIns, type SignInsOptions } from '../../../../lib/models/sign-in/sign-ins.ts'
import { withFileLock } from '../../../../lib/store/flock.ts'
import { CLIENT, jwt, sendJson, startIssuer, type TokenServer } from './_issuer.ts'
import { tempDir } from '../../../_temp-dir.ts'

const CODEX = 'openai-codex'
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds
const token = (seconds: number, more: Record<string, unknown> = {}) =>
  jwt({ client_id: CLIENT, exp: inSeconds(seconds), ...more })

type Context = { dir: string; issuer: TokenServer; logged: string[] }
const test = suite<Context>('sign-ins', { dir: '', issuer: null as never, logged: [] })
test.before.each(async context => {
  context.dir = tempDir('sign-in')
  context.issuer = await startIssuer()
  context.logged = []
})
test.after.each(async ({ dir, issuer, logged }) => {
  await issuer.close()
  rmSync(dir, { recursive: true, force: true })
  assert.not.match(logged.join('\n'), /refresh-\d|eyJ/)
})

const open = (context: Context, more: Partial<SignInsOptions> = {}) =>
  new SignIns({
    clock: systemClock,
    sharedFile: join(context.dir, 'shared', 'nous_auth.json'),
    log: (line, extra) => void context.logged.push(`${line} ${JSON.stringify(extra)}`),
    issuerOf: provider =>
      [CODEX, 'nous'].includes(provider)
        ? {
            tokenUrl: context.issuer.url,
            ...(provider === 'nous' && { header: 'x-nous-refresh-token' }),
          }
        : undefined,
    ...more,
  })

const endpoint = (
  { dir }: Context,
  apiKey: string,
  { provider = CODEX, id = 'sign-in' }: { provider?: string; id?: string } = {},
) => ({ apiKey, signIn: { dir, provider, id } })

const keep = ({ dir }: Context, auth: unknown) =>
  writeFileSync(join(dir, 'auth.json'), JSON.stringify(auth))
const authOf = ({ dir }: Context) => JSON.parse(readFileSync(join(dir, 'auth.json'), 'utf8'))
const codex = (access_token: string, more: Record<string, unknown> = {}) => ({
  version: 1,
  providers: { [CODEX]: { tokens: { access_token, refresh_token: 'refresh-0' }, ...more } },
})
const issuedIn = (key: string | null) => jwtClaims(key).issued
const errorOf = async (work: Promise<unknown>): Promise<UserError> => {
  const error = await work.then(
    () => assert.unreachable('It did not fail'),
    (reason: unknown) => reason,
  )
  assert.instance(error, UserError)
  return error as UserError
}

for (const [name, provider, state] of [
  [
    'no issuer is listed for it',
    'qwen-oauth',
    { access_token: token(-5), refresh_token: 'refresh-0' },
  ],
  [
    'it names another portal',
    'nous',
    {
      agent_key: token(-5, { scope: 'inference:invoke' }),
      access_token: token(-5, { scope: 'inference:invoke' }),
      refresh_token: 'refresh-0',
      client_id: CLIENT,
      portal_base_url: 'https://portal.example',
    },
  ],
  [
    'its key was exchanged for an access token',
    'nous',
    {
      agent_key: 'minted-key',
      agent_key_expires_at: '2026-01-01T00:00:00Z',
      access_token: token(600),
      refresh_token: 'refresh-0',
      client_id: CLIENT,
    },
  ],
  [
    'no client is named',
    CODEX,
    { tokens: { access_token: jwt({ exp: inSeconds(-5) }), refresh_token: 'refresh-0' } },
  ],
  ['it has no refresh token', CODEX, { tokens: { access_token: token(-5) } }],
] as const)
  test(`does not renew an expired sign-in when ${name}`, async context => {
    keep(context, { providers: { [provider]: state } })
    const { kind, message } = await errorOf(
      open(context).keyFor(endpoint(context, 'old', { provider }), false),
    )
    assert.is(kind, 'unauthorized')
    assert.match(message, 'Sign in again with the command line')
    assert.is(context.issuer.requests.length, 0)
  })

test('leaves a valid token alone, and reads the one another program has stored', async context => {
  const access = token(600)
  keep(context, codex(access))
  assert.is(await open(context).keyFor(endpoint(context, 'older'), false), access)
  assert.is(await open(context).keyFor(endpoint(context, 'older'), true), access)
  assert.is(context.issuer.requests.length, 0)
  assert.not.ok(existsSync(join(context.dir, 'auth.lock')))
})

test('renews a token two minutes before it expires, and keeps the rest of the file', async context => {
  const access = token(100)
  writeFileSync(
    join(context.dir, 'auth.json'),
    `{"version": 1, "future": 12345678901234567890, "active_provider": null,
      "providers": {"openai-codex": {"tokens": {"access_token": "${access}", "refresh_token": "refresh-0", "id_token": "i", "mine": 1.50}, "last_refresh": "2026-01-01T00:00:00Z", "auth_mode": "chatgpt"}},
      "credential_pool": {"codex": [1], "openai-codex": [
        {"id": "a", "source": "device_code", "auth_type": "oauth", "access_token": "${access}", "refresh_token": "refresh-0", "last_status": "exhausted", "last_error_code": 401},
        {"id": "b", "auth_type": "oauth", "access_token": "other", "refresh_token": "another"}]}}`,
    { mode: 0o644 },
  )
  const key = await open(context).keyFor(endpoint(context, access), false)
  assert.is(issuedIn(key), 1)
  assert.equal(context.issuer.requests[0]?.form, {
    grant_type: 'refresh_token',
    refresh_token: 'refresh-0',
    client_id: CLIENT,
  })
  const text = readFileSync(join(context.dir, 'auth.json'), 'utf8')
  assert.match(text, '12345678901234567890')
  assert.match(text, '1.50')
  assert.is(statSync(join(context.dir, 'auth.json')).mode & 0o777, 0o600)
  const { providers, credential_pool: pool, active_provider: active } = authOf(context)
  const { tokens, auth_mode: mode, last_refresh: at } = providers[CODEX]
  assert.equal([tokens.access_token, tokens.refresh_token, mode], [key, 'refresh-1', 'chatgpt'])
  assert.ok(Date.parse(at) > Date.now() - 60_000)
  assert.is(active, null)
  // The same sign-in in the pool gets the same tokens; another account does not.
  assert.equal(
    pool[CODEX].map((each: Record<string, unknown>) => [each.access_token, each.refresh_token]),
    [
      [key, 'refresh-1'],
      ['other', 'another'],
    ],
  )
  assert.is(pool[CODEX][0].last_status, null)
  assert.equal(pool.codex, [1])
})

test('renews an entry of the pool by its date, and writes the date in the form it had', async context => {
  const list = [
    {
      id: 'ms',
      access_token: 'opaque',
      refresh_token: 'refresh-0',
      client_id: CLIENT,
      auth_type: 'oauth',
      expires_at_ms: Date.now() + 1_000,
      expires_at: inSeconds(1),
    },
  ]
  keep(context, { credential_pool: { [CODEX]: list } })
  const key = await open(context).keyFor(endpoint(context, 'opaque', { id: 'ms' }), false)
  const [entry] = authOf(context).credential_pool[CODEX]
  const exp = Number(jwtClaims(key).exp)
  assert.equal([entry.expires_at_ms, entry.expires_at], [exp * 1_000, exp])
})

test('an entry without an id is found by its place in the list', async context => {
  const entry = (name: string) => ({ access_token: name, refresh_token: name, auth_type: 'oauth' })
  keep(context, { credential_pool: { [CODEX]: [null, entry('second'), entry('third')] } })
  const signIns = open(context)
  assert.is(await signIns.keyFor(endpoint(context, 'x', { id: '#1' }), false), 'second')
  assert.is(await signIns.keyFor(endpoint(context, 'x', { id: '#3' }), false), null)
})

test('Nous Portal: the new token becomes the key, also in the copy shared between profiles', async context => {
  const scope = 'inference:invoke'
  context.issuer.claims = { scope }
  const access = token(30, { scope })
  const state = {
    access_token: access,
    agent_key: access,
    agent_key_expires_at: new Date().toISOString(),
    refresh_token: 'refresh-0',
    client_id: CLIENT,
    expires_at: new Date(Date.now() + 30_000).toISOString(),
    portal_base_url: new URL(context.issuer.url).origin,
  }
  // The table of the product names the portal; the test server has another address.
  keep(context, { providers: { nous: { ...state, portal_base_url: undefined } } })
  mkdirSync(join(context.dir, 'shared'))
  const shared = join(context.dir, 'shared', 'nous_auth.json')
  writeFileSync(shared, JSON.stringify({ _schema: 1, ...state }))
  const signIns = open(context)
  const key = await signIns.keyFor(endpoint(context, access, { provider: 'nous' }), false)
  assert.is(issuedIn(key), 1)
  assert.is(context.issuer.requests[0]?.headers['x-nous-refresh-token'], 'refresh-0')
  const { nous } = authOf(context).providers
  assert.equal([nous.agent_key, nous.refresh_token], [key, 'refresh-1'])
  assert.ok(Date.parse(nous.agent_key_expires_at) > Date.now() + 3_000_000)
  const copy = JSON.parse(readFileSync(shared, 'utf8'))
  assert.equal([copy.access_token, copy.refresh_token, copy._schema], [key, 'refresh-1', 1])
  // Another profile has renewed the shared sign-in: its tokens are used, and nothing is sent.
  const newer = token(3_600, { scope, by: 'another profile' })
  writeFileSync(
    shared,
    JSON.stringify({
      ...copy,
      access_token: newer,
      refresh_token: 'refresh-2',
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    }),
  )
  assert.is(await signIns.keyFor(endpoint(context, String(key), { provider: 'nous' }), true), newer)
  assert.is(authOf(context).providers.nous.refresh_token, 'refresh-2')
  assert.is(context.issuer.requests.length, 1)
})

test('ten callers and two profiles with one file make one request', async context => {
  keep(context, codex(token(10)))
  const profile = join(context.dir, 'profiles', 'work')
  mkdirSync(profile, { recursive: true })
  symlinkSync(join(context.dir, 'auth.json'), join(profile, 'auth.json'))
  const signIns = open(context)
  const keys = await Promise.all(
    Array.from({ length: 10 }, (_, at) =>
      signIns.keyFor(endpoint(at % 2 ? context : { ...context, dir: profile }, 'old'), false),
    ),
  )
  assert.equal([...new Set(keys.map(issuedIn))], [1])
  assert.is(context.issuer.requests.length, 1)
})

for (const where of ['', 'linked'])
  test(`uses the tokens of the program that held the lock ${where}`, async context => {
    keep(context, codex(token(10)))
    const theirs = token(3_600, { by: 'the host agent' })
    const lock = join(context.dir, 'auth.lock')
    const dir = join(context.dir, where)
    mkdirSync(dir, { recursive: true })
    if (where) symlinkSync(join(context.dir, 'auth.json'), join(dir, 'auth.json'))
    let key: Promise<string | null> | undefined
    await withFileLock(lock, { timeoutMs: 5_000 }, async () => {
      key = open(context).keyFor(endpoint({ ...context, dir }, 'old'), false)
      // Without the lock it would have read the tokens by then.
      for (let n = 0; n < 20; n++) await turn()
      keep(context, codex(theirs))
    })
    assert.is(await key, theirs)
    assert.is(context.issuer.requests.length, 0)
  })

test('keeps what another program writes during the request', async context => {
  keep(context, codex(token(10)))
  context.issuer.next = (res, rotate) => {
    keep(context, { ...authOf(context), by: 'another program' })
    sendJson(res, 200, rotate())
  }
  const key = await open(context).keyFor(endpoint(context, 'old'), false)
  assert.equal([issuedIn(key), authOf(context).by], [1, 'another program'])
  assert.is(authOf(context).providers[CODEX].tokens.refresh_token, 'refresh-1')
})

test('keeps a new sign-in that was stored during the request', async context => {
  keep(context, codex(token(10)))
  const theirs = token(3_600, { by: 'a new sign-in' })
  context.issuer.next = (res, rotate) => {
    keep(context, {
      providers: { [CODEX]: { tokens: { access_token: theirs, refresh_token: 'new' } } },
    })
    sendJson(res, 200, rotate())
  }
  assert.is(await open(context).keyFor(endpoint(context, 'old'), false), theirs)
  assert.is(authOf(context).providers[CODEX].tokens.refresh_token, 'new')
})

test('marks a rejected sign-in, asks for a new one, and does not send the token again', async context => {
  const access = token(-10)
  keep(context, {
    ...codex(access),
    credential_pool: {
      [CODEX]: [
        {
          id: 'a',
          auth_type: 'oauth',
          access_token: access,
          refresh_token: 'refresh-0',
          last_status: null,
          last_status_at: null,
          last_error_code: null,
          last_error_reason: null,
          last_error_message: null,
          last_error_reset_at: null,
        },
      ],
    },
  })
  context.issuer.current = 'something else'
  const signIns = open(context)
  for (const again of [false, true, false]) {
    const { kind, message } = await errorOf(signIns.keyFor(endpoint(context, access), again))
    assert.is(kind, 'unauthorized')
    assert.match(message, 'OpenAI Codex has expired')
  }
  assert.is(context.issuer.requests.length, 1)
  const { providers, credential_pool: pool } = authOf(context)
  const mark = providers[CODEX].last_auth_error
  assert.equal([mark.code, mark.relogin_required], ['invalid_grant', true])
  assert.is(providers[CODEX].tokens.refresh_token, 'refresh-0')
  assert.equal([pool[CODEX][0].last_status, pool[CODEX][0].last_error_code], ['exhausted', 400])
  // A new sign-in voids the mark.
  context.issuer.current = 'fresh'
  keep(
    context,
    codex(access, {
      last_auth_error: mark,
      tokens: { access_token: access, refresh_token: 'fresh' },
    }),
  )
  assert.ok(issuedIn(await signIns.keyFor(endpoint(context, access), false)))
  assert.is(authOf(context).providers[CODEX].last_auth_error, undefined)
})

test('an old mark of the host agent does not prevent the renewal of newer tokens', async context => {
  const mark = { provider: CODEX, code: 'invalid_grant', relogin_required: true }
  keep(context, codex(token(-10), { last_auth_error: mark }))
  assert.is(issuedIn(await open(context).keyFor(endpoint(context, 'old'), false)), 1)
})

test('accepts the error form of OpenAI', async context => {
  keep(context, codex(token(-10)))
  context.issuer.next = res => sendJson(res, 401, { error: { code: 'refresh_token_reused' } })
  assert.is(
    (await errorOf(open(context).keyFor(endpoint(context, 'x'), false))).kind,
    'unauthorized',
  )
})

const elsewhere = async (): Promise<{ url: string; count: () => number; close: () => void }> => {
  let requests = 0
  const server = createServer((_req, res) => {
    requests++
    sendJson(res, 200, { access_token: token(3_600) })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, count: () => requests, close: () => server.close() }
}

test('does not follow a redirect', async context => {
  const other = await elsewhere()
  const access = token(60)
  keep(context, codex(access))
  context.issuer.next = res => res.writeHead(307, { location: other.url }).end()
  assert.is(await open(context).keyFor(endpoint(context, access), false), access)
  assert.is(other.count(), 0)
  other.close()
})

for (const [name, reply] of [
  ['status 500', res => sendJson(res, 500, { error: 'server_error refresh-0' })],
  ['an unknown error', res => sendJson(res, 400, { error: 'temporarily_unavailable' })],
  ['a web page', res => res.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello')],
  ['an answer without a token', res => sendJson(res, 200, { access_token: '' })],
  ['an endless answer', res => void res.write('x'.repeat(300_000))],
  ['a cut connection', res => void res.destroy()],
  ['no answer in time', () => undefined],
  ['half an answer in time', res => void res.write('{')],
] as [string, NonNullable<TokenServer['next']>][])
  test(`${name}: keeps the old token while it is valid, then says so`, async context => {
    const clock = createTestClock(Date.now())
    const access = token(60)
    keep(context, codex(access))
    const isSilent = name.endsWith('in time')
    const signIns = open(context, { timeoutMs: isSilent ? 500 : 10_000, clock })
    context.issuer.next = reply
    assert.is(await signIns.keyFor(endpoint(context, access), false), access)
    // Not again at once.
    assert.is(await signIns.keyFor(endpoint(context, access), false), access)
    assert.is(context.issuer.requests.length, 1)
    await clock.advance(90_000)
    context.issuer.next = reply
    const { kind, message } = await errorOf(signIns.keyFor(endpoint(context, access), false))
    assert.is(kind, 'unavailable')
    assert.match(message, /^Couldn’t renew the sign-in of OpenAI Codex: 127\.0\.0\.1/)
    await clock.advance(90_000)
    // On a busy machine the short limit would be too short for an answer.
    const later = isSilent ? open(context, { clock }) : signIns
    assert.is(issuedIn(await later.keyFor(endpoint(context, access), false)), 1)
  })

test('a disk that accepts no writes is noticed before the token is spent', async context => {
  const access = token(60)
  keep(context, codex(access))
  const full = () => {
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  }
  const signIns = open(context, { writeFile: full })
  assert.is(await signIns.keyFor(endpoint(context, access), false), access)
  assert.is(context.issuer.requests.length, 0)
  assert.match(context.logged.join(), 'no space left')
})

test('a token that could not be written is used and written with the next call', async context => {
  keep(context, codex(token(60)))
  let isFull = false
  const signIns = open(context, {
    writeFile: (...given) => {
      if (isFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      writeAuth(...given)
    },
  })
  context.issuer.next = (res, rotate) => {
    isFull = true
    sendJson(res, 200, rotate())
  }
  const key = await signIns.keyFor(endpoint(context, 'old'), false)
  assert.is(issuedIn(key), 1)
  assert.is(await signIns.keyFor(endpoint(context, 'old'), false), key)
  assert.is(authOf(context).providers[CODEX].tokens.refresh_token, 'refresh-0')
  isFull = false
  assert.is(await signIns.keyFor(endpoint(context, 'old'), false), key)
  assert.is(authOf(context).providers[CODEX].tokens.refresh_token, 'refresh-1')
  assert.is(context.issuer.requests.length, 1)
})

test('a broken auth.json is never overwritten', async context => {
  const access = token(60)
  keep(context, codex(access))
  context.issuer.next = (res, rotate) => {
    writeFileSync(join(context.dir, 'auth.json'), '{"providers": ')
    sendJson(res, 200, rotate())
  }
  const signIns = open(context)
  assert.is(issuedIn(await signIns.keyFor(endpoint(context, access), false)), 1)
  assert.is(readFileSync(join(context.dir, 'auth.json'), 'utf8'), '{"providers": ')
  assert.is(await signIns.keyFor(endpoint(context, access), false), null)
})

test('a rejected token is renewed once, not again right after', async context => {
  const access = token(3_600)
  keep(context, codex(access))
  const signIns = open(context)
  const key = await signIns.keyFor(endpoint(context, access), true)
  assert.is(issuedIn(key), 1)
  assert.is(await signIns.keyFor(endpoint(context, String(key)), true), null)
  assert.is(context.issuer.requests.length, 1)
})

const CHILD = fileURLToPath(new URL('./_renew-child.ts', import.meta.url))
const startChild = ({ dir, issuer }: Context) => {
  const child = spawn(process.execPath, [CHILD, dir, issuer.url], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  child.stdout.on('data', chunk => (out += chunk))
  child.stderr.on('data', chunk => (out += chunk))
  return { child, ended: new Promise<string>(done => child.once('close', () => done(out.trim()))) }
}

test('a clock that is hours ahead does not renew with every call', async context => {
  keep(context, codex(token(600)))
  const clock = createTestClock(Date.now() + 5 * 3_600_000)
  const signIns = open(context, { clock })
  const keys = await Promise.all(
    [1, 2, 3].map(() => signIns.keyFor(endpoint(context, 'first'), false)),
  )
  assert.equal([keys.map(issuedIn), context.issuer.requests.length], [[1, 1, 1], 1])
  await clock.advance(61_000)
  assert.is(issuedIn(await signIns.keyFor(endpoint(context, 'first'), false)), 2)
})

test('two processes renew once', async context => {
  keep(context, codex(token(10)))
  const both = await Promise.all([startChild(context).ended, startChild(context).ended])
  assert.equal(both, ['1', '1'])
  assert.is(context.issuer.requests.length, 1)
})

for (const isRotated of [false, true])
  test(`after a kill in the middle, ${isRotated ? 'a used token asks for a new sign-in' : 'the next process renews'}`, async context => {
    keep(context, codex(token(-10)))
    context.issuer.next = (_res, rotate) => isRotated && rotate()
    const { child, ended } = startChild(context)
    await context.issuer.arrived(1)
    child.kill('SIGKILL')
    await ended
    assert.is(authOf(context).providers[CODEX].tokens.refresh_token, 'refresh-0')
    const key = open(context).keyFor(endpoint(context, 'old'), false)
    if (isRotated) assert.is((await errorOf(key)).kind, 'unauthorized')
    else assert.is(issuedIn(await key), 1)
  })

test.run()
