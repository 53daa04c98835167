/** From an id to a pair: every form of an id, and 10 000 ids that survive a round trip. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../lib/base/clock.ts'
import { effectiveDefault, setDefaultModel } from '../../../lib/models/default-model.ts'
import { modelGroups, withProviderHint } from '../../../lib/models/model-groups.ts'
import { resolveFor, resolveModel } from '../../../lib/models/resolve.ts'
import { Homes } from '../../../lib/profiles/homes.ts'
import { editYaml } from '../../../lib/store/yaml-file.ts'
import { parse } from 'yaml'
import { bare, homeOf } from './_home.ts'
import { configOf } from '../../_config.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite('model resolution')

const BASE = 'http://host/v1'
const custom = [
  { slug: 'my-proxy', model: 'own-model', baseUrl: 'http://proxy/v1' },
  { slug: 'no-url', model: 'no-url-model', baseUrl: null },
  { slug: 'a:b', model: null, baseUrl: null },
  { slug: null, model: 'nameless', baseUrl: 'http://nameless' },
]

type Row = [
  id: string,
  provider: string | null,
  model: string,
  to: string | null,
  url: string | null,
]
const TABLE: Record<string, Row[]> = {
  '1: blank is the configuration': [
    ['', 'openai', '', 'openai', BASE],
    ['  ', null, '', null, BASE],
  ],
  '2: the model of a named custom provider': [
    ['own-model', 'openai', 'own-model', 'custom:my-proxy', 'http://proxy/v1'],
    ['no-url-model', 'openrouter', 'no-url-model', 'custom:no-url', null],
    ['nameless', 'openai', 'nameless', 'openai', BASE],
  ],
  '3: a hint': [
    ['@openai:gpt-5.4', 'anthropic', 'gpt-5.4', 'openai', null],
    [
      '@openrouter:anthropic/claude-opus-4.6',
      'openai',
      'anthropic/claude-opus-4.6',
      'openrouter',
      null,
    ],
    ['@ollama:llama3:8b', 'openai', 'llama3:8b', 'ollama', null],
    ['@custom:llama3:8b', 'openai', 'llama3:8b', 'custom', null],
    ['@custom:my-proxy:llama3:8b', 'openai', 'llama3:8b', 'custom:my-proxy', null],
    ['@custom:My Proxy:x', 'openai', 'x', 'custom:my-proxy', null],
    ['@custom:a:b:c', 'openai', 'c', 'custom:a:b', null],
    ['@custom:my-proxy', 'openai', 'my-proxy', 'custom', null],
    ['@:x', 'openai', '@:x', 'openai', BASE],
    ['@openai:', 'openai', '@openai:', 'openai', BASE],
    ['@plain', 'openai', '@plain', 'openai', BASE],
  ],
  '4: the router takes ids as they are': [
    ['anthropic/claude-opus-4.6', 'openrouter', 'anthropic/claude-opus-4.6', 'openrouter', BASE],
    ['openrouter/auto', 'openrouter', 'openrouter/auto', 'openrouter', BASE],
    ['gpt-5.4', 'openrouter', 'gpt-5.4', 'openrouter', BASE],
  ],
  '5: the own prefix comes off': [
    ['openai/gpt-5.4', 'openai', 'gpt-5.4', 'openai', BASE],
    ['openai/a/b:c', 'openai', 'a/b:c', 'openai', BASE],
    ['x-ai/grok-4.20', 'x-ai', 'grok-4.20', 'x-ai', BASE],
  ],
  '6: aggregators take ids as they are': [
    ['anthropic/claude-opus-4.6', 'nous', 'anthropic/claude-opus-4.6', 'nous', BASE],
    ['openai/gpt-5', 'opencode-zen', 'openai/gpt-5', 'opencode-zen', BASE],
    ['glm-5', 'opencode-go', 'glm-5', 'opencode-go', BASE],
  ],
  '7: an endpoint of one’s own routes by itself': [
    ['openai/gpt-5.4', 'custom', 'openai/gpt-5.4', 'custom', BASE],
    ['openai/gpt-5.4', 'custom:my-proxy', 'openai/gpt-5.4', 'custom:my-proxy', BASE],
    ['qwen/qwen3', 'ollama', 'qwen/qwen3', 'ollama', BASE],
    ['google/gemma', 'lmstudio', 'google/gemma', 'lmstudio', BASE],
  ],
  '8: another maker goes through the router, base_url or not': [
    ['anthropic/claude-opus-4.6', 'openai', 'anthropic/claude-opus-4.6', 'openrouter', null],
    ['x-ai/grok-4.20', null, 'x-ai/grok-4.20', 'openrouter', null],
    ['qwen/qwen3-coder', 'anthropic', 'qwen/qwen3-coder', 'openrouter', null],
    ['google/gemini-2.5-pro', 'gemini', 'google/gemini-2.5-pro', 'openrouter', null],
  ],
  '9: everything else is the configured provider’s': [
    ['gpt-5.4', 'openai', 'gpt-5.4', 'openai', BASE],
    ['meta-llama/llama-4', 'huggingface', 'meta-llama/llama-4', 'huggingface', BASE],
    ['llama3:8b', 'openai', 'llama3:8b', 'openai', BASE],
    ['/odd', 'openai', '/odd', 'openai', BASE],
    ['gpt-5.4', null, 'gpt-5.4', null, BASE],
    ['constructor/x', 'openai', 'constructor/x', 'openai', BASE],
  ],
}

for (const [name, rows] of Object.entries(TABLE)) {
  test(name, () => {
    for (const [id, provider, model, to, baseUrl] of rows)
      assert.equal(
        resolveModel(id, { provider, baseUrl: BASE, custom }),
        { model, provider: to, baseUrl },
        `${id} with ${provider}`,
      )
  })
}

test('reads every form of a home’s configuration', () => {
  const cases: [
    config: Record<string, unknown>,
    auth: unknown,
    provider: string | null,
    url: string | null,
  ][] = [
    [{}, {}, null, null],
    [{ model: 'plain' }, {}, null, null],
    [{ model: { provider: 'auto' } }, {}, null, null],
    [{ model: { provider: 'auto' } }, { active_provider: 'nous' }, 'nous', null],
    [{ model: { provider: 'X-AI', base_url: 'http://h/v1//' } }, {}, 'X-AI', 'http://h/v1'],
    [{ model: { base_url: 'http://h' } }, { active_provider: 'nous' }, 'custom', 'http://h'],
    [{ provider: 'openai', base_url: 'http://h' }, {}, 'openai', 'http://h'],
    [
      { model: { provider: 'My Box' }, custom_providers: [{ name: 'my box' }] },
      {},
      'custom:my-box',
      null,
    ],
    [{ model: { provider: 'custom:My Box' } }, {}, 'custom:my-box', null],
    [{ model: { provider: 'openai' }, custom_providers: [{ name: 'openai' }] }, {}, 'openai', null],
    [{ model: ['odd'], providers: 'odd', custom_providers: 'odd' }, 'odd', null, null],
    [{ model: { provider: 5, base_url: false } }, null, '5', null],
  ]
  for (const [config, auth, provider, baseUrl] of cases)
    assert.equal(
      resolveFor(homeOf({ config, auth }), ''),
      { model: '', provider, baseUrl },
      JSON.stringify(config),
    )
})

/** A small deterministic generator: the same 10 000 ids every time. */
const random = (seed: number) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed / 2 ** 32
}

