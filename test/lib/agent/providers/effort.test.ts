/** How each effort is said to each server and family, and which efforts are offered. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { offeredEfforts } from '../../../../lib/agent/providers/offered-efforts.ts'
import { toBody } from '../../../../lib/agent/providers/openai-chat.ts'
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
  const {
    model: _,
    messages: __,
    stream: ___,
    stream_options: ____,
    ...fields
  } = toBody(
    {
      endpoint,
      messages: [],
      tools: [],
      signal: new AbortController().signal,
      workspace: '/',
    },
    new Set(),
  )
  return fields
}

const thinking = (type: string, more: object = {}) => ({ thinking: { type, ...more } })
const level = (reasoning_effort: string) => ({ reasoning_effort })
const router = (enabled: boolean, effort?: string) => ({
  reasoning: { enabled, ...(effort && { effort }) },
})
const on = (name: string, isOn: boolean) => ({
  ...thinking(isOn ? 'enabled' : 'disabled'),
  chat_template_kwargs: { [name]: isOn },
})

type Row = [
  where: Partial<ModelEndpoint>,
  said: Partial<Record<Effort | 'default', object>>,
  offered?: Effort[],
]

const DEEPSEEK = { provider: 'deepseek', baseUrl: 'https://api.deepseek.com/v1' }
const KIMI = { provider: 'kimi-coding', baseUrl: 'https://api.moonshot.ai/v1' }
const ZAI = { provider: 'zai', baseUrl: 'https://api.z.ai/api/paas/v4' }
const ALIBABA = {
  provider: 'alibaba',
  baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
}
const GEMINI = {
  provider: 'gemini',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
}
const OPENROUTER = { provider: 'openrouter', baseUrl: 'https://openrouter.ai/api/v1' }
const toggle: Effort[] = ['none', 'high']

const ROWS: Row[] = [
  [
    { ...DEEPSEEK, model: 'deepseek-v4-pro' },
    {
      default: {},
      none: thinking('disabled'),
      minimal: { ...thinking('enabled'), ...level('low') },
      medium: { ...thinking('enabled'), ...level('high') },
      xhigh: { ...thinking('enabled'), ...level('max') },
    },
    ['none', 'low', 'high', 'xhigh'],
  ],
  [
    { ...DEEPSEEK, baseUrl: 'http://127.0.0.1:9/v1', model: 'deepseek-v4-flash' },
    { none: thinking('disabled') },
  ],
  [
    { baseUrl: 'https://api.deepseek.com', model: 'deepseek-chat' },
    { none: thinking('disabled'), high: { ...thinking('enabled'), ...level('high') } },
  ],
  [
    { ...KIMI, model: 'kimi-k2.6' },
    {
      default: thinking('enabled', { keep: 'all' }),
      none: thinking('disabled'),
      high: thinking('enabled', { keep: 'all' }),
    },
    toggle,
  ],
  [
    { ...KIMI, model: 'kimi-k2.5' },
    { default: {}, none: thinking('disabled'), low: thinking('enabled') },
    toggle,
  ],
  [
    { ...KIMI, model: 'kimi-k2.7-code' },
    { none: {}, high: thinking('enabled', { keep: 'all' }) },
    [],
  ],
  [{ ...KIMI, model: 'kimi-k2-thinking' }, { none: {}, high: {} }, []],
  [
    { ...KIMI, model: 'kimi-k3' },
    { default: {}, none: level('low'), medium: level('high'), xhigh: level('max') },
    ['low', 'high', 'xhigh'],
  ],
  [{ ...KIMI, model: 'moonshot-v1-128k' }, { none: {}, high: {} }, []],
  [
    { ...ZAI, model: 'glm-4.7' },
    {
      default: thinking('enabled', { clear_thinking: false }),
      none: thinking('disabled'),
      high: thinking('enabled', { clear_thinking: false }),
    },
    toggle,
  ],
  [
    { ...ZAI, model: 'glm-4.5-air' },
    { none: thinking('disabled'), high: thinking('enabled') },
  ],
  [
    { ...ZAI, model: 'glm-5.2' },
    {
      none: thinking('disabled'),
      low: { ...thinking('enabled', { clear_thinking: false }), ...level('high') },
      xhigh: { ...thinking('enabled', { clear_thinking: false }), ...level('max') },
    },
    ['none', 'high', 'xhigh'],
  ],
  [
    { ...ALIBABA, model: 'qwen3.6-plus' },
    {
      default: {},
      none: { enable_thinking: false },
      low: { enable_thinking: true, thinking_budget: 4_000 },
      xhigh: { enable_thinking: true, thinking_budget: 32_000 },
    },
    ['none', 'low', 'medium', 'high', 'xhigh'],
  ],
  [{ ...ALIBABA, model: 'qwen-plus' }, { none: { enable_thinking: false } }],
  [{ ...ALIBABA, model: 'qwen3-max' }, { none: { enable_thinking: false } }],
  [{ ...ALIBABA, model: 'kimi-k2.5' }, { none: { enable_thinking: false } }],
  [{ ...ALIBABA, model: 'qwen3-235b-a22b-thinking-2507' }, { none: {}, high: {} }, []],
  [{ ...ALIBABA, model: 'qwen3-coder-plus' }, { none: {}, high: {} }, []],
  [
    { ...GEMINI, model: 'gemini-2.5-flash' },
    { default: {}, none: level('none'), minimal: level('low'), xhigh: level('high') },
    ['none', 'low', 'medium', 'high'],
  ],
  [
    { ...GEMINI, model: 'gemini-2.5-pro' },
    { none: level('low'), high: level('high') },
    ['low', 'medium', 'high'],
  ],
  [
    { ...GEMINI, model: 'gemini-3.1-pro-preview' },
    { none: level('low'), xhigh: level('high') },
  ],
  [
    { ...GEMINI, model: 'gemini-3-flash-preview' },
    { none: level('minimal'), low: level('low') },
    ['minimal', 'low', 'medium', 'high'],
  ],
  [
    { provider: 'minimax', baseUrl: 'https://api.minimax.io/v1', model: 'MiniMax-M3' },
    { none: thinking('disabled'), high: thinking('adaptive') },
    toggle,
  ],
  [
    { provider: 'minimax', baseUrl: 'https://api.minimax.io/v1', model: 'MiniMax-M2.7' },
    { none: {}, high: {} },
    [],
  ],
  [
    { provider: 'xiaomi', baseUrl: 'https://api.xiaomimimo.com/v1', model: 'mimo-v2-flash' },
    { none: thinking('disabled'), high: thinking('enabled') },
  ],
  [
    { baseUrl: 'https://api.groq.com/openai/v1', model: 'openai/gpt-oss-120b' },
    { none: level('low'), medium: level('medium'), xhigh: level('high') },
  ],
  [
    { baseUrl: 'https://api.groq.com/openai/v1', model: 'qwen/qwen3-32b' },
    { none: level('none'), high: level('default') },
    toggle,
  ],
  [
    { baseUrl: 'https://api.groq.com/openai/v1', model: 'llama-3.3-70b-versatile' },
    { none: {}, high: {} },
    [],
  ],
  [
    { baseUrl: 'https://api.cerebras.ai/v1', model: 'zai-glm-4.7' },
    { none: { disable_reasoning: true }, high: { disable_reasoning: false } },
  ],
  [
    { baseUrl: 'https://api.together.xyz/v1', model: 'moonshotai/Kimi-K2.6' },
    { none: { reasoning: { enabled: false } }, high: { reasoning: { enabled: true } } },
  ],
  [
    { provider: 'ollama', baseUrl: 'http://127.0.0.1:11434/v1', model: 'qwen3:8b' },
    { none: level('none'), xhigh: level('high') },
  ],
  [
    { provider: 'mistralai', baseUrl: 'https://api.mistral.ai/v1', model: 'magistral-medium' },
    { none: {}, high: {} },
    [],
  ],
  [
    { baseUrl: 'http://gpu-box:8000/v1', model: 'Qwen/Qwen3.6-35B-A3B' },
    { default: {}, none: on('enable_thinking', false), high: on('enable_thinking', true) },
    toggle,
  ],
  [
    { baseUrl: 'http://gpu-box:8000/v1', model: 'Qwen/Qwen3-Coder-30B-A3B-Instruct' },
    { none: {}, high: {} },
    [],
  ],
  [
    { baseUrl: 'http://gpu-box:8000/v1', model: 'zai-org/GLM-4.7' },
    { none: on('enable_thinking', false) },
  ],
  [
    { baseUrl: 'http://gpu-box:8000/v1', model: 'deepseek-ai/DeepSeek-V3.2' },
    { none: on('thinking', false), high: { ...on('thinking', true), ...level('high') } },
  ],
  [
    { baseUrl: 'https://api.openai.com/v1', model: 'gpt-5.4' },
    { default: {}, none: level('none'), xhigh: level('xhigh') },
    ['none', 'low', 'medium', 'high', 'xhigh'],
  ],
  [
    { baseUrl: 'https://api.openai.com/v1', model: 'gpt-5' },
    { none: level('minimal'), xhigh: level('high') },
  ],
  [{ baseUrl: 'https://api.openai.com/v1', model: 'gpt-4o' }, { none: {}, high: {} }, []],
  [{ model: 'unknown' }, { default: {}, none: {}, low: level('low'), xhigh: level('high') }],
  [
    { ...OPENROUTER, model: 'openai/gpt-5' },
    { default: router(true, 'medium'), none: router(false), xhigh: router(true, 'xhigh') },
  ],
  ...[
    'google/gemini-3-pro-preview',
    'google/gemini-2.5-flash',
    'moonshotai/kimi-k2.6',
    'moonshotai/kimi-k2-thinking',
    'z-ai/glm-4.7',
    'minimax/minimax-m2.5',
    'qwen/qwen3.6-plus',
    'qwen/qwen-plus',
    'deepseek/deepseek-v4-pro',
    'x-ai/grok-4.3',
    'anthropic/claude-opus-4.6',
    'nvidia/nemotron-3-super',
    'xiaomi/mimo-v2-flash',
  ].map(
    (model): Row => [
      { ...OPENROUTER, model },
      { default: router(true, 'medium'), none: router(false), high: router(true, 'high') },
    ],
  ),
  [
    { ...OPENROUTER, model: 'somebody/new-thinker' },
    { default: {}, none: router(false), high: router(true, 'high') },
  ],
  ...['meta-llama/llama-3.3-70b', 'google/gemma-3-27b', 'openai/gpt-4o', 'cohere/command-a'].map(
    (model): Row => [{ ...OPENROUTER, model }, { default: {}, none: {}, high: {} }, []],
  ),
  [
    { provider: 'nous', model: 'openai/gpt-5' },
    { none: {}, high: router(true, 'high') },
  ],
]

const test = suite('effort')

for (const [where, wanted, offered] of ROWS) {
  const name = `${where.provider ?? ''} ${where.baseUrl ?? ''} ${where.model}`
  for (const [effort, fields] of Object.entries(wanted))
    test(`${effort} for ${name}`, () =>
      assert.equal(
        said(at({ ...where, ...(effort !== 'default' && { effort: effort as Effort }) })),
        fields,
      ))
  if (offered) test(`offered for ${name}`, () => assert.equal(offeredEfforts(at(where)), offered))
}

const OFFERED: [where: Partial<ModelEndpoint>, offered: Effort[]][] = [
  [
    { apiMode: 'anthropic_messages', model: 'claude-opus-4-6' },
    ['none', 'low', 'medium', 'high', 'xhigh'],
  ],
  [{ apiMode: 'anthropic_messages', model: 'claude-haiku-4-5' }, []],
  [{ apiMode: 'anthropic_messages', model: 'claude-opus-5-5' }, ['low', 'medium', 'high', 'xhigh']],
  [{ apiMode: 'anthropic_messages', model: 'deepseek-v4-pro' }, ['none', 'low', 'high', 'xhigh']],
  [{ apiMode: 'anthropic_messages', model: 'MiniMax-M2.7' }, []],
  [{ apiMode: 'codex_responses', model: 'gpt-5.4' }, ['none', 'low', 'medium', 'high', 'xhigh']],
  [{ apiMode: 'codex_responses', model: 'gpt-4.1' }, []],
  [{ apiMode: 'codex_responses', model: 'deepseek-v4-pro' }, ['none', 'low', 'high', 'xhigh']],
  [{ apiMode: 'ollama_chat', model: 'qwen3:8b' }, toggle],
  [{ apiMode: 'ollama_chat', model: 'gpt-oss:20b' }, ['low', 'medium', 'high']],
  [{ apiMode: 'acp', model: 'x' }, []],
]
for (const [where, offered] of OFFERED)
  test(`offered for ${where.apiMode} ${where.model}`, () =>
    assert.equal(offeredEfforts(at(where)), offered))

test.run()
