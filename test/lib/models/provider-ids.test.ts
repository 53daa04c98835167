/** Every spelling of a provider's id, and the names people read. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { toFamily, toProviderId, toSlug } from '../../../lib/models/provider-ids.ts'
import { displayName } from '../../../lib/models/providers.ts'

const test = suite('provider ids')

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
}

for (const [id, names] of Object.entries(SPELLINGS)) {
  test(`${id}: ${names}`, () => {
    for (const name of [id, ...names.split(' ')]) {
      assert.is(toProviderId(name), id)
      assert.is(toProviderId(`  ${name.toUpperCase()} `), id)
    }
  })
}

test('unknown names pass through in lower case', () => {
  assert.is(toProviderId(' My-LLM '), 'my-llm')
  assert.is(toProviderId('constructor'), 'constructor')
  assert.is(toProviderId(''), '')
})

const FAMILIES: Record<string, string> = {
  claude: 'anthropic',
  gpt: 'openai',
  gemini: 'google',
  'openai-codex': 'openai',
  'openai-azure': 'openai',
  'anthropic-eu': 'anthropic',
  'claude-x': 'anthropic',
  'google-vertex': 'google',
  'gemini-2': 'google',
  'openrouter-eu': 'openrouter',
  'custom:mine': 'custom',
  zai: '',
  deepseek: '',
  toString: '',
  '': '',
}
for (const [name, family] of Object.entries(FAMILIES))
  test(`family of "${name}"`, () => assert.is(toFamily(name), family))

test('slugs are lower case with hyphens', () => assert.is(toSlug(' My Own LLM '), 'my-own-llm'))

const NAMES: Record<string, string> = {
  nous: 'Nous Portal',
  openrouter: 'OpenRouter',
  anthropic: 'Anthropic',
  openai: 'OpenAI',
  'openai-codex': 'OpenAI Codex',
  copilot: 'GitHub Copilot',
  zai: 'Z.AI / GLM',
  'kimi-coding': 'Kimi / Moonshot',
  deepseek: 'DeepSeek',
  minimax: 'MiniMax',
  google: 'Google',
  'meta-llama': 'Meta Llama',
  huggingface: 'HuggingFace',
  alibaba: 'Alibaba',
  ollama: 'Ollama',
  'ollama-cloud': 'Ollama Cloud',
  'opencode-zen': 'OpenCode Zen',
  'opencode-go': 'OpenCode Go',
  lmstudio: 'LM Studio',
  mistralai: 'Mistral',
  qwen: 'Qwen',
  'x-ai': 'xAI',
  gemini: 'Gemini',
  bedrock: 'Bedrock',
  'some-thing': 'Some-Thing',
}
for (const [id, name] of Object.entries(NAMES))
  test(`name of ${id}`, () => assert.is(displayName(id), name))

test.run()
