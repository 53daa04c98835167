/** Which providers appear, which key is used, and where no key ever goes. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  configuredProviders,
  credentialFor,
  credentialsOf,
  isUnconfigured,
  isUsableSecret,
  unusableKey,
  unusableKeys,
} from '../../../lib/models/credentials.ts'
import { pickFirst, resolveKey } from '../../../lib/models/endpoint-key.ts'
import { PROVIDERS } from '../../../lib/models/providers.ts'
import { readSetup } from '../../../lib/models/provider-config.ts'
import { homeOf } from './_home.ts'

type Given = Parameters<typeof homeOf>[0]
const test = suite('credentials')
const KEY = 'sk-test-1234'
const found = (given: Given) => [...configuredProviders(readSetup(homeOf(given)))].sort()

test('values that are not keys', () => {
  const none = ['', '  ', 'abc', 'changeme', 'YOUR_API_KEY', 'dummy', 'null', 'None', '****']
  for (const secret of [...none, 'two words', 'naïve-key', 'a\nbcd', null, undefined])
    assert.is(isUsableSecret(secret), false, String(secret))
  for (const secret of ['abcd', ' sk-1234 ', 'x'.repeat(500)])
    assert.is(isUsableSecret(secret), true)
})

for (const [value, why] of [
  ['sk-test 1234', 'header'],
  ['sk-test # note', 'header'],
  ['sk-tëst-1234', 'header'],
  ['sk-test\u200b1234', 'header'],
  ['sk-one\nsk-two', 'header'],
  ['“sk-test-1234”', 'header'],
  ['removed-from-backup', 'removed'],
] as const)
  test(`a value that cannot be sent is a named problem, wherever it is: ${JSON.stringify(value)}`, () => {
    const places: [name: string, provider: string, given: Given][] = [
      ['OPENAI_API_KEY', 'openai', { dotenv: { OPENAI_API_KEY: value } }],
      [
        'OPENAI_API_KEY',
        'custom',
        { env: { OPENAI_API_KEY: value, OPENAI_BASE_URL: 'https://h/v1' } },
      ],
      [
        'model.api_key',
        'custom',
        { config: { model: { provider: 'custom', base_url: 'http://h/v1', api_key: value } } },
      ],
      [
        'providers.deepseek.api_key',
        'deepseek',
        { config: { providers: { deepseek: { api_key: value } } } },
      ],
      [
        'custom_providers',
        'custom:lab',
        {
          config: { custom_providers: [{ name: 'lab', base_url: 'http://h/v1', api_key: value }] },
        },
      ],
    ]
    for (const [name, provider, given] of places) {
      const setup = readSetup(homeOf(given))
      assert.equal(unusableKey(setup, provider), { name, why }, name)
      assert.equal(unusableKeys(setup), [{ name, why }])
      const url = provider === 'openai' ? 'https://api.openai.com/v1' : 'https://h/v1'
      assert.throws(
        () => resolveKey(setup, provider, provider, url, pickFirst),
        (error: { code: string }) =>
          error.code === (why === 'removed' ? 'key_removed_by_backup' : 'key_not_sendable'),
      )
    }
  })

test('a key in a variable without a value is missing, and a reference to it is never sent', () => {
  const base_url = 'https://h.example/v1'
  const entries = [{ api_key: '${NONE}' }, { key_env: 'NONE' }, { api_key: 'Bearer ${NONE}' }]
  for (const key of entries)
    for (const [provider, config] of [
      ['custom', { model: { provider: 'custom', base_url, ...key } }],
      ['custom:lab', { custom_providers: [{ name: 'lab', base_url, ...key }] }],
      ['mine', { providers: { mine: { base_url, ...key } } }],
    ] as const) {
      // The model section has no names of variables.
      if (provider === 'custom' && 'key_env' in key) continue
      const setup = readSetup(homeOf({ config }))
      assert.throws(
        () => resolveKey(setup, provider, provider, base_url, pickFirst),
        (error: { code: string }) => /^key_(?:missing|not_sendable)$/.test(error.code),
        `${provider} ${JSON.stringify(key)}`,
      )
    }
})

test('a variable that would not be sent to an address does not matter there', () => {
  const setup = readSetup(homeOf({ env: { OPENAI_API_KEY: 'sk-test 1234' } }))
  const { apiKey } = resolveKey(setup, 'custom', 'custom', 'http://127.0.0.1:9/v1', pickFirst)
  assert.is(apiKey, null)
})

test('a placeholder, a missing key, and a good one are no problem of this kind', () => {
  for (const value of ['', 'changeme', KEY])
    assert.equal(unusableKeys(readSetup(homeOf({ dotenv: { OPENAI_API_KEY: value } }))), [])
})

test('a variable with a key lists its providers, in .env and in the environment', () => {
  const names = new Set([...PROVIDERS.values()].flatMap(({ keys }) => keys))
  for (const name of [...names, 'SOME_API_KEY']) {
    const owners = [...PROVIDERS].flatMap(([id, { keys, ambient = [] }]) =>
      keys.includes(name) && !ambient.includes(name) ? [id] : [],
    )
    assert.equal(found({ dotenv: { [name]: KEY } }), owners.sort(), name)
    assert.equal(found({ env: { [name]: KEY } }), owners.sort(), name)
    assert.equal(found({ env: { [name]: 'changeme' } }), [])
  }
  // Two of the table, and tokens that exist for other purposes.
  assert.equal(found({ env: { OLLAMA_API_KEY: KEY } }), ['ollama', 'ollama-cloud'])
  assert.equal(found({ env: { GH_TOKEN: KEY, GITHUB_TOKEN: KEY } }), [])
})

test('other reasons to list a provider, and what is none', () => {
  const token = (entry: object) => pool('github', entry)
  const cases: [given: Given, providers: string][] = [
    [{ config: { model: { provider: 'z-ai' } } }, 'zai'],
    [{ auth: { active_provider: 'nous' } }, 'nous'],
    [token({ source: 'manual', access_token: KEY }), 'copilot'],
    [token({ source: 'gh_cli', access_token: KEY }), ''],
    [token({ source: ' GH auth token ', access_token: KEY }), ''],
    [token({ source: 'manual', label: 'gh auth token' }), ''],
    [token({ source: 'manual', key_source: 'GH AUTH TOKEN' }), ''],
    [{ config: { providers: { mine: { models: ['a'] } } } }, 'mine'],
    [{ config: { providers: { mine: { models: { a: {} } } } } }, 'mine'],
    [{ config: { providers: { mine: { models: [] } } } }, ''],
    [{ config: { providers: { mine: { api_key: KEY } } } }, ''],
    [{ config: { model: { api_key: KEY } } }, ''],
    [
      { config: { custom_providers: [{ name: 'My Box', model: 'x' }, { model: 'y' }] } },
      'custom,custom:my-box',
    ],
    [{ config: { custom_providers: [{ name: 'My Box' }] } }, ''],
  ]
  for (const [given, providers] of cases)
    assert.is(found(given).join(), providers, JSON.stringify(given))
})

test('reports no configuration only when there is none', () => {
  const isFresh = (given: Given) => isUnconfigured(readSetup(homeOf(given)))
  assert.is(isFresh({}), true)
  assert.is(isFresh({ config: { model: 'some-model' }, env: { GH_TOKEN: KEY } }), true)
  assert.is(isFresh({ config: { model: { base_url: 'http://127.0.0.1:1' } } }), false)
  assert.is(isFresh({ config: { model: { api_key: KEY } } }), false)
  assert.is(isFresh({ config: { providers: { mine: { api_key: KEY } } } }), false)
  assert.is(isFresh({ config: { custom_providers: [{ name: 'x' }] } }), false)
  assert.is(isFresh({ env: { OPENAI_BASE_URL: 'http://127.0.0.1:1' } }), false)
  assert.is(isFresh({ env: { HF_TOKEN: KEY } }), false)
})

test('model.api_key belongs to the configured provider and lists no other', () => {
  const setup = readSetup(homeOf({ config: { model: { provider: 'openai', api_key: KEY } } }))
  assert.is(credentialsOf(setup, 'openai')[0]?.name, 'model.api_key')
  for (const id of [...PROVIDERS.keys(), 'custom', 'mine'])
    if (id !== 'openai') assert.equal(credentialsOf(setup, id), [], id)
})

const OPENAI = 'https://api.openai.com/v1'
const PROXY = 'https://proxy.example/v1'
const ROUTER = 'https://openrouter.ai/api/v1'
const ZAI = 'https://api.z.ai/api/paas/v4'
const NOUS = 'https://inference-api.nousresearch.com/v1'
const inEnv = (more: Given = {}): Given => ({ env: { OPENAI_API_KEY: 'env-key' }, ...more })
const inFile = (more: Given = {}): Given => ({ dotenv: { OPENAI_API_KEY: 'file-key' }, ...more })
const active = (provider: string, base_url: string, more: object = {}): Given => ({
  config: { model: { provider, base_url, ...more } },
})
const box = (more: object = {}): Given => ({
  config: { custom_providers: [{ name: 'Box', base_url: PROXY, ...more }] },
})
const pool = (provider: string, ...entries: object[]): Given => ({
  auth: { credential_pool: { [provider]: entries } },
})
type Row = [name: string, given: Given, provider: string, url: string, key: string | null]
const ROUTES: Row[] = [
  ['its own host', inEnv(), 'openai', OPENAI, 'env-key'],
  ['.env wins over the process', { ...inEnv(), ...inFile() }, 'openai', OPENAI, 'file-key'],
  ['a subdomain of its own', inEnv(), 'openai', 'https://eu.api.openai.com/v1', 'env-key'],
  ['a host that only ends alike', inEnv(), 'openai', 'https://evilopenai.com/v1', null],
  ['a host that begins alike', inEnv(), 'openai', 'https://api.openai.com.evil.example/v1', null],
  ['user info like the host', inEnv(), 'openai', 'https://api.openai.com@evil.example/v1', null],
  ['no clear text over the network', inEnv(), 'openai', 'http://api.openai.com/v1', null],
  ['another provider’s host', inFile(active('openai', ROUTER)), 'openai', ROUTER, null],
  [
    'the router’s key never leaves it',
    { dotenv: { OPENROUTER_API_KEY: 'file-key' }, ...active('openrouter', PROXY) },
    'openrouter',
    PROXY,
    null,
  ],
  ['OpenAI’s key is not the router’s', inFile(), 'openrouter', ROUTER, null],
  ['a pair the home made', inFile(active('openai', PROXY)), 'openai', PROXY, 'file-key'],
  ['the process did not make that pair', inEnv(active('openai', PROXY)), 'openai', PROXY, null],
  [
    'a pair the environment made',
    { env: { OPENAI_API_KEY: 'env-key', OPENAI_BASE_URL: PROXY } },
    'openai',
    PROXY,
    'env-key',
  ],
  [
    'the key beside the address first',
    inFile(active('openai', PROXY, { api_key: 'own-key' })),
    'openai',
    PROXY,
    'own-key',
  ],
  [
    'another provider’s model.api_key',
    active('openai', OPENAI, { api_key: 'own' }),
    'zai',
    ZAI,
    null,
  ],
  [
    'providers.<id>.api_key',
    { config: { providers: { zai: { api_key: 'own-key' } } } },
    'zai',
    ZAI,
    'own-key',
  ],
  [
    'providers.<id>.key_env',
    {
      env: { MINE: 'var-key' },
      config: { providers: { mine: { base_url: PROXY, key_env: 'MINE' } } },
    },
    'mine',
    PROXY,
    'var-key',
  ],
  [
    'a nameless endpoint, the home’s key',
    inFile(active('custom', PROXY)),
    'custom',
    PROXY,
    'file-key',
  ],
  ['a nameless endpoint, the process’s key', inEnv(active('custom', PROXY)), 'custom', PROXY, null],
  ['a named endpoint', inFile(box({ api_key: 'box-key' })), 'custom:box', PROXY, 'box-key'],
  ['a named endpoint without a key', inFile(box()), 'custom:box', PROXY, null],
  [
    'a box’s key elsewhere',
    box({ api_key: 'box-key' }),
    'custom:box',
    'https://other.example',
    null,
  ],
  [
    'the pool, by priority',
    pool('zai', { priority: 2, access_token: 'second' }, { priority: 1, access_token: 'first' }),
    'zai',
    ZAI,
    'first',
  ],
  [
    'an exhausted entry last',
    pool(
      'zai',
      { priority: 1, access_token: 'tired', last_status: 'exhausted' },
      { priority: 2, access_token: 'fresh' },
    ),
    'zai',
    ZAI,
    'fresh',
  ],
  [
    'an ambient entry never',
    pool('copilot', { source: 'gh_cli', access_token: 'ambient' }),
    'copilot',
    'https://api.githubcopilot.com',
    null,
  ],
  [
    'a pool entry’s own address',
    pool('zai', { access_token: 'there', base_url: PROXY }),
    'zai',
    PROXY,
    'there',
  ],
  [
    'the portal’s agent key',
    { auth: { providers: { nous: { access_token: 'portal', agent_key: 'agent-key' } } } },
    'nous',
    NOUS,
    'agent-key',
  ],
  [
    'the portal’s access token',
    { auth: { providers: { nous: { access_token: 'p' } } } },
    'nous',
    NOUS,
    null,
  ],
  [
    'a placeholder gives way to a real key',
    { dotenv: { GLM_API_KEY: 'changeme', ZAI_API_KEY: 'real' } },
    'zai',
    ZAI,
    'real',
  ],
  [
    'an empty .env line hides the process’s key',
    inEnv({ dotenv: { OPENAI_API_KEY: '' } }),
    'openai',
    OPENAI,
    null,
  ],
]
for (const [name, given, provider, url, key] of ROUTES)
  test(`the address a key is used for: ${name}`, () =>
    assert.is(credentialFor(readSetup(homeOf(given)), provider, url)?.key ?? null, key))

test.run()
