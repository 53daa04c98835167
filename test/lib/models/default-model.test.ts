/** The default model: where it comes from, and what choosing one writes into config.yaml. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../lib/base/clock.ts'
import { UserError } from '../../../lib/errors.ts'
import {
  migrateDefaultModel,
  effectiveDefault,
  requireServed,
  setDefaultModel,
} from '../../../lib/models/default-model.ts'
import { configureProvider } from '../../../lib/models/set-provider.ts'
import { modelGroups } from '../../../lib/models/model-groups.ts'
import { resolveFor } from '../../../lib/models/resolve.ts'
import { resolveEndpoint } from '../../../lib/models/endpoint.ts'
import {
  parseDisplay,
  readReasoning,
  parseEffort,
  saveEffort,
  saveShowReasoning,
} from '../../../lib/models/reasoning.ts'
import { Homes } from '../../../lib/profiles/homes.ts'
import { bare, homeOf } from './_home.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite<{ base: string }>('default model')
test.before.each(context => {
  context.base = tempDir('default')
})

const open = (base: string, text?: string, env: Record<string, string> = {}) => {
  if (text !== undefined) writeFileSync(join(base, 'config.yaml'), text)
  return new Homes({ baseHome: base, agentHome: base, configPath: null, env }, systemClock).base
}
const written = (base: string) => readFileSync(join(base, 'config.yaml'), 'utf8')
const isInvalid = (error: unknown) => error instanceof UserError && error.kind === 'invalid'

test('rejects invalid model ids and writes nothing', ({ base }) => {
  const home = open(base, 'a: 1\n')
  const hints = ['@openai:', '@openai: ', '@custom:box:', '@:m', '@:', '@', ' @ ', '@@', '@ x']
  const odd = ['', '  ', 'a\nb', 'a\0b', 'a\u2028b', '\ud800', 'x'.repeat(501)]
  for (const id of [...hints, '@deepseek', '@x:', ...odd])
    assert.throws(() => setDefaultModel(home, id), isInvalid, JSON.stringify(id))
  assert.is(written(base), 'a: 1\n')
})

test('a hint of a provider that is neither built in nor configured is refused', ({ base }) => {
  const home = open(
    base,
    'model: {provider: other, default: m}\ncustom_providers:\n  - {name: Box, base_url: http://127.0.0.1:9/v1}\nproviders:\n  house: {base_url: http://127.0.0.1:9/v1}\n',
  )
  for (const id of ['@nosuchprovider:foo', '@opnai:gpt-5.4', '@custom-box:foo'])
    assert.throws(() => requireServed(home, id), isInvalid, id)
  for (const id of ['@anthropic:x', '@claude:x', '@custom:box:x', '@house:x', '@other:x', 'foo/x'])
    requireServed(home, id)
})

test('a broken config.yaml is not changed', ({ base }) => {
  const home = open(base, 'model: {\n')
  assert.throws(() => setDefaultModel(home, 'x'), /config\.yaml cannot be read: line/)
  assert.throws(() => migrateDefaultModel(home, 'x'), /config\.yaml cannot be read: line/)
  assert.is(written(base), 'model: {\n')
})

const ORDER: [
  config: Record<string, unknown>,
  webui: string,
  override: string,
  expected: string,
][] = [
  [{ model: { default: 'a' } }, 'b', 'c', 'a'],
  [{ model: 'a' }, 'b', 'c', 'a'],
  [{ model: { model: 'a' } }, 'b', 'c', 'a'],
  [{ model: { default: '', model: 'a' } }, 'b', 'c', 'a'],
  [{ model: '' }, 'b', 'c', 'b'],
  [{ model: { provider: 'openai' } }, '', 'c', 'c'],
  [{ model: null }, '', '', ''],
  [{}, ' ', ' ', ''],
  [{ model: { default: 4.2 } }, '', '', '4.2'],
]
test('precedence: configuration, the service’s variable, general variables, none', () => {
  for (const [config, defaultModel, modelOverride, expected] of ORDER)
    assert.is(effectiveDefault(homeOf({ config }), { defaultModel, modelOverride }), expected)
})

const WRITES: [name: string, before: string, id: string, answer: string, after: string][] = [
  [
    'the sample of contract C.5',
    '',
    '@openai:gpt-5.4',
    'gpt-5.4',
    'model:\n  default: gpt-5.4\n  provider: openai\n  base_url: https://api.openai.com/v1\n',
  ],
  ['no provider known', '', 'gpt-5.4', 'gpt-5.4', 'model:\n  default: gpt-5.4\n'],
  [
    'a plain string becomes a mapping',
    'model: old # mine\nz: 1\n',
    'new',
    'new',
    'model:\n  default: new\nz: 1\n',
  ],
  [
    'the same provider keeps its address',
    'model: {provider: openai, base_url: http://h/v1}\n',
    '@openai:x',
    'x',
    'model: {provider: openai, base_url: http://h/v1, default: x}\n',
  ],
  [
    'the own prefix comes off',
    'model:\n  provider: openai # c\n',
    'openai/gpt-5.4',
    'gpt-5.4',
    'model:\n  provider: openai # c\n  default: gpt-5.4\n',
  ],
  [
    'another maker goes to the router',
    'model:\n  provider: openai\n  base_url: http://h\n',
    'anthropic/x',
    'anthropic/x',
    'model:\n  provider: openrouter\n  default: anthropic/x\nproviders:\n  openai:\n    base_url: http://h\n',
  ],
  [
    'a named endpoint leaves the address',
    'model:\n  provider: openai\n  base_url: http://h\n',
    '@custom:box:m',
    'm',
    'model:\n  provider: custom:box\n  base_url: http://h\n  default: m\nproviders:\n  openai:\n    base_url: http://h\n',
  ],
  [
    'a named endpoint’s own model brings its address',
    'custom_providers:\n  - {name: Box, model: m, base_url: "http://b/"}\n',
    'm',
    'm',
    'custom_providers:\n  - {name: Box, model: m, base_url: "http://b/"}\nmodel:\n  default: m\n  provider: custom:box\n  base_url: http://b\n',
  ],
  [
    'the old provider’s key moves to its own place',
    'model:\n  provider: openai\n  api_key: k-123456 # mine\n',
    '@zai:glm-5',
    'glm-5',
    'model:\n  provider: zai\n  default: glm-5\nproviders:\n  openai:\n    api_key: k-123456\n',
  ],
  [
    'a maker’s name as the model’s own',
    'model: {provider: zai}\n',
    '@openai:openai/x',
    'openai/openai/x',
    'model: {provider: openai, default: openai/openai/x, base_url: https://api.openai.com/v1}\n',
  ],
]
for (const [name, before, id, answer, after] of WRITES) {
  test(`writes the default: ${name}`, ({ base }) => {
    const text =
      before.includes('custom_providers') || !id.startsWith('@custom')
        ? before
        : `custom_providers: [{name: box}]\n${before}`
    const expected = text === before ? after : `custom_providers: [{name: box}]\n${after}`
    assert.is(setDefaultModel(open(base, text), id), answer)
    assert.is(written(base), expected)
  })
}

/** From an endpoint of one's own to another provider and back: what is called is the same as before. */
const ENDPOINTS: [name: string, config: string, back: string][] = [
  [
    'address and key',
    '{provider: custom, base_url: http://10.0.0.1:1234/v1, api_key: sk-of-the-endpoint, default: m}',
    '@custom:m',
  ],
  ['an address alone', '{base_url: http://10.0.0.1:1234/v1, default: m}', '@custom:m'],
  [
    'another wire format',
    '{provider: custom, base_url: http://10.0.0.1:1234/v1, api_key: sk-of-the-endpoint, api_mode: anthropic_messages, default: org/m}',
    '@custom:org/m',
  ],
  [
    'a window',
    '{provider: custom, base_url: http://10.0.0.1:1234/v1, default: m, context_length: 12345}',
    '@custom:m',
  ],
  [
    'a local server',
    '{provider: ollama, base_url: http://10.0.0.1:11434/v1, default: m}',
    '@ollama:m',
  ],
  [
    'the older key',
    '{provider: custom, base_url: http://10.0.0.1:1234/v1, api: sk-of-the-endpoint, default: m}',
    '@custom:m',
  ],
]
const WAYS: [name: string, change: (home: ReturnType<typeof open>) => void][] = [
  ['a chosen model', home => void setDefaultModel(home, '@anthropic:claude-opus-4.6')],
  [
    'the set-up',
    home =>
      configureProvider(home, { provider: 'anthropic', model: 'claude-opus-4.6', baseUrl: null }),
  ],
  [
    'two others in turn',
    home => {
      setDefaultModel(home, '@zai:glm-5')
      setDefaultModel(home, '@anthropic:claude-opus-4.6')
    },
  ],
]
for (const [what, config, back] of ENDPOINTS)
  for (const [way, change] of WAYS)
    test(`selecting another model and back keeps the endpoint: ${what}, by ${way}`, ({ base }) => {
      const home = open(base, `model: ${config}\n`, {
        ANTHROPIC_API_KEY: 'sk-ant-1234',
        GLM_API_KEY: 'sk-zai-1234',
      })
      const call = () => resolveEndpoint(home, bare, resolveFor(home, ''))
      const before = call()
      change(home)
      const other = call()
      assert.equal(
        [other.provider, other.apiKey, other.baseUrl],
        ['anthropic', 'sk-ant-1234', 'https://api.anthropic.com'],
      )
      assert.is(other.apiMode, 'anthropic_messages')
      const offered = modelGroups(home, bare).groups.flatMap(({ models }) =>
        models.map(({ id }) => id),
      )
      assert.ok(offered.includes(back), `${back} is not on offer: ${offered.slice(0, 5)}`)
      setDefaultModel(home, back)
      assert.equal(call(), before)
      change(home)
      setDefaultModel(home, back)
      assert.equal(call(), before, 'and once more')
    })

