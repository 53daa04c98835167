/** How each effort is said to each server and family, and which efforts are offered. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { offeredEfforts } from '../../../../lib/agent/providers/offered-efforts.ts'
import { chatCompletions } from '../../../../lib/agent/providers/openai-chat.ts'
import type { ModelEndpoint } from '../../../../lib/agent/types.ts'
import type { Effort } from '../../../../lib/base/efforts.ts'

const at = (extra: Partial<ModelEndpoint>): ModelEndpoint => ({
  provider: 'custom',
  model: 'm',
  apiMode: 'chat_completions',
  baseUrl: 'https://llm.example/v1',
  apiKey: null,
  contextLength: 0,
  ...extra,
})

/** The fields of a request that are about reasoning. */
const said = (endpoint: ModelEndpoint): Record<string, unknown> => {
  const signal = new AbortController().signal
  const request = { endpoint, messages: [], tools: [], signal, workspace: '/' }
  const { model: _, messages: __, ...body } = chatCompletions.body(request, new Set())
  const { stream: ___, stream_options: ____, ...fields } = body
  return fields
}

/** What the words of the table stand for; `=low` is `reasoning_effort: 'low'`, `router:low` OpenRouter's object. */
const WORDS: Record<string, object> = {
  '-': {},
  on: { thinking: { type: 'enabled' } },
  off: { thinking: { type: 'disabled' } },
  adaptive: { thinking: { type: 'adaptive' } },
  'keep-all': { thinking: { type: 'enabled', keep: 'all' } },
  'not-cleared': { thinking: { type: 'enabled', clear_thinking: false } },
  'template:thinking': { chat_template_kwargs: { thinking: true } },
  'template:no-thinking': { chat_template_kwargs: { thinking: false } },
  'template:enable': { chat_template_kwargs: { enable_thinking: true } },
  'template:disable': { chat_template_kwargs: { enable_thinking: false } },
  'budget:none': { enable_thinking: false },
  'budget:4000': { enable_thinking: true, thinking_budget: 4_000 },
  'budget:32000': { enable_thinking: true, thinking_budget: 32_000 },
  'reasoning:on': { reasoning: { enabled: true } },
  'reasoning:off': { reasoning: { enabled: false } },
  'disable:yes': { disable_reasoning: true },
  'disable:no': { disable_reasoning: false },
}
const fieldsOf = (text: string): object =>
  Object.assign(
    {},
    ...text.split(' ').map(word => {
      if (word.startsWith('=')) return { reasoning_effort: word.slice(1) }
      const [, level] = /^router:(.+)/.exec(word) ?? []
      return level ? { reasoning: { enabled: true, effort: level } } : WORDS[word]
    }),
  )

const PLACES: Record<string, Partial<ModelEndpoint>> = {
  deepseek: { provider: 'deepseek', baseUrl: 'https://api.deepseek.com/v1' },
  kimi: { provider: 'kimi-coding', baseUrl: 'https://api.moonshot.ai/v1' },
  zai: { provider: 'zai', baseUrl: 'https://api.z.ai/api/paas/v4' },
  alibaba: { provider: 'alibaba', baseUrl: 'https://dashscope-intl.aliyuncs.com/v1' },
  gemini: {
    provider: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
  },
  openrouter: { provider: 'openrouter', baseUrl: 'https://openrouter.ai/api/v1' },
  minimax: { provider: 'minimax', baseUrl: 'https://api.minimax.io/v1' },
  xiaomi: { provider: 'xiaomi', baseUrl: 'https://api.xiaomimimo.com/v1' },
  mistral: { provider: 'mistralai', baseUrl: 'https://api.mistral.ai/v1' },
  ollama: { provider: 'ollama', baseUrl: 'http://127.0.0.1:11434/v1' },
  nous: { provider: 'nous' },
  groq: { baseUrl: 'https://api.groq.com/openai/v1' },
  cerebras: { baseUrl: 'https://api.cerebras.ai/v1' },
  fireworks: { baseUrl: 'https://api.fireworks.ai/inference/v1' },
  together: { baseUrl: 'https://api.together.xyz/v1' },
  openai: { baseUrl: 'https://api.openai.com/v1' },
  vllm: { baseUrl: 'http://gpu-box:8000/v1' },
  other: {},
}
const TOGGLE = 'none high'
const ALWAYS = 'none - | high -'

