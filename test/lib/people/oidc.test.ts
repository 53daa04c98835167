/** OpenID Connect with a provider that is broken or hostile: forged tokens, long or missing answers, and other browsers. */
import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../lib/base/clock.ts'
import { isSameUser } from '../../../lib/people/identities.ts'
import { Oidc, OidcFailure } from '../../../lib/people/oidc.ts'
import { parseCookies } from '../../../lib/http/cookies.ts'

const keyPair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const own = keyPair()
const foreign = keyPair()

type Claims = Record<string, unknown>
type Forged = {
  claims?: Claims
  header?: Claims
  key?: KeyObject
  /** Of the token endpoint, instead of a token. */
  reply?: (res: ServerResponse) => void
  userinfo?: Claims
}

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

const tokenOf = (claims: Claims, { header = {}, key = own.privateKey }: Forged): string => {
  const text = `${part({ alg: 'ES256', kid: 'own', ...header })}.${part(claims)}`
  if (header.alg === 'none') return `${text}.`
  const sign = createSign('sha256').update(text)
  return `${text}.${sign.sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url')}`
}

const JSON_TYPE = { 'content-type': 'application/json' }

const sendJson = (res: ServerResponse, value: unknown): void => {
  if (!res.headersSent) res.writeHead(200, JSON_TYPE)
  res.end(JSON.stringify(value))
}

const PLACE = { secure: true, host: 'agent.example', prefix: '/p' }
const now = () => Date.now() / 1_000