test('a second endpoint does not replace the first: both can be called', ({ base }) => {
  const home = open(
    base,
    'model: {provider: custom, base_url: http://10.0.0.1/v1, api_key: sk-of-one, default: one}\n',
  )
  configureProvider(home, {
    provider: 'custom',
    model: 'two',
    baseUrl: 'http://10.0.0.2/v1',
    apiKey: 'sk-of-two',
  })
  const call = (id: string) => {
    const { baseUrl, apiKey, model } = resolveEndpoint(home, bare, resolveFor(home, id))
    return [baseUrl, apiKey, model]
  }
  assert.equal(call(''), ['http://10.0.0.2/v1', 'sk-of-two', 'two'])
  assert.equal(call('@custom:10.0.0.1:one'), ['http://10.0.0.1/v1', 'sk-of-one', 'one'])
})

test('adopts an old default of the settings only in a home without one', ({ base }) => {
  migrateDefaultModel(open(base, '# mine\n'), ' old ')
  assert.is(written(base), '# mine\nmodel:\n  default: old\n')
  migrateDefaultModel(open(base), 'other')
  assert.is(written(base), '# mine\nmodel:\n  default: old\n')
  migrateDefaultModel(open(base, 'model: kept\n'), 'other')
  assert.is(written(base), 'model: kept\n')
  migrateDefaultModel(open(base, 'model:\n  provider: zai\n'), '')
  assert.is(written(base), 'model:\n  provider: zai\n')
})