const PIECES = [
  ...'/ : @ - . _ # \' " { , ~ ! % & * ? | \\ é 日本 🙂 ß gpt openai openai/ anthropic/ custom:'.split(
    ' ',
  ),
  ...'@openai: true off 12:30 1e3 0 7b x Y free'.split(' '),
  ' ',
]
const PROVIDERS =
  'openai openrouter anthropic x-ai nous ollama custom custom:my-box my-llm deepseek acp'.split(' ')

test('10 000 ids with / : @ and unicode survive pick, save, reload and send', () => {
  const next = random(42)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!
  const own = [{ slug: 'my-box', model: 'boxed', baseUrl: null }]
  let compared = 0
  for (let n = 0; n < 10_000; n++) {
    const model = Array.from({ length: 1 + Math.floor(next() * 6) }, () => pick(PIECES))
      .join('')
      .trim()
    const provider = pick(PROVIDERS)
    const active = pick(PROVIDERS)
    if (!model) continue
    // Picked from the list while another provider is active, stored in a session, and read again.
    const id =
      provider === active ? `@${provider}:${model}` : withProviderHint(model, provider, active)
    const stored = JSON.parse(JSON.stringify({ model: id })).model
    assert.is(stored, id)
    if (model.startsWith('@')) continue
    const pair = resolveModel(stored, { provider: active, baseUrl: null, custom: own })
    // `@custom:my-box:x` means the named one; an unnamed `custom` cannot serve a model called so.
    if (provider === 'custom' && model.startsWith('my-box:')) continue
    assert.equal([pair.model, pair.provider], [model, provider], stored)
    compared += 1
  }
  assert.ok(compared > 8_500, String(compared))
})

