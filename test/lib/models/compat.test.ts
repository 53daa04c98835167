/** May a session keep its model? */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compatibleFor, compatibleModel } from '../../../lib/models/compat.ts'
import { bare, homeOf } from './_home.ts'

const test = suite('session-model compatibility')

const groupsOf = (...groups: string[]) =>
  groups.map(text => {
    const [provider_id = '', ...ids] = text.split(' ')
    return { provider: provider_id, provider_id, models: ids.map(id => ({ id, label: id })) }
  })

const KEEP = 'keep'
const DEFAULT = 'default'
type Row = [
  model: string | null,
  active: string | null,
  groups: string[],
  result: string,
  fallback?: string,
]

const TABLE: Record<string, Row[]> = {
  '1: blank means the default and is never stored': [
    [null, 'openai', [], 'blank'],
    ['', 'openai', [], 'blank'],
    ['  ', 'openai', [], 'blank'],
  ],
  '2: no or a many-family active provider leaves bare ids alone': [
    ['gpt-5.4', null, [], KEEP],
    ['anthropic/claude', null, [], KEEP],
    ['gpt-5.4', 'zai', ['zai glm-5'], KEEP],
    ['claude-opus-4.6', 'copilot', ['copilot gpt-5.4'], KEEP],
  ],
  '3: a bare id of another family': [
    ['gpt-5.4', 'anthropic', ['anthropic claude-opus-4.6'], DEFAULT],
    ['claude-opus-4.6', 'openai', ['openai gpt-5.4'], DEFAULT],
    ['gemini-2.5-pro', 'openai-codex', ['openai-codex gpt-5.4'], DEFAULT],
    ['Claude-3', 'gemini', ['gemini gemini-2.5-pro'], DEFAULT],
    ['gpt-5.4', 'custom', ['custom llama3'], DEFAULT],
    ['gpt-oss:20b', 'custom', ['custom gpt-oss:20b'], KEEP],
    ['gpt-5.4', 'anthropic', [], KEEP, ''],
    ['gpt-5.4', 'openai-codex', [], KEEP],
    ['gemini-2.5-pro', 'gemini', [], KEEP],
  ],
  '4: other bare ids': [
    ['llama3:8b', 'anthropic', [], KEEP],
    ['glm-5', 'openai', [], KEEP],
  ],
  '5: an unknown, custom or router prefix': [
    ['meta-llama/llama-4', 'openai', [], KEEP],
    ['custom/x', 'anthropic', [], KEEP],
    ['openrouter/auto', 'anthropic', [], KEEP],
    ['meta-llama/llama-4', 'custom', [], KEEP],
  ],
  '6: a prefix with a group, or a router that carries it': [
    ['anthropic/claude-opus-4.6', 'openai', ['anthropic @anthropic:x'], KEEP],
    ['google/gemini-2.5-pro', 'openai', ['gemini @gemini:x'], KEEP],
    ['anthropic/claude-opus-4.6', 'openai', ['openrouter @openrouter:x'], KEEP],
    ['anthropic/claude-opus-4.6', 'openrouter', ['openrouter x'], KEEP],
    ['anthropic/claude-opus-4.6', 'custom', ['openrouter x'], KEEP],
    ['anthropic/claude-opus-4.6', 'nous', ['nous x'], KEEP],
  ],
  '7, 8: a known prefix that nothing carries': [
    ['anthropic/claude-opus-4.6', 'custom', ['custom llama3'], DEFAULT],
    ['anthropic/claude-opus-4.6', 'openai', ['openai gpt-5.4'], DEFAULT],
    ['openai/gpt-5.4', 'zai', ['zai glm-5'], DEFAULT],
    ['anthropic/claude-opus-4.6', 'openai', ['openai gpt-5.4'], KEEP, ''],
    ['anthropic/claude', 'custom', ['custom anthropic/claude'], KEEP],
    ['openai/gpt-5.4', 'openai', ['openai gpt-5.4'], KEEP],
    ['openai/gpt-5.4', 'openai-codex', ['openai-codex gpt-5.4'], KEEP],
  ],
  'a hint is kept while its provider is in the catalog': [
    ['@openai:gpt-5.4', 'anthropic', ['openai @openai:x'], KEEP],
    ['@grok:grok-4.20', 'anthropic', ['xai @xai:x'], KEEP],
    ['@anthropic:x', 'anthropic', [], KEEP],
    ['@openai:gpt-5.4', 'anthropic', ['anthropic x'], DEFAULT],
    ['@openai:gpt-5.4', 'anthropic', [], KEEP, ''],
    ['@custom:box:x', 'anthropic', ['custom:box @custom:box:x'], KEEP],
    ['@custom:gone:x', 'anthropic', ['custom:box @custom:box:x'], DEFAULT],
    ['@demo:demo', 'anthropic', [], KEEP],
  ],
}

for (const [name, rows] of Object.entries(TABLE)) {
  test(name, () => {
    for (const [model, active, groups, result, fallback = 'the-default'] of rows) {
      const catalog = {
        active,
        defaultModel: fallback,
        groups: groupsOf(...groups),
        custom: [{ slug: 'box' }],
      }
      const expected = {
        keep: { model, changed: false },
        default: { model: fallback, changed: true },
        blank: { model: fallback, changed: false },
      }[result]
      assert.equal(compatibleModel(model, catalog), expected, `${model} on ${active}`)
    }
  })
}

test('the demo’s model does not apply once there is a provider', () => {
  const groups = groupsOf('openai gpt-5.4')
  const after = { active: null, defaultModel: 'gpt-5.4', groups }
  assert.equal(compatibleModel('demo', after), { model: 'gpt-5.4', changed: true })
  assert.equal(compatibleModel('demo', { ...after, defaultModel: '' }), {
    model: '',
    changed: false,
  })
  assert.equal(compatibleModel('demo', { ...after, groups: groupsOf('demo demo') }), {
    model: 'demo',
    changed: false,
  })
  assert.equal(compatibleModel('demo', { ...after, groups: groupsOf('custom demo') }), {
    model: 'demo',
    changed: false,
  })
})

test('every model in the list of a home is compatible', () => {
  const home = homeOf({
    config: {
      model: { provider: 'anthropic', default: 'claude-opus-4.6' },
      custom_providers: [{ name: 'My Box', model: 'gpt-local' }],
    },
    env: { OPENAI_API_KEY: 'sk-test' },
  })
  for (const model of [
    '@openai:gpt-5.4',
    'claude-sonnet-4.6',
    '@custom:my-box:gpt-local',
    'openai/gpt-5.4',
  ])
    assert.equal(compatibleFor(home, bare, model), { model, changed: false })
  assert.equal(compatibleFor(home, bare, '@zai:glm-5'), { model: 'claude-opus-4.6', changed: true })
  assert.equal(compatibleFor(home, bare, null), { model: 'claude-opus-4.6', changed: false })
})

test.run()