/** Place, model, what is said for each effort, and the efforts on offer where they are compared (`none at all`: ''). */
const ROWS: [place: string, model: string, said: string, offered?: string][] = [
  [
    'deepseek',
    'deepseek-v4-pro',
    'default - | none off | minimal on =low | medium on =high | xhigh on =max',
    'none low high xhigh',
  ],
  ['kimi', 'kimi-k2.6', 'default keep-all | none off | high keep-all', TOGGLE],
  ['kimi', 'kimi-k2.5', 'default - | none off | low on', TOGGLE],
  ['kimi', 'kimi-k2.7-code', 'none - | high keep-all', ''],
  ['kimi', 'kimi-k2-thinking', ALWAYS, ''],
  ['kimi', 'kimi-k3', 'default - | none =low | medium =high | xhigh =max', 'low high xhigh'],
  ['kimi', 'moonshot-v1-128k', ALWAYS, ''],
  ['zai', 'glm-4.7', 'default not-cleared | none off | high not-cleared', TOGGLE],
  ['zai', 'glm-4.5-air', 'none off | high on'],
  [
    'zai',
    'glm-5.2',
    'none off | low not-cleared =high | xhigh not-cleared =max',
    'none high xhigh',
  ],
  [
    'alibaba',
    'qwen3.6-plus',
    'default - | none budget:none | low budget:4000 | xhigh budget:32000',
    'none low medium high xhigh',
  ],
  ['alibaba', 'qwen-plus', 'none budget:none'],
  ['alibaba', 'kimi-k2.5', 'none budget:none'],
  ['alibaba', 'qwen3-235b-a22b-thinking-2507', ALWAYS, ''],
  ['alibaba', 'qwen3-coder-plus', ALWAYS, ''],
  [
    'gemini',
    'gemini-2.5-flash',
    'default - | none =none | minimal =low | xhigh =high',
    'none low medium high',
  ],
  ['gemini', 'gemini-2.5-pro', 'none =low | high =high', 'low medium high'],
  ['gemini', 'gemini-3.1-pro-preview', 'none =low | xhigh =high'],
  ['gemini', 'gemini-3-flash-preview', 'none =minimal | low =low', 'minimal low medium high'],
  ['minimax', 'MiniMax-M3', 'none off | high adaptive', TOGGLE],
  ['minimax', 'MiniMax-M2.7', ALWAYS, ''],
  ['xiaomi', 'mimo-v2-flash', 'none off | high on'],
  ['groq', 'openai/gpt-oss-120b', 'none =low | medium =medium | xhigh =high'],
  ['groq', 'qwen/qwen3-32b', 'none =none | high =default', TOGGLE],
  ['groq', 'llama-3.3-70b-versatile', ALWAYS, ''],
  ['cerebras', 'zai-glm-4.7', 'none disable:yes | high disable:no'],
  ['fireworks', 'any', 'none =none | xhigh =high'],
  ['together', 'moonshotai/Kimi-K2.6', 'none reasoning:off | high reasoning:on'],
  ['ollama', 'qwen3:8b', 'none =none | xhigh =high'],
  ['mistral', 'magistral-medium', ALWAYS, ''],
  ['mistral', 'mistral-large-latest', 'none =none | low =high'],
  ['mistral', 'codestral', ALWAYS],
  [
    'vllm',
    'Qwen/Qwen3.6-35B-A3B',
    'default - | none off template:disable | high on template:enable',
    TOGGLE,
  ],
  ['vllm', 'Qwen/Qwen3-Coder-30B-A3B-Instruct', ALWAYS, ''],
  ['vllm', 'zai-org/GLM-4.7', 'none off template:disable'],
  ['vllm', 'gpt-oss-20b', 'none =low | high =high'],
  [
    'vllm',
    'deepseek-ai/DeepSeek-V3.2',
    'none off template:no-thinking | high on template:thinking =high',
  ],
  ['openai', 'gpt-5.4', 'default - | none =none | xhigh =xhigh', 'none low medium high xhigh'],
  ['openai', 'gpt-5', 'none =minimal | xhigh =high'],
  ['openai', 'gpt-4o', ALWAYS, ''],
  ['other', 'unknown', 'default - | none - | low =low | xhigh =high'],
  ...'openai/gpt-5 google/gemini-2.5-flash moonshotai/kimi-k2.6 moonshotai/kimi-k2-thinking z-ai/glm-4.7 minimax/minimax-m2.5 qwen/qwen3.6-plus qwen/qwen-plus deepseek/deepseek-v4-pro x-ai/grok-4.3 anthropic/claude-opus-4.6 nvidia/nemotron-3-super xiaomi/mimo-v2-flash'
    .split(' ')
    .map((model): [string, string, string] => [
      'openrouter',
      model,
      'default router:medium | none reasoning:off | xhigh router:xhigh',
    ]),
  ['openrouter', 'somebody/new-thinker', 'default - | none reasoning:off | high router:high'],
  ...'meta-llama/llama-3.3-70b google/gemma-3-27b openai/gpt-4o cohere/command-a'
    .split(' ')
    .map((model): [string, string, string, string] => [
      'openrouter',
      model,
      'default - | none - | high -',
      '',
    ]),
  ['nous', 'openai/gpt-5', 'none - | high router:high'],
]

const test = suite('effort')

for (const [place, model, rows, offered] of ROWS)
  test(`${place} ${model}`, () => {
    const where = { ...PLACES[place], model }
    for (const row of rows.split(' | ')) {
      const [effort = '', ...words] = row.split(' ')
      const endpoint = at({ ...where, ...(effort !== 'default' && { effort: effort as Effort }) })
      assert.equal(said(endpoint), fieldsOf(words.join(' ')), effort)
    }
    if (offered !== undefined) assert.is(offeredEfforts(at(where)).join(' '), offered)
  })

const OFFERED: [apiMode: ModelEndpoint['apiMode'], model: string, offered: string][] = [
  ['anthropic_messages', 'claude-opus-4-6', 'none low medium high xhigh'],
  ['anthropic_messages', 'claude-haiku-4-5', ''],
  ['anthropic_messages', 'claude-opus-5-5', 'low medium high xhigh'],
  ['anthropic_messages', 'deepseek-v4-pro', 'none low high xhigh'],
  ['anthropic_messages', 'MiniMax-M2.7', ''],
  ['codex_responses', 'gpt-5.4', 'none low medium high xhigh'],
  ['codex_responses', 'gpt-4.1', ''],
  ['codex_responses', 'deepseek-v4-pro', 'none low high xhigh'],
  ['ollama_chat', 'qwen3:8b', TOGGLE],
  ['ollama_chat', 'gpt-oss:20b', 'low medium high'],
  ['acp', 'x', ''],
]
for (const [apiMode, model, offered] of OFFERED)
  test(`offered for ${apiMode} ${model}`, () =>
    assert.is(offeredEfforts(at({ apiMode, model })).join(' '), offered))

test.run()
