/** When a stored token expires, whether it can be renewed, and what is used instead: a key first. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { UserError } from '../../../../lib/errors.ts'
import { candidatesFor, needsSignIn } from '../../../../lib/models/credentials.ts'
import { resolveEndpoint } from '../../../../lib/models/endpoint.ts'
import { readSetup } from '../../../../lib/models/provider-config.ts'
import { isLapsed, timeMs, tokenFacts } from '../../../../lib/models/sign-in/stored-token.ts'
import { bare, homeOf } from '../_home.ts'
import { CLIENT, jwt } from './_issuer.ts'

const NOW = Date.now()
const soon = Math.floor(NOW / 1_000) + 3_600
const past = soon - 7_200
const CODEX = 'openai-codex'
const CHATGPT = 'https://chatgpt.com/backend-api/codex'
const NOUS = 'https://inference-api.nousresearch.com/v1'

const test = suite('stored tokens')

test('reads dates in every form the file may have', () => {
  const cases: [unknown, number | undefined][] = [
    [soon, soon * 1_000],
    [soon * 1_000, soon * 1_000],
    [String(soon), soon * 1_000],
    [new Date(soon * 1_000).toISOString(), soon * 1_000],
    [new Date(soon * 1_000).toISOString().replace('Z', '+00:00'), soon * 1_000],
    [{ rawJSON: `${soon}.0` }, soon * 1_000],
    [0, undefined],
    [-5, undefined],
    ['', undefined],
    ['soon', undefined],
    [null, undefined],
    [{}, undefined],
    [true, undefined],
  ]
  for (const [value, ms] of cases) assert.is(timeMs(value), ms, JSON.stringify(value))
})

test('the claims of a token decide before the dates beside it; without any it counts as valid', () => {
  const expiry = (entry: Record<string, unknown>, key: unknown = entry.access_token) =>
    tokenFacts(CODEX, { auth_type: 'oauth', ...entry }, String(key))?.expiresAtMs
  const token = jwt({ exp: soon })
  assert.is(expiry({ access_token: token, expires_at: past }), soon * 1_000)
  assert.is(expiry({ access_token: 'opaque', expires_at: past }), past * 1_000)
  assert.is(
    expiry({ access_token: 'opaque', expires_at: past, expires_at_ms: soon * 1_000 }),
    soon * 1_000,
  )
  assert.is(expiry({ access_token: 'opaque' }), Infinity)
  for (const odd of ['a.b.c', '..', jwt({ exp: 'x' }), jwt([] as never)])
    assert.is(expiry({ access_token: odd }), Infinity)
  const nous = { access_token: token, agent_key: 'key', agent_key_expires_at: past }
  assert.is(expiry(nous, 'key'), past * 1_000)
})

test('an API key is no sign-in', () => {
  for (const entry of [
    { auth_type: 'api_key', access_token: 'k', expires_at: past },
    { access_token: 'k' },
    { auth_type: 'oauth', api_key: 'k', refresh_token: 'r' },
  ])
    assert.is(tokenFacts(CODEX, entry, 'k'), undefined)
})

test('a token lapses when it has expired and cannot be renewed', () => {
  const cases: [number, boolean, boolean][] = [
    [NOW - 1, false, true],
    [NOW - 1, true, false],
    [NOW + 1, false, false],
    [Infinity, false, false],
  ]
  for (const [expiresAtMs, canRenew, lapsed] of cases)
    assert.is(isLapsed({ expiresAtMs, canRenew }, NOW), lapsed)
  assert.is(isLapsed(undefined, NOW), false)
})

const tokens = (exp: number, refresh?: string) => ({
  tokens: {
    access_token: jwt({ client_id: CLIENT, exp }),
    ...(refresh ? { refresh_token: refresh } : {}),
  },
})
const setupOf = (auth: unknown, more: object = {}) => readSetup(homeOf({ auth, ...more }))
const idsAt = (auth: unknown, provider: string, url: string, more: object = {}) =>
  candidatesFor(setupOf(auth, more), provider, url).map(({ id }) => id)

test('a key comes before a token: from a variable, and in the pool at the same priority', () => {
  const state = { copilot: { access_token: 'gho-of-the-sign-in' } }
  const url = 'https://api.githubcopilot.com'
  assert.equal(
    idsAt({ providers: state }, 'copilot', url, { dotenv: { COPILOT_GITHUB_TOKEN: 'gho-a-key' } }),
    ['env:COPILOT_GITHUB_TOKEN', 'sign-in'],
  )
  const pool = [
    { id: 'token', auth_type: 'oauth', access_token: 'opaque-token', refresh_token: 'r' },
    { id: 'key', auth_type: 'api_key', access_token: 'a-pooled-key' },
  ]
  assert.equal(idsAt({ credential_pool: { nous: pool } }, 'nous', NOUS), ['key', 'token'])
  // The order that the user has given.
  const ordered = pool.map((entry, priority) => ({ ...entry, priority }))
  assert.equal(idsAt({ credential_pool: { nous: ordered } }, 'nous', NOUS), ['token', 'key'])
})

test('an expired token is used only when it can be renewed; otherwise a sentence says what to do', () => {
  const ids = (state: unknown) => idsAt({ providers: { [CODEX]: state } }, CODEX, CHATGPT)
  assert.equal(ids(tokens(soon)), ['sign-in'])
  assert.equal(ids(tokens(past, 'refresh')), ['sign-in'])
  assert.equal(ids(tokens(past)), [])
  const auth = { providers: { [CODEX]: tokens(past) } }
  assert.ok(needsSignIn(setupOf(auth), CODEX))
  try {
    resolveEndpoint(homeOf({ auth }), bare, { model: 'm', provider: CODEX, baseUrl: null })
    assert.unreachable()
  } catch (error) {
    assert.match((error as UserError).message, 'The sign-in of OpenAI Codex has expired')
  }
})

test('an endpoint names the sign-in its key comes from; one with an API key names none', () => {
  const endpoint = (auth: unknown) =>
    resolveEndpoint({ ...homeOf({ auth }), dir: '/home' }, bare, {
      model: 'm',
      provider: CODEX,
      baseUrl: null,
    })
  const { signIn } = endpoint({ providers: { [CODEX]: tokens(soon) } })
  assert.equal(signIn, { dir: '/home', provider: CODEX, id: 'sign-in' })
  const key = { id: 'a', auth_type: 'api_key', access_token: 'a-pooled-key' }
  assert.is(endpoint({ credential_pool: { [CODEX]: [key] } }).signIn, undefined)
})

test('Nous Portal: an access token with the inference scope is the key; otherwise the agent key', () => {
  const key = (state: Record<string, unknown>) =>
    setupOf({ providers: { nous: state } }).signedIn.get('nous')?.key
  const invoke = jwt({ exp: soon, scope: 'inference:invoke' })
  assert.is(key({ access_token: invoke, agent_key: 'older' }), invoke)
  assert.is(
    key({ access_token: jwt({ scp: ['x', 'inference:invoke'] }) }),
    jwt({ scp: ['x', 'inference:invoke'] }),
  )
  assert.is(key({ access_token: jwt({ scope: 'mint' }), agent_key: 'minted' }), 'minted')
  assert.is(key({ access_token: 'opaque' }), '')
})

test.run()
