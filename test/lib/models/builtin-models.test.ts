/** The built-in lists, and the windows of known families. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { builtinModels, ROUTER_MODELS, STATIC_MODELS } from '../../../lib/models/builtin-models.ts'
import { contextLengthOf } from '../../../lib/models/context-windows.ts'

const test = suite('built-in models')

const COUNTS: Record<string, number> = {
  anthropic: 4,
  openai: 2,
  'openai-codex': 7,
  google: 5,
  gemini: 5,
  deepseek: 2,
  nous: 4,
  zai: 6,
  'kimi-coding': 5,
  minimax: 5,
  copilot: 6,
  'opencode-zen': 35,
  'opencode-go': 7,
  mistralai: 2,
  qwen: 2,
  'x-ai': 1,
}

test('16 providers, 98 entries, 19 in the router’s list', () => {
  const counts = Object.fromEntries(
    Object.entries(STATIC_MODELS).map(([id, models]) => [id, models.length]),
  )
  assert.equal(counts, COUNTS)
  assert.is(
    Object.values(counts).reduce((sum, count) => sum + count, 0),
    98,
  )
  assert.is(ROUTER_MODELS.length, 19)
})

test('ids are unique and every entry has its own label', () => {
  for (const models of [...Object.values(STATIC_MODELS), ROUTER_MODELS]) {
    assert.is(new Set(models.map(({ id }) => id)).size, models.length)
    for (const { id, label } of models) {
      const name = id.slice(id.lastIndexOf('/') + 1)
      if (name !== 'MiniMax-M2.7') assert.is.not(label, name)
      assert.match(label, /^[A-Z]/)
    }
  }
})

const LABELS: [provider: string, id: string, label: string][] = [
  ['openai', 'gpt-5.4-mini', 'GPT-5.4 Mini'],
  ['anthropic', 'claude-opus-4.6', 'Claude Opus 4.6'],
  ['google', 'gemini-3.1-flash-lite-preview', 'Gemini 3.1 Flash Lite Preview'],
  ['zai', 'glm-5-turbo', 'GLM-5 Turbo'],
  ['deepseek', 'deepseek-chat-v3-0324', 'DeepSeek V3'],
  ['deepseek', 'deepseek-reasoner', 'DeepSeek Reasoner'],
  ['openrouter', 'deepseek/deepseek-r1', 'DeepSeek R1'],
  ['openai-codex', 'codex-mini-latest', 'Codex Mini (latest)'],
  ['opencode-go', 'mimo-v2-omni', 'MiMo V2 Omni'],
  ['minimax', 'MiniMax-M2.7-highspeed', 'MiniMax M2.7 Highspeed'],
  ['opencode-zen', 'big-pickle', 'Big Pickle'],
  ['nous', '@nous:openai/gpt-5.4-mini', 'GPT-5.4 Mini (via Nous)'],
]
for (const [provider, id, label] of LABELS)
  test(`${provider} ${id} has the label ${label}`, () =>
    assert.is(builtinModels(provider)?.find(model => model.id === id)?.label, label))

test('finds a list by every alias of its provider', () => {
  const pairs = [
    ['xai', 'x-ai'],
    ['grok', 'x-ai'],
    ['alibaba', 'qwen'],
    ['dashscope', 'qwen'],
    ['google', 'gemini'],
    ['claude', 'anthropic'],
  ] as const
  for (const [asked, key] of pairs) assert.is(builtinModels(asked), STATIC_MODELS[key], asked)
  assert.is(builtinModels('huggingface'), undefined)
  assert.is(builtinModels('constructor'), undefined)
})

test('the table cannot be changed', () => {
  const list = builtinModels('openai') as { id: string; label: string }[]
  assert.throws(() => list.push({ id: 'x', label: 'x' }))
  assert.throws(() => {
    list[0]!.id = 'x'
  })
})

const WINDOWS: [model: string, tokens: number][] = [
  ['Claude-Haiku-4-5', 200_000],
  ['openai/gpt-5.4', 128_000],
  ['gemini-2.5-pro', 1_048_576],
  ['llama3:8b', 131_072],
  ['qwen3-coder', 131_072],
  ['glm-5', 202_752],
  ['kimi-k2.5', 262_144],
  ['nobody-knows', 128_000],
]
for (const [model, tokens] of WINDOWS)
  test(`${model} has a context window of ${tokens}`, () =>
    assert.is(contextLengthOf(model), tokens))

test.run()
