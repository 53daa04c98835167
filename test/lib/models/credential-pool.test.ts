/** Keys of a pool: which is next, which rest, what is seeded from variables, and what is noted in auth.json. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import { candidatesFor, credentialFor } from '../../../lib/models/credentials.ts'
import {
  CredentialPools,
  type KeyFailure,
  chooseKey,
  strategyOf,
} from '../../../lib/models/credential-pool/credential-pools.ts'
import { resolveEndpoint } from '../../../lib/models/endpoint.ts'
import { readSetup } from '../../../lib/models/provider-config.ts'
import { Homes } from '../../../lib/profiles/homes.ts'
import { withFileLock } from '../../../lib/store/flock.ts'
import { bare, homeOf } from './_home.ts'
import { configOf } from '../../_config.ts'
import { tempDir } from '../../_temp-dir.ts'

type Given = Parameters<typeof homeOf>[0]
const HOUR = 3_600
const DEEPSEEK = 'https://api.deepseek.com/v1'
const NOW = Date.parse('2026-04-08T12:00:00Z')
const seconds = NOW / 1_000
const clock = createTestClock(NOW)

const entry = (token: string, more: Record<string, unknown> = {}) => ({
  id: `id-${token}`,
  label: token,
  auth_type: 'api_key',
  source: 'manual',
  access_token: token,
  ...more,
})
const poolOf = (...list: unknown[]) => ({ version: 1, credential_pool: { deepseek: list } })
const keyIn = (given: Given, url = DEEPSEEK) =>
  credentialFor(readSetup(homeOf({ ...given, clock })), 'deepseek', url)?.key

const choosing = suite('choosing a key')

const three = [
  { id: 'a', cooldownUntilMs: 0, requests: 4 },
  { id: 'b', cooldownUntilMs: 0, requests: 1 },
  { id: 'c', cooldownUntilMs: 0, requests: 1 },
]
const choose = (
  candidates: typeof three,
  strategy: Parameters<typeof chooseKey>[1],
  last?: string,
  random = 0,
) => chooseKey(candidates, strategy, NOW, last, () => random)?.id

choosing(
  'the strategy is found under every alias of a provider; invalid ones count as fill_first',
  () => {
    const given = configOf({
      credential_pool_strategies: { glm: 'least_used', deepseek: 'no such' },
    })
    assert.is(strategyOf(given, 'zai'), 'least_used')
    assert.is(strategyOf(given, 'deepseek'), 'fill_first')
    assert.is(strategyOf(given, 'openai'), 'fill_first')
    for (const broken of [null, 'random', 3, []])
      assert.is(strategyOf(configOf({ credential_pool_strategies: broken }), 'zai'), 'fill_first')
  },
)

choosing(
  'fill_first repeats, round_robin advances, least_used balances, random picks at random',
  () => {
    assert.is(choose([], 'fill_first'), undefined)
    assert.is(choose(three, 'fill_first', 'a'), 'a')
    assert.is(choose(three, 'round_robin'), 'a')
    assert.is(choose(three, 'round_robin', 'a'), 'b')
    assert.is(choose(three, 'round_robin', 'c'), 'a')
    assert.is(choose(three, 'least_used'), 'b')
    assert.is(choose(three, 'random', undefined, 0.999), 'c')
  },
)

choosing('every strategy skips a resting key; when all rest, uses the one ready soonest', () => {
  const tired = three.map(one => ({ ...one, cooldownUntilMs: one.id === 'b' ? NOW + 1 : 0 }))
  assert.is(choose(tired, 'round_robin', 'a'), 'c')
  assert.is(choose(tired, 'least_used'), 'c')
  assert.is(choose(tired, 'random', undefined, 0.5), 'c')
  const all = three.map((one, at) => ({ ...one, cooldownUntilMs: NOW + 3 - at }))
  for (const strategy of ['fill_first', 'round_robin', 'random', 'least_used'] as const)
    assert.is(choose(all, strategy), 'c')
})

choosing.run()

const reading = suite('reading a pool')

const exhausted = (more: Record<string, unknown>) =>
  keyIn({
    auth: poolOf(
      entry('tired', { priority: 1, last_status: 'exhausted', ...more }),
      entry('fresh', { priority: 2 }),
    ),
  })

reading('an exhausted key rests an hour, or until the given time, and is used again', () => {
  assert.is(exhausted({ last_status_at: seconds - HOUR + 5 }), 'fresh')
  assert.is(exhausted({ last_status_at: seconds - HOUR - 5 }), 'tired')
  assert.is(exhausted({}), 'fresh')
  const reset = (last_error_reset_at: unknown) =>
    exhausted({ last_status_at: seconds - 5, last_error_reset_at })
  assert.is(reset(seconds + 1), 'fresh')
  assert.is(reset(seconds - 1), 'tired')
  assert.is(reset(NOW + 1_000), 'fresh')
  assert.is(reset('2026-04-08T11:59:59+00:00'), 'tired')
  assert.is(reset('2026-04-08T12:00:09+00:00'), 'fresh')
  assert.is(reset('nonsense'), 'fresh')
})

reading('when every key rests, uses the one ready soonest: the user may have paid', () => {
  const auth = poolOf(
    entry('later', { last_status: 'exhausted', last_status_at: seconds - 5 }),
    entry('sooner', { last_status: 'exhausted', last_status_at: seconds - 500 }),
  )
  assert.is(keyIn({ auth }), 'sooner')
})

reading(
  'a pooled copy of a variable follows the variable: removed with it, updated with it',
  () => {
    const copy = entry('old-key', {
      source: 'env:DEEPSEEK_API_KEY',
      last_status: 'exhausted',
      last_status_at: seconds,
    })
    assert.is(keyIn({ auth: poolOf(copy) }), undefined)
    assert.is(keyIn({ auth: poolOf(copy), dotenv: { DEEPSEEK_API_KEY: 'new-key' } }), 'new-key')
    const both = { auth: poolOf(copy, entry('manual')), dotenv: { DEEPSEEK_API_KEY: 'old-key' } }
    assert.is(keyIn(both), 'manual')
  },
)

reading('the home .env wins over the environment and over the pool', () => {
  const auth = poolOf(entry('pooled'), entry('stale', { source: 'env:DEEPSEEK_API_KEY' }))
  const env = { DEEPSEEK_API_KEY: 'process' }
  assert.is(keyIn({ auth, env, dotenv: { DEEPSEEK_API_KEY: 'file-key' } }), 'file-key')
  assert.is(keyIn({ auth, env }), 'process')
})

reading('a key in two places counts once', () => {
  const setup = readSetup(
    homeOf({ auth: poolOf(entry('twin')), dotenv: { DEEPSEEK_API_KEY: 'twin' } }),
  )
  const found = candidatesFor(setup, 'deepseek', DEEPSEEK)
  assert.equal(
    found.map(({ id, key, isPooled }) => ({ id, key, isPooled })),
    [{ id: 'id-twin', key: 'twin', isPooled: true }],
  )
})

reading('a pool key is never used for another host', () => {
  const given = {
    auth: {
      credential_pool: {
        deepseek: [entry('own'), entry('there', { base_url: 'https://there.example/v1' })],
        'custom:work': [entry('work')],
      },
    },
    config: { custom_providers: [{ name: 'work', base_url: 'https://work.example/v1' }] },
  }
  const at = (provider: string, url: string) =>
    candidatesFor(readSetup(homeOf(given)), provider, url).map(({ key }) => key)
  assert.equal(at('deepseek', 'https://elsewhere.example/v1'), [])
  assert.equal(at('deepseek', 'https://there.example/v1'), ['there'])
  assert.equal(at('custom:work', 'https://work.example/v1'), ['work'])
  assert.equal(at('custom:work', 'https://elsewhere.example/v1'), [])
})

reading('an endpoint has its pool and key ids, only when there is a pool', () => {
  const endpoint = (given: Given) =>
    resolveEndpoint(homeOf(given), bare, { model: 'm', provider: 'deepseek', baseUrl: null })
  assert.is(endpoint({ dotenv: { DEEPSEEK_API_KEY: 'only' } }).credential, undefined)
  assert.equal(endpoint({ auth: poolOf(entry('one1')) }).credential, {
    pool: 'deepseek',
    id: 'id-one1',
  })
  const beside = { auth: poolOf(entry('one1')), dotenv: { DEEPSEEK_API_KEY: 'variable' } }
  assert.equal(endpoint(beside).credential, { pool: 'deepseek', id: 'env:DEEPSEEK_API_KEY' })
})

reading.run()

type Context = { dir: string; logged: string[] }
const writing = suite<Context>('notes in auth.json', { dir: '', logged: [] })

writing.before.each(context => {
  context.dir = tempDir('pool')
  context.logged = []
})

const refused: KeyFailure = { type: 'quota_exhausted', message: 'no money', status: 402 }

const open = ({ dir, logged }: Context, env: Record<string, string> = {}) => {
  const home = new Homes({ baseHome: dir, agentHome: dir, configPath: null, env }, clock).base
  const pools = new CredentialPools(
    (line, extra) => void logged.push(`${line} ${JSON.stringify(extra)}`),
    clock,
  )
  return { home, pools }
}
const authOf = ({ dir }: Context) => JSON.parse(readFileSync(join(dir, 'auth.json'), 'utf8'))
const keep = ({ dir }: Context, text: unknown) =>
  writeFileSync(join(dir, 'auth.json'), typeof text === 'string' ? text : JSON.stringify(text))

writing('creates no file and no lock without need', async context => {
  const { home, pools } = open(context, { DEEPSEEK_API_KEY: 'process' })
  pools.markExhausted(home, 'deepseek', DEEPSEEK, 'env:DEEPSEEK_API_KEY', refused)
  pools.markOk(home, 'deepseek', DEEPSEEK, 'env:DEEPSEEK_API_KEY')
  await pools.flush()
  assert.not.ok(existsSync(join(context.dir, 'auth.json')))
  keep(context, { version: 1, providers: { nous: {} } })
  const before = readFileSync(join(context.dir, 'auth.json'), 'utf8')
  pools.markOk(home, 'deepseek', DEEPSEEK, 'env:DEEPSEEK_API_KEY')
  await pools.flush()
  assert.is(readFileSync(join(context.dir, 'auth.json'), 'utf8'), before)
  assert.not.ok(existsSync(join(context.dir, 'auth.lock')))
  assert.equal(context.logged, [])
})

for (const [name, text] of [
  ['broken', '{"credential_pool": {'],
  ['no mapping', '[1, 2]'],
] as const)
  writing(`a file that is ${name} is never overwritten and causes no error`, async context => {
    keep(context, poolOf(entry('good-key')))
    const { home, pools } = open(context)
    assert.is(pools.candidates(home, 'deepseek', DEEPSEEK).length, 1)
    keep(context, text)
    pools.markExhausted(home, 'deepseek', DEEPSEEK, 'id-good-key', refused)
    await pools.flush()
    assert.is(readFileSync(join(context.dir, 'auth.json'), 'utf8'), text)
  })

writing(
  'a rejected key rests in the file; the rest of the file keeps its meaning',
  async context => {
    writeFileSync(
      join(context.dir, 'auth.json'),
      `{"version": 1, "future": {"a": 12345678901234567890}, "providers": {"nous": {"expires_in": 3600.0}},
      "credential_pool": {"zai": [{"id": "z"}], "deepseek": [
        {"id": "a", "label": "work", "access_token": "key-a", "request_count": 2, "expires_at_ms": 1.50, "mine": [null]},
        {"id": "b", "access_token": "key-b"}]}}`,
    )
    const { home, pools } = open(context)
    pools.pickerFor(home)(
      readSetup(home),
      'deepseek',
      candidatesFor(readSetup(home), 'deepseek', DEEPSEEK),
    )
    pools.markExhausted(home, 'deepseek', DEEPSEEK, 'a', {
      ...refused,
      message: 'sk-proj-0123456789abcdefghij: no money',
    })
    await pools.flush()
    const text = readFileSync(join(context.dir, 'auth.json'), 'utf8')
    assert.match(text, '12345678901234567890')
    assert.match(text, '3600.0')
    assert.match(text, '1.50')
    assert.ok(text.startsWith('{\n  "version": 1,') && text.endsWith('}\n'))
    const { credential_pool, updated_at } = authOf(context)
    assert.equal(credential_pool.zai, [{ id: 'z' }])
    assert.equal(credential_pool.deepseek[1], { id: 'b', access_token: 'key-b' })
    assert.equal(credential_pool.deepseek[0], {
      id: 'a',
      label: 'work',
      access_token: 'key-a',
      request_count: 3,
      expires_at_ms: 1.5,
      mine: [null],
      last_error_code: 402,
      last_error_reason: 'billing',
      last_error_message: credential_pool.deepseek[0].last_error_message,
      last_error_reset_at: null,
      last_status: 'exhausted',
      last_status_at: seconds,
    })
    assert.match(credential_pool.deepseek[0].last_error_message, /^(?!.*456789abc).*: no money$/)
    assert.is(updated_at, '2026-04-08T12:00:00.000+00:00')
    assert.is(statSync(join(context.dir, 'auth.json')).mode & 0o777, 0o600)
    assert.equal(
      pools.candidates(home, 'deepseek', DEEPSEEK).map(({ cooldownUntilMs }) => cooldownUntilMs),
      [NOW + HOUR * 1_000, 0],
    )
  },
)

writing(
  'a successful response clears the status; the provider’s reset time is kept',
  async context => {
    keep(context, poolOf(entry('key-a'), entry('key-b')))
    const { home, pools } = open(context)
    const limit: KeyFailure = {
      type: 'rate_limit',
      message: 'slow',
      status: 429,
      retryAfterMs: 90_000,
    }
    pools.markExhausted(home, 'deepseek', DEEPSEEK, 'id-key-a', limit)
    await pools.flush()
    assert.is(authOf(context).credential_pool.deepseek[0].last_error_reset_at, seconds + 90)
    pools.markOk(home, 'deepseek', DEEPSEEK, 'id-key-a')
    await pools.flush()
    const [first] = authOf(context).credential_pool.deepseek
    assert.is(first.last_status, 'ok')
    for (const name of ['code', 'reason', 'message', 'reset_at'])
      assert.is(first[`last_error_${name}`], null)
  },
)

writing('picks up a key reset by another program', async context => {
  keep(context, poolOf(entry('key-a'), entry('key-b')))
  const { home, pools } = open(context)
  pools.markExhausted(home, 'deepseek', DEEPSEEK, 'id-key-a', refused)
  await pools.flush()
  keep(context, poolOf(entry('key-a', { last_status: null }), entry('key-b')))
  assert.is(pools.candidates(home, 'deepseek', DEEPSEEK)[0]?.cooldownUntilMs, 0)
})

writing(
  'a variable beside a pool is seeded with its status and updated with its value',
  async context => {
    keep(context, poolOf(entry('key-a', { priority: 4 })))
    const first = open(context, { DEEPSEEK_API_KEY: 'value-1' })
    first.pools.markExhausted(first.home, 'deepseek', DEEPSEEK, 'env:DEEPSEEK_API_KEY', refused)
    await first.pools.flush()
    const seeded = authOf(context).credential_pool.deepseek[1]
    assert.match(seeded.id, /^[0-9a-f]{6}$/)
    assert.is(seeded.source, 'env:DEEPSEEK_API_KEY')
    assert.is(seeded.access_token, 'value-1')
    assert.is(seeded.priority, 5)
    assert.is(seeded.last_status, 'exhausted')
    // After a restart it still rests; with another value it does not.
    const again = open(context, { DEEPSEEK_API_KEY: 'value-1' })
    assert.is(
      again.pools.candidates(again.home, 'deepseek', DEEPSEEK)[0]?.cooldownUntilMs,
      NOW + HOUR * 1_000,
    )
    const renewed = open(context, { DEEPSEEK_API_KEY: 'value-2' })
    assert.is(renewed.pools.candidates(renewed.home, 'deepseek', DEEPSEEK)[0]?.cooldownUntilMs, 0)
    renewed.pools.markOk(renewed.home, 'deepseek', DEEPSEEK, 'env:DEEPSEEK_API_KEY')
    await renewed.pools.flush()
    const { deepseek } = authOf(context).credential_pool
    assert.is(deepseek.length, 2)
    assert.is(deepseek[1].access_token, 'value-2')
    assert.is(deepseek[1].last_status, 'ok')
  },
)

writing('a replaced key does not get the status of the old one', async context => {
  keep(context, poolOf(entry('key-a'), entry('key-b')))
  const { home, pools } = open(context)
  pools.markExhausted(home, 'deepseek', DEEPSEEK, 'id-key-a', refused)
  keep(context, poolOf({ ...entry('other'), id: 'id-key-a' }, entry('key-b')))
  await pools.flush()
  assert.is(authOf(context).credential_pool.deepseek[0].last_status, undefined)
})

writing('waits for the command line’s lock and keeps its change', async context => {
  keep(context, poolOf(entry('key-a'), entry('key-b')))
  const { home, pools } = open(context)
  await withFileLock(join(context.dir, 'auth.lock'), { timeoutMs: 5_000 }, async () => {
    pools.markExhausted(home, 'deepseek', DEEPSEEK, 'id-key-a', refused)
    const auth = authOf(context)
    assert.is(auth.credential_pool.deepseek[0].last_status, undefined)
    keep(context, { ...auth, active_provider: 'nous', by: 'another program' })
  })
  await pools.flush()
  const auth = authOf(context)
  assert.is(auth.by, 'another program')
  assert.is(auth.credential_pool.deepseek[0].last_status, 'exhausted')
})

writing('loses no concurrent status update of two programs', async context => {
  keep(context, poolOf(...['a', 'b', 'c', 'd'].map(name => entry(`key-${name}`))))
  const one = open(context)
  const other = open(context)
  for (const { home, pools } of [one, other])
    for (const name of ['a', 'b', 'c', 'd']) {
      const found = pools.candidates(home, 'deepseek', DEEPSEEK)
      pools.choose(
        home,
        'deepseek',
        found.filter(({ id }) => id === `id-key-${name}`),
      )
      pools.markOk(home, 'deepseek', DEEPSEEK, `id-key-${name}`)
    }
  await Promise.all([one.pools.flush(), other.pools.flush()])
  assert.equal(context.logged, [])
  assert.equal(
    authOf(context).credential_pool.deepseek.map(
      (each: { request_count: number }) => each.request_count,
    ),
    [2, 2, 2, 2],
  )
})

writing('a key without a pool rests in memory while it is the same key', async context => {
  const { home, pools } = open(context)
  const rest = () => pools.candidates(home, 'deepseek', DEEPSEEK)[0]?.cooldownUntilMs
  writeFileSync(join(context.dir, '.env'), 'DEEPSEEK_API_KEY=value-1\n')
  pools.markExhausted(home, 'deepseek', DEEPSEEK, 'env:DEEPSEEK_API_KEY', refused)
  assert.is(rest(), NOW + HOUR * 1_000)
  writeFileSync(join(context.dir, '.env'), 'DEEPSEEK_API_KEY=another-value\n')
  await immediate()
  assert.is(rest(), 0)
  await pools.flush()
})

writing.run()