const start = async (metadata: Claims = {}, timeoutMs?: number) => {
  const asked: string[] = []
  const state: { forged: Forged; nonce: string; discovery?: (res: ServerResponse) => void } = {
    forged: {},
    nonce: '',
  }
  const server = createServer((req, res) => {
    const path = req.url!.split('?')[0]!
    asked.push(path)
    const jwk = { ...own.publicKey.export({ format: 'jwk' }), kid: 'own', alg: 'ES256', use: 'sig' }
    if (path.startsWith('/.well-known')) {
      if (state.discovery) return state.discovery(res)
      return sendJson(res, {
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/userinfo`,
        jwks_uri: `${issuer}/jwks`,
        id_token_signing_alg_values_supported: ['ES256', 'none'],
        authorization_response_iss_parameter_supported: true,
        ...metadata,
      })
    }
    if (path === '/jwks') return sendJson(res, { keys: [jwk] })
    if (path === '/userinfo') return sendJson(res, state.forged.userinfo ?? { sub: 's' })
    const { forged, nonce } = state
    if (forged.reply) return forged.reply(res)
    const at = Math.floor(now())
    const claims = { iss: issuer, aud: 'agent', sub: 's', iat: at, exp: at + 60, nonce }
    const id_token = tokenOf({ ...claims, ...forged.claims }, forged)
    sendJson(res, { access_token: 'a', token_type: 'bearer', id_token })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const warnings: string[] = []
  const oidc = new Oidc({
    config: {
      issuer,
      clientId: 'agent',
      clientSecret: 'secret-of-client',
      clientSecretFile: null,
      scopes: 'openid email',
      name: 'Example',
    },
    clientSecret: 'secret-of-client',
    clock: systemClock,
    log: { warn: text => void warnings.push(text) },
    timeoutMs,
  })
  const begin = async (purpose = 'sign-in') => {
    const { url, cookie } = await oidc.begin(PLACE, purpose)
    const { searchParams } = new URL(url)
    state.nonce = searchParams.get('nonce')!
    return { url: new URL(url), cookies: parseCookies(cookie.split(';')[0]), cookie, searchParams }
  }
  type Begun = Awaited<ReturnType<typeof begin>>
  const finish = (
    { cookies, searchParams }: Pick<Begun, 'cookies' | 'searchParams'>,
    query: Record<string, string> = {},
    purposes = ['sign-in'],
  ) =>
    oidc.finish(PLACE, {
      query: `${new URLSearchParams({ code: 'c', iss: issuer, state: searchParams.get('state')!, ...query })}`,
      cookies,
      purposes,
      needsEmail: () => true,
    })
  return {
    issuer,
    oidc,
    asked,
    state,
    warnings,
    begin,
    finish,
    /** A whole sign-in. */
    async attempt(forged: Forged = {}, query: Record<string, string> = {}) {
      const begun = await begin()
      state.forged = forged
      return outcomeOf(finish(begun, query))
    },
    async close() {
      oidc.close()
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

const outcomeOf = async (
  finished: Promise<{ identity: { subject: string; email: string | null } }>,
) => {
  try {
    const { identity } = await finished
    return [identity.subject, identity.email]
  } catch (error) {
    if (error instanceof OidcFailure) return error.problem
    throw error
  }
}

const test = suite<{ at: Awaited<ReturnType<typeof start>> }>('OpenID Connect, hostile')
test.before(async context => {
  context.at = await start()
})
test.after(({ at }) => at.close())

test('rejects tokens that are not signed for this client, this sign-in, and now', async ({
  at,
}) => {
  const past = Math.floor(now()) - 3_600
  const forgeries: [string, Forged][] = [
    ['another client', { claims: { aud: 'other' } }],
    ['issued to another client', { claims: { aud: ['agent', 'other'], azp: 'other' } }],
    ['another issuer', { claims: { iss: 'https://evil.example' } }],
    ['expired', { claims: { exp: past, iat: past - 60 } }],
    ['of the future', { claims: { nbf: Math.floor(now()) + 3_600 } }],
    ['of an earlier sign-in', { claims: { nonce: 'other' } }],
    ['without a nonce', { claims: { nonce: undefined } }],
    ['without a subject', { claims: { sub: '' } }],
    ['without a signature', { header: { alg: 'none' } }],
    ['signed with the secret', { header: { alg: 'HS256' } }],
    ['signed by someone else', { key: foreign.privateKey }],
    ['with an unknown key', { header: { kid: 'other' }, key: foreign.privateKey }],
    ['none', { reply: res => sendJson(res, { access_token: 'a', token_type: 'bearer' }) }],
    [
      'refused',
      { reply: res => sendJson(res.writeHead(400, JSON_TYPE), { error: 'invalid_grant' }) },
    ],
    ['no JSON', { reply: res => res.end('<html>') }],
  ]
  for (const [name, forged] of forgeries) assert.is(await at.attempt(forged), 'rejected', name)
  assert.is(await at.attempt({}, { iss: 'https://evil.example' }), 'rejected', 'mixed-up issuer')
  assert.equal(await at.attempt({ claims: { exp: Math.floor(now()) - 20 } }), ['s', null])
  assert.equal(await at.attempt(), ['s', null])
  assert.not.ok(at.warnings.some(text => text.includes('secret-of-client')))
})

test('only a verified email address counts, from the token or from the userinfo of the same subject', async ({
  at,
}) => {
  const email = 'a@b.example'
  const userinfo = { sub: 's', email, email_verified: true }
  assert.equal(await at.attempt({ claims: { email } }), ['s', null])
  assert.equal(await at.attempt({ claims: { email, email_verified: false } }), ['s', null])
  assert.equal(await at.attempt({ claims: { email, email_verified: 1 } }), ['s', null])
  assert.equal(await at.attempt({ claims: { email, email_verified: true } }), ['s', email])
  assert.equal(await at.attempt({ userinfo: { sub: 's', email } }), ['s', null])
  assert.equal(await at.attempt({ userinfo }), ['s', email])
  assert.is(await at.attempt({ userinfo: { ...userinfo, sub: 'other' } }), 'rejected')
})

test('names are compared in any ASCII case, and nothing else is folded', () => {
  assert.ok(isSameUser('A@B.example', 'a@b.example'))
  assert.ok(isSameUser('alice', 'alice'))
  for (const [a, b] of [
    ['', ''],
    ['Alice', 'alice'],
    // The Kelvin sign, and a dotted capital I.
    ['\u212a@b.example', 'k@b.example'],
    ['\u0130@b.example', 'i@b.example'],
    // Composed and decomposed.
    ['\u00e9@b.example', 'e\u0301@b.example'],
    ['a@b.example ', 'a@b.example'],
  ] as const)
    assert.not.ok(isSameUser(a, b), `${a} ${b}`)
})

test('an answer counts once, in the browser that began, for what it began, and never without its state', async ({
  at,
}) => {
  const [mine, other] = [await at.begin(), await at.begin()]
  const expired = async (finished: ReturnType<typeof at.finish>) =>
    assert.is(await outcomeOf(finished), 'expired')
  at.asked.length = 0
  await expired(at.finish({ ...mine, cookies: {} }))
  await expired(at.finish({ ...mine, cookies: other.cookies }))
  await expired(at.finish(mine, { state: '' }))
  await expired(at.finish(mine, { state: other.searchParams.get('state')! }))
  await expired(at.finish(mine, {}, ['link 1']))
  await expired(at.finish(await at.begin('link 1')))
  // `http` has no `__Host-` cookie.
  await expired(at.finish({ ...mine, cookies: { agent_oidc: Object.values(mine.cookies)[0]! } }))
  const twice = new URLSearchParams(mine.searchParams)
  const doubled = at.oidc.finish(PLACE, {
    query: `code=c&state=${twice.get('state')}&state=x`,
    cookies: mine.cookies,
    purposes: ['sign-in'],
    needsEmail: () => true,
  })
  await expired(doubled)
  assert.not.ok(at.asked.includes('/token'))
  const begun = await at.begin()
  at.state.forged = {}
  assert.equal(await outcomeOf(at.finish(begun)), ['s', null])
  await expired(at.finish(begun))
})

test('the request has code, PKCE, nonce, and the address as the browser sees it; the cookie is bound to the host', async ({
  at,
}) => {
  const { url, cookie, searchParams } = await at.begin()
  assert.is(url.origin, at.issuer)
  const { response_type, code_challenge_method, scope, redirect_uri } =
    Object.fromEntries(searchParams)
  assert.equal([response_type, code_challenge_method, scope], ['code', 'S256', 'openid email'])
  assert.is(redirect_uri, 'https://agent.example/p/api/auth/oidc/callback')
  assert.match(searchParams.get('nonce')!, /^[\w-]{43}$/)
  assert.match(
    cookie,
    /^__Host-agent_oidc=[\w-]{43}; HttpOnly; Max-Age=300; Path=\/; SameSite=Lax; Secure$/,
  )
})

test('a provider that hangs, floods, redirects or publishes unencrypted addresses is reported; the next attempt asks again', async () => {
  const at = await start({}, 200)
  try {
    const outcome = () => outcomeOf(at.begin() as never)
    const bad: [string, (res: ServerResponse) => void][] = [
      ['hangs', () => undefined],
      ['stops in the body', res => void res.write('{')],
      ['redirects', res => void res.writeHead(302, { location: `${at.issuer}/jwks` }).end()],
      ['fails', res => void res.writeHead(500).end()],
      ['names another issuer', res => sendJson(res, { issuer: 'https://evil.example' })],
      [
        'sends 50 MB',
        res => {
          res.setHeader('content-type', 'application/json')
          const megabyte = Buffer.alloc(1 << 20, ' ')
          let sent = 0
          const more = () => {
            while (sent < 50 && !res.destroyed) {
              sent += 1
              if (!res.write(megabyte)) return void res.once('drain', more)
            }
            res.end()
          }
          more()
        },
      ],
    ]
    for (const [name, answer] of bad) {
      at.state.discovery = answer
      assert.is(await outcome(), 'unreachable', name)
    }
    delete at.state.discovery
    await at.begin()
    assert.is(await at.attempt({ reply: () => undefined }), 'unreachable')
    assert.ok(at.warnings.every(text => text.length < 400))
  } finally {
    await at.close()
  }
  const open = await start({ authorization_endpoint: 'http://evil.example/auth' })
  assert.is(await outcomeOf(open.begin() as never), 'unreachable')
  await open.close()
  const leaky = await start({ token_endpoint: 'http://evil.example/token' })
  assert.is(await leaky.attempt(), 'rejected')
  await leaky.close()
})

test('the provider’s own sign-out is offered where it has one', async ({ at }) => {
  assert.is(await at.oidc.signOutUrl(), undefined)
  const other = await start({ end_session_endpoint: 'https://login.example/end?x=1' })
  assert.is(await other.oidc.signOutUrl(), 'https://login.example/end?x=1&client_id=agent')
  await other.close()
})

test.run()