test('an old default with a hint becomes a provider and a name that the command line can read', ({
  base,
}) => {
  for (const [old, provider, name] of [
    ['@deepseek:old-model', 'deepseek', 'old-model'],
    ['@openrouter:anthropic/claude-opus-4.6', 'openrouter', 'anthropic/claude-opus-4.6'],
    ['@ollama:llama3:8b', 'ollama', 'llama3:8b'],
  ] as const) {
    migrateDefaultModel(open(base, '# mine\n'), old)
    assert.not.match(written(base), /@/)
    assert.match(written(base), `provider: ${provider}`)
    assert.match(written(base), `default: ${name}`)
  }
  for (const old of ['@', '@deepseek:', '@:x', '@ x']) {
    migrateDefaultModel(open(base, '# mine\n'), old)
    assert.is(written(base), '# mine\n', old)
  }
})

test('reasoning: the accepted values and the file they are written to', ({ base }) => {
  const home = open(base, 'agent:\n  max_turns: 5 # five\n')
  assert.equal(readReasoning(home), { show_reasoning: true, reasoning_effort: '' })
  for (const effort of ['ultra', '', null, 5]) assert.throws(() => parseEffort(effort), isInvalid)
  for (const display of ['maybe', '', {}, [], 2])
    assert.throws(() => parseDisplay(display), isInvalid)
  for (const word of ['show', 'ON', ' true ', '1', 1, true]) assert.is(parseDisplay(word), true)
  for (const word of ['hide', 'Off', 'false', '0', 0, false]) assert.is(parseDisplay(word), false)
  saveEffort(home, parseEffort(' HIGH '))
  saveShowReasoning(home, false)
  assert.equal(readReasoning(home), { show_reasoning: false, reasoning_effort: 'high' })
  assert.is(
    written(base),
    'agent:\n  max_turns: 5 # five\n  reasoning_effort: high\ndisplay:\n  show_reasoning: false\n',
  )
  assert.equal(
    readReasoning(open(base, 'display: {show_reasoning: off}\nagent: {reasoning_effort: XHigh}\n')),
    { show_reasoning: false, reasoning_effort: 'xhigh' },
  )
  assert.equal(readReasoning(open(base, 'display: 5\nagent: [x]\n')), {
    show_reasoning: true,
    reasoning_effort: '',
  })
})

test.run()
