/** The table of providers: ids under every spelling, names, built-in models, issuers, windows of known families. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { builtinModels } from '../../../lib/models/builtin-models.ts'
import { contextLengthOf } from '../../../lib/models/context-windows.ts'
import { toFamily, toProviderId, toSlug } from '../../../lib/models/provider-ids.ts'
import { displayName, PROVIDERS } from '../../../lib/models/providers.ts'

const test = suite('providers')

/** As other programs and the contract spell them. */
const SPELLINGS: Record<string, string> = {
  zai: 'glm z-ai z.ai zhipu',
  copilot: 'github github-copilot github-models github-model',
  'copilot-acp': 'github-copilot-acp copilot-acp-agent',
  gemini: 'google google-gemini google-ai-studio',
  'kimi-coding': 'kimi moonshot',
  'minimax-cn': 'minimax-china minimax_cn',
  anthropic: 'claude claude-code',
  deepseek: 'deep-seek',
  'opencode-zen': 'opencode zen',
  'opencode-go': 'go opencode-go-sub',
  xai: 'grok x-ai x.ai',
  bedrock: 'aws aws-bedrock amazon amazon-bedrock',
  alibaba: 'qwen aliyun dashscope alibaba-cloud',
  'qwen-oauth': 'qwen-portal qwen-cli',
  'ai-gateway': 'aigateway vercel vercel-ai-gateway',
  kilocode: 'kilo kilo-code kilo-gateway',
  huggingface: 'hf hugging-face huggingface-hub',
  nvidia: 'nim nvidia-nim build-nvidia nemotron',
  xiaomi: 'mimo xiaomi-mimo',
  custom: 'local',
  'my-llm': 'My-LLM',
  constructor: 'constructor',
}
test('a provider under any spelling', () => {
  for (const [id, names] of Object.entries(SPELLINGS))
    for (const name of [id, ...names.split(' ')]) {
      assert.is(toProviderId(name), id)
      assert.is(toProviderId(`  ${name.toUpperCase()} `), id)
    }
  assert.is(toSlug(' My Own LLM '), 'my-own-llm')
})

const FAMILIES = {
  anthropic: 'claude anthropic-eu claude-x',
  openai: 'gpt openai-codex openai-azure',
  google: 'gemini google-vertex gemini-2',
  openrouter: 'openrouter-eu',
  custom: 'custom:mine',
  '': ' zai deepseek toString',
}
test('families', () => {
  for (const [family, names] of Object.entries(FAMILIES))
    for (const name of names.split(' ')) assert.is(toFamily(name), family, name)
})

const NAMES =
  'nous Nous Portal; openrouter OpenRouter; anthropic Anthropic; openai OpenAI; openai-codex OpenAI Codex; copilot GitHub Copilot; zai Z.AI / GLM; kimi-coding Kimi / Moonshot; deepseek DeepSeek; minimax MiniMax; google Google; meta-llama Meta Llama; huggingface HuggingFace; alibaba Alibaba; ollama Ollama; ollama-cloud Ollama Cloud; opencode-zen OpenCode Zen; opencode-go OpenCode Go; lmstudio LM Studio; mistralai Mistral; qwen Qwen; x-ai xAI; gemini Gemini; bedrock Bedrock; some-thing Some-Thing'
test('names', () => {
  for (const row of NAMES.split('; ')) {
    const [id = '', ...name] = row.split(' ')
    assert.is(displayName(id), name.join(' '))
  }
})

const LABELS: [provider: string, count: number, id: string, label: string][] = [
  ['anthropic', 4, 'claude-opus-4.6', 'Claude Opus 4.6'],
  ['claude', 4, 'claude-haiku-4-5', 'Claude Haiku 4.5'],
  ['openai', 2, 'gpt-5.4-mini', 'GPT-5.4 Mini'],
  ['openai-codex', 7, 'codex-mini-latest', 'Codex Mini (latest)'],
  ['google', 5, 'gemini-3.1-flash-lite-preview', 'Gemini 3.1 Flash Lite Preview'],
  ['gemini', 5, 'gemini-2.5-pro', 'Gemini 2.5 Pro'],
  ['deepseek', 2, 'deepseek-chat-v3-0324', 'DeepSeek V3'],
  ['deepseek', 2, 'deepseek-reasoner', 'DeepSeek Reasoner'],
  ['openrouter', 19, 'deepseek/deepseek-r1', 'DeepSeek R1'],
  ['nous', 4, '@nous:openai/gpt-5.4-mini', 'GPT-5.4 Mini (via Nous)'],
  ['zai', 6, 'glm-5-turbo', 'GLM-5 Turbo'],
  ['kimi-coding', 5, 'moonshot-v1-8k', 'Moonshot V1 8K'],
  ['minimax', 5, 'MiniMax-M2.7-highspeed', 'MiniMax M2.7 Highspeed'],
  ['copilot', 6, 'gpt-4o', 'GPT-4o'],
  ['opencode-zen', 35, 'claude-3-5-haiku', 'Claude 3.5 Haiku'],
  ['opencode-go', 7, 'mimo-v2-omni', 'MiMo V2 Omni'],
  ['mistralai', 2, 'mistral-large-latest', 'Mistral Large (latest)'],
  ['qwen', 2, 'qwen3.6-plus', 'Qwen3.6 Plus'],
  ['x-ai', 1, 'grok-4.20', 'Grok 4.20'],
]
test('built-in models and their labels', () => {
  for (const [provider, count, id, label] of LABELS) {
    const models = builtinModels(provider) ?? []
    assert.is(models.length, count, provider)
    assert.is(new Set(models.map(model => model.id)).size, count, provider)
    assert.is(models.find(model => model.id === id)?.label, label)
    assert.ok(Object.isFrozen(models) && models.every(Object.isFrozen))
  }
  for (const none of ['huggingface', 'constructor']) assert.is(builtinModels(none), undefined)
})

test('refresh tokens go over https to hosts of the provider only', () => {
  const owned = [...PROVIDERS].flatMap(([id, { issuer }]) =>
    issuer ? [[id, issuer.tokenUrl]] : [],
  )
  assert.equal(owned, [
    ['nous', 'https://portal.nousresearch.com/api/oauth/token'],
    ['openai-codex', 'https://auth.openai.com/oauth/token'],
  ])
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
test('windows of families', () => {
  for (const [model, tokens] of WINDOWS) assert.is(contextLengthOf(model), tokens, model)
})

test.run()
