/** Whom a turn turns to: how long the same key is worth asking, and that runs of one turn do not use up each other's ways. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../lib/base/clock.ts'
import { ProviderFailure } from '../../../lib/agent/failure.ts'
import { CredentialPools } from '../../../lib/models/credential-pool/credential-pools.ts'
import { FailureType } from '../../../lib/schema/failure-type.ts'
import { ModelRecovery } from '../../../lib/models/recovery.ts'
import { resolveEndpoint } from '../../../lib/models/endpoint.ts'
import { Homes } from '../../../lib/profiles/homes.ts'
import { bare } from './_home.ts'
import { tempDir } from '../../_temp-dir.ts'

type Context = { dir: string }
const test = suite<Context>('recovery', { dir: '' })
test.before.each(context => {
  context.dir = tempDir('recovery')
})
// The pool may still be writing its file.
test.after.each(({ dir }) => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }))

const limited = (retryAfterMs?: number) =>
  new ProviderFailure('rate_limit', 'slow', retryAfterMs === undefined ? {} : { retryAfterMs })

const open = ({ dir }: Context, env: Record<string, string>, config: unknown = {}) => {
  writeFileSync(join(dir, 'config.yaml'), JSON.stringify(config))
  const home = new Homes({ baseHome: dir, agentHome: dir, configPath: null, env }, systemClock).base
  const pools = new CredentialPools(() => undefined, systemClock)
  const primary = resolveEndpoint(home, bare, { model: 'm', provider: 'gemini', baseUrl: null })
  const recovery = new ModelRecovery(pools, home, (pair, pick) =>
    resolveEndpoint(home, bare, pair, () => null, pick),
  )
  return { recovery, primary, pools, home }
}
const OF_THE_KEY = new Set<FailureType>(['rate_limit', 'quota_exhausted', 'auth_mismatch'])
const NOT_RECOVERED = new Set<FailureType>(['context_overflow', 'interrupted', 'budget_reached'])
const ONE = { GEMINI_API_KEY: 'gemini-1' }
const TWO = { ...ONE, GOOGLE_API_KEY: 'gemini-2' }
const CHAIN = {
  fallback_providers: [
    { provider: 'deepseek', model: 'd', api_key: 'deep-key' },
    { provider: 'xai', model: 'x', api_key: 'x-ai-key' },
  ],
}

test('alone, the engine decides; with fallbacks, a rate limit is retried once without waiting', context => {
  const alone = open(context, ONE)
  assert.is(alone.recovery.attemptLimit(limited(), alone.primary), undefined)
  // Of a failure of the network: another model can take over, so it is asked less often than alone; another key does not help.
  for (const [env, config, attempts] of [
    [TWO, {}, undefined],
    [ONE, CHAIN, 3],
  ] as const) {
    const { recovery, primary } = open(context, env, config)
    assert.is(recovery.attemptLimit(limited(), primary), 2)
    assert.is(recovery.attemptLimit(limited(5_000), primary), 2)
    assert.is(recovery.attemptLimit(limited(30_000), primary), 1)
    const cut = new ProviderFailure('network', 'cut')
    assert.is(recovery.attemptLimit(cut, primary), attempts)
  }
})

test('a sign-in that is rejected after its renewal is not tried a third time', async context => {
  const entry = (id: string, priority: number) => ({
    id,
    priority,
    auth_type: 'oauth',
    access_token: `token-${id}`,
    refresh_token: `refresh-${id}`,
  })
  const write = (...list: unknown[]) =>
    writeFileSync(
      join(context.dir, 'auth.json'),
      JSON.stringify({ credential_pool: { gemini: list } }),
    )
  write(entry('a', 0), entry('b', 1))
  const { recovery, primary, pools } = open(context, {})
  assert.is(primary.signIn?.id, 'a')
  write({ ...entry('a', 0), access_token: 'token-renewed' }, entry('b', 1))
  const denied = new ProviderFailure('auth_mismatch', 'denied', { status: 401 })
  const next = await recovery.recover(denied, primary)
  assert.equal([next?.endpoint.apiKey, next?.endpoint.signIn?.id], ['token-b', 'b'])
  await pools.flush()
})

test('two variables of one provider are two keys', async context => {
  const { recovery, primary } = open(context, TWO)
  const next = await recovery.recover(limited(), primary)
  assert.is(next?.kind, 'rotated')
  assert.is.not(next?.endpoint.apiKey, primary.apiKey)
  assert.is(next && (await recovery.recover(limited(), next.endpoint)), null)
})

test('a key that rests is not taken', async context => {
  const { recovery, primary, pools, home } = open(context, TWO)
  const failure = { type: 'quota_exhausted', message: 'no money' } as const
  for (const { id } of pools.candidates(home, 'gemini', primary.baseUrl))
    pools.markExhausted(home, 'gemini', primary.baseUrl, id, failure)
  assert.is(await recovery.recover(limited(), primary), null)
})

test('a failure of the key is answered with another key, others with another provider, and some by nothing', async context => {
  for (const type of FailureType.options) {
    const { recovery, primary } = open(context, TWO, CHAIN)
    const next = await recovery.recover(new ProviderFailure(type, 'no'), primary)
    const expected = OF_THE_KEY.has(type) ? 'gemini' : 'deepseek'
    assert.is(next?.endpoint.provider, NOT_RECOVERED.has(type) ? undefined : expected, type)
    assert.is.not(next?.endpoint.apiKey, primary.apiKey, type)
  }
})

test('a fallback without a key or a model, an unknown one, and the model that failed are skipped; the older key works too', async context => {
  const [deepseek, usable] = CHAIN.fallback_providers
  const custom_providers = [{ name: 'box', base_url: 'http://127.0.0.1:9/v1' }]
  const skipped = [
    ...[42, null],
    { provider: 'deepseek', model: 'd' },
    { provider: 'custom:box' },
    { provider: 'no-such-provider', model: 'm' },
    { provider: 'gemini', model: 'm' },
  ]
  for (const config of [
    { fallback_providers: [...skipped, usable], fallback_model: deepseek },
    { fallback_providers: [], fallback_model: usable },
    { fallback_model: usable },
  ]) {
    const { recovery, primary } = open(context, ONE, { custom_providers, ...config })
    assert.is((await recovery.recover(limited(), primary))?.endpoint.provider, 'xai')
  }
})

test('each run of a turn tries the whole chain', async context => {
  const { recovery, primary } = open(context, ONE, CHAIN)
  const walk = async () => {
    const met: string[] = []
    let endpoint = primary
    for (;;) {
      const next = await recovery.recover(limited(), endpoint)
      if (!next) return met.join(' ')
      endpoint = next.endpoint
      met.push(endpoint.provider)
    }
  }
  assert.equal(await Promise.all([walk(), walk()]), ['deepseek xai', 'deepseek xai'])
})

test('a key with its own address keeps it', async context => {
  const env = { KIMI_API_KEY: 'plain-key' }
  const { recovery } = open(context, { ...ONE, ...env })
  const auth = { credential_pool: { kimi: [{ id: 'k', access_token: 'sk-kimi-coding' }] } }
  writeFileSync(join(context.dir, 'auth.json'), JSON.stringify(auth))
  const given = { baseHome: context.dir, agentHome: context.dir, configPath: null, env }
  const home = new Homes(given, systemClock)
  const pair = { model: 'kimi-k2', provider: 'kimi', baseUrl: null }
  const first = resolveEndpoint(home.base, bare, pair)
  assert.is(first.baseUrl, 'https://api.moonshot.ai/v1')
  const next = await recovery.recover(limited(), first)
  assert.is(next?.endpoint.apiKey, 'sk-kimi-coding')
  assert.is(next?.endpoint.baseUrl, 'https://api.kimi.com/coding/v1')
})

test.run()