test('a saved default reads back as the same pair', () => {
  const next = random(4711)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!
  let text =
    '# mine\nmodel:\n  default: "x" # note\ncustom_providers:\n  - {name: my box, model: boxed, base_url: "http://b"}\n'
  let refused = 0
  for (let n = 0; n < 500; n++) {
    const model = Array.from({ length: 1 + Math.floor(next() * 6) }, () => pick(PIECES))
      .join('')
      .trim()
    // A name that ends like a hint without a model is refused as one.
    if (!model || model.includes('\\') || model.endsWith(':')) continue
    const provider = pick(PROVIDERS)
    let config = parse(text)
    const home = {
      ...homeOf({}),
      values: () => config,
      config: () => configOf(config),
      configFile: {
        path: '',
        read: () => config,
        problem: () => null,
        edit: () => assert.unreachable(),
        editAll(edits: readonly (readonly [readonly string[], unknown])[]) {
          for (const edit of edits) text = editYaml(text, edit)
          config = parse(text)
        },
      },
    }
    const wanted = resolveFor(home, `@${provider}:${model}`)
    try {
      setDefaultModel(home, `@${provider}:${model}`)
    } catch {
      // Only a name that begins with @ and goes to a router as it is cannot be written without a hint.
      assert.match(model, /^@[^:]+:./)
      refused += 1
      continue
    }
    assert.not.match(effectiveDefault(home, bare), /^@[^:]+:./)
    const read = resolveFor(home, effectiveDefault(home, bare))
    assert.equal(
      [read.model, read.provider],
      [wanted.model, wanted.provider],
      `${provider} ${model}\n${text}`,
    )
    assert.match(text, /# note/)
  }
  assert.ok(refused < 20, String(refused))
})

test('the same with a real file and a process restart', () => {
  const base = tempDir('resolve')
  const open = () =>
    new Homes({ baseHome: base, agentHome: base, configPath: null, env: {} }, systemClock).base
  writeFileSync(
    join(base, 'config.yaml'),
    'model: {provider: anthropic, default: claude-opus-4.6}\n',
  )
  for (const id of [
    '@openai:gpt-5.4',
    '@ollama:日本/モデル:7b',
    '@openrouter:a/b:free',
    '@my-llm:off',
    '@x-ai:x-ai/grok',
  ]) {
    const wanted = resolveFor(open(), id)
    setDefaultModel(open(), id)
    const read = resolveFor(open(), effectiveDefault(open(), bare))
    assert.equal([read.model, read.provider], [wanted.model, wanted.provider])
    assert.is(modelGroups(open(), bare).default_model, effectiveDefault(open(), bare))
  }
})

test.run()
