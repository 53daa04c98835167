/** The table of providers: one row each. Data. */
import type { HttpApiMode } from '../agent/types.ts'

/** `per_model`: the model's name decides (`wireOf` in endpoint.ts). `process`: an external program. */
export type WireMode = HttpApiMode | 'per_model' | 'process'

/** Where a sign-in of auth.json may be renewed. docs/sign-in.md has the reasons for each provider. */
export type Issuer = {
  /** The only address that ever gets a refresh token of this provider. */
  readonly tokenUrl: string
  /** Carries the refresh token in addition to the form, as this issuer expects. */
  readonly header?: string
}

export type ProviderFacts = {
  /** Display name, where title case would be wrong. */
  readonly name?: string
  /** Further spellings of the id, those of the host agent's command line included. */
  readonly aliases?: readonly string[]
  /** Variables that may hold the key; the first usable one wins. */
  readonly keys: readonly string[]
  /** The one of `keys` that a new key is saved to, if not the first. */
  readonly savedAs?: string
  /** Those of `keys` that often exist for other purposes. They never make the provider appear in the list. */
  readonly ambient?: readonly string[]
  readonly baseUrl: string
  readonly baseUrlEnv?: string
  /** Further hosts of the provider, including subdomains. Its keys may be sent there. */
  readonly hosts?: readonly string[]
  readonly wire?: WireMode
  /** Uses OAuth sign-in through the command line instead of a key. */
  readonly oauth?: true
  /** Absent for a sign-in that no other program may renew: an expired token needs a new one. */
  readonly issuer?: Issuer
  /** A program on this machine that needs no key. */
  readonly keyless?: true
  /** Serves models of many makers; its model ids may contain slashes. */
  readonly isAggregator?: true
  /** The page of the provider where a key is created. */
  readonly keyPage?: string
  /** The address of its model list, asked when the configured address has none; null: there is nothing to fetch. */
  readonly listUrl?: string | null
  /** Built-in models, for when no list can be fetched. */
  readonly models?: string
  /** The prefix of its models at OpenRouter, if not the id. */
  readonly maker?: string
  /** Its id in the table of prices, if it sets its own prices. */
  readonly prices?: string
  /** The model that onboarding offers first. */
  readonly firstModel?: string
}

/** In the order in which a provider is chosen when none is configured. */
const FACTS: Readonly<Record<string, ProviderFacts>> = {
  openai: {
    name: 'OpenAI',
    keys: ['OPENAI_API_KEY'],
    baseUrl: 'https://api.openai.com/v1',
    baseUrlEnv: 'OPENAI_BASE_URL',
    hosts: ['openai.com', 'openai.azure.com'],
    keyPage: 'https://platform.openai.com/api-keys',
    prices: 'openai',
    firstModel: 'gpt-4o',
    models: 'gpt-5.4-mini gpt-5.4',
  },
  openrouter: {
    name: 'OpenRouter',
    keys: ['OPENROUTER_API_KEY'],
    baseUrl: 'https://openrouter.ai/api/v1',
    baseUrlEnv: 'OPENROUTER_BASE_URL',
    keyPage: 'https://openrouter.ai/settings/keys',
    listUrl: null,
    prices: 'openrouter',
    firstModel: 'anthropic/claude-sonnet-4.6',
    models: `openai/gpt-5.4-mini openai/gpt-5.4
      anthropic/claude-opus-4.6 anthropic/claude-sonnet-4.6 anthropic/claude-sonnet-4-5 anthropic/claude-haiku-4-5
      google/gemini-3.1-pro-preview google/gemini-3-flash-preview google/gemini-3.1-flash-lite-preview
      google/gemini-2.5-pro google/gemini-2.5-flash
      deepseek/deepseek-chat-v3-0324 deepseek/deepseek-r1
      qwen/qwen3-coder qwen/qwen3.6-plus x-ai/grok-4.20 mistralai/mistral-large-latest
      minimax/MiniMax-M2.7 minimax/MiniMax-M2.7-highspeed`,
  },
  nous: {
    name: 'Nous Portal',
    keys: [],
    oauth: true,
    baseUrl: 'https://inference-api.nousresearch.com/v1',
    hosts: ['nousresearch.com'],
    issuer: {
      tokenUrl: 'https://portal.nousresearch.com/api/oauth/token',
      header: 'x-nous-refresh-token',
    },
    isAggregator: true,
    models: `@nous:anthropic/claude-opus-4.6 @nous:anthropic/claude-sonnet-4.6 @nous:openai/gpt-5.4-mini
      @nous:google/gemini-3.1-pro-preview`,
  },
  'openai-codex': {
    name: 'OpenAI Codex',
    keys: [],
    oauth: true,
    baseUrl: 'https://chatgpt.com/backend-api/codex',
    wire: 'codex_responses',
    issuer: { tokenUrl: 'https://auth.openai.com/oauth/token' },
    listUrl: null,
    models: `gpt-5.4 gpt-5.4-mini gpt-5.3-codex gpt-5.2-codex gpt-5.1-codex-max gpt-5.1-codex-mini
      codex-mini-latest`,
  },
  'qwen-oauth': {
    name: 'Qwen OAuth',
    aliases: ['qwen-portal', 'qwen-cli'],
    keys: [],
    oauth: true,
    baseUrl: 'https://portal.qwen.ai/v1',
    listUrl: null,
  },
  copilot: {
    name: 'GitHub Copilot',
    aliases: ['github', 'github-copilot', 'github-models', 'github-model'],
    keys: ['COPILOT_GITHUB_TOKEN', 'GH_TOKEN', 'GITHUB_TOKEN'],
    ambient: ['GH_TOKEN', 'GITHUB_TOKEN'],
    baseUrl: 'https://api.githubcopilot.com',
    hosts: ['githubcopilot.com'],
    wire: 'per_model',
    oauth: true,
    models: 'gpt-5.4 gpt-5.4-mini gpt-4o claude-opus-4.6 claude-sonnet-4.6 gemini-3-flash-preview',
  },
  'copilot-acp': {
    name: 'GitHub Copilot ACP',
    aliases: ['github-copilot-acp', 'copilot-acp-agent'],
    keys: [],
    baseUrl: '',
    wire: 'process',
    listUrl: null,
  },
  gemini: {
    aliases: ['google', 'google-gemini', 'google-ai-studio'],
    keys: ['GOOGLE_API_KEY', 'GEMINI_API_KEY'],
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    baseUrlEnv: 'GEMINI_BASE_URL',
    keyPage: 'https://aistudio.google.com/apikey',
    savedAs: 'GEMINI_API_KEY',
    listUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    maker: 'google',
    prices: 'google',
    models: `gemini-3.1-pro-preview gemini-3-flash-preview gemini-3.1-flash-lite-preview gemini-2.5-pro
      gemini-2.5-flash`,
  },
  zai: {
    name: 'Z.AI / GLM',
    aliases: ['glm', 'z-ai', 'z.ai', 'zhipu'],
    keys: ['GLM_API_KEY', 'ZAI_API_KEY', 'Z_AI_API_KEY'],
    baseUrl: 'https://api.z.ai/api/paas/v4',
    baseUrlEnv: 'GLM_BASE_URL',
    hosts: ['z.ai', 'bigmodel.cn'],
    keyPage: 'https://z.ai/manage-apikey/apikey-list',
    listUrl: 'https://api.z.ai/v1',
    prices: 'zai',
    models: 'glm-5.1 glm-5 glm-5-turbo glm-4.7 glm-4.5 glm-4.5-flash',
  },
  'kimi-coding': {
    name: 'Kimi / Moonshot',
    aliases: ['kimi', 'moonshot'],
    keys: ['KIMI_API_KEY'],
    baseUrl: 'https://api.moonshot.ai/v1',
    baseUrlEnv: 'KIMI_BASE_URL',
    hosts: ['moonshot.ai', 'moonshot.cn', 'api.kimi.com'],
    keyPage: 'https://platform.moonshot.ai/console/api-keys',
    prices: 'moonshotai',
    models: 'moonshot-v1-8k moonshot-v1-32k moonshot-v1-128k kimi-latest kimi-k2.5',
  },
  minimax: {
    name: 'MiniMax',
    keys: ['MINIMAX_API_KEY'],
    baseUrl: 'https://api.minimax.io/anthropic',
    baseUrlEnv: 'MINIMAX_BASE_URL',
    hosts: ['minimax.io', 'minimax.chat'],
    keyPage: 'https://platform.minimax.io/user-center/basic-information/interface-key',
    listUrl: 'https://api.minimax.chat/v1',
    prices: 'minimax',
    models: 'MiniMax-M2.7 MiniMax-M2.7-highspeed MiniMax-M2.5 MiniMax-M2.5-highspeed MiniMax-M2.1',
  },
  'minimax-cn': {
    name: 'MiniMax (China)',
    aliases: ['minimax-china', 'minimax_cn'],
    keys: ['MINIMAX_CN_API_KEY'],
    baseUrl: 'https://api.minimaxi.com/anthropic',
    baseUrlEnv: 'MINIMAX_CN_BASE_URL',
    hosts: ['minimaxi.com'],
    keyPage: 'https://platform.minimaxi.com/user-center/basic-information/interface-key',
    prices: 'minimax',
  },
  anthropic: {
    aliases: ['claude', 'claude-code'],
    keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
    baseUrl: 'https://api.anthropic.com',
    wire: 'anthropic_messages',
    keyPage: 'https://console.anthropic.com/settings/keys',
    prices: 'anthropic',
    firstModel: 'claude-sonnet-4.6',
    models: 'claude-opus-4.6 claude-sonnet-4.6 claude-sonnet-4-5 claude-haiku-4-5',
  },
  alibaba: {
    aliases: ['qwen', 'aliyun', 'dashscope', 'alibaba-cloud'],
    keys: ['DASHSCOPE_API_KEY'],
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    baseUrlEnv: 'DASHSCOPE_BASE_URL',
    hosts: ['dashscope.aliyuncs.com', 'dashscope-us.aliyuncs.com'],
    keyPage: 'https://modelstudio.console.alibabacloud.com',
    maker: 'qwen',
    models: 'qwen3-coder qwen3.6-plus',
  },
  deepseek: {
    name: 'DeepSeek',
    aliases: ['deep-seek'],
    keys: ['DEEPSEEK_API_KEY'],
    baseUrl: 'https://api.deepseek.com/v1',
    baseUrlEnv: 'DEEPSEEK_BASE_URL',
    keyPage: 'https://platform.deepseek.com/api_keys',
    listUrl: 'https://api.deepseek.com/v1',
    prices: 'deepseek',
    models: 'deepseek-chat-v3-0324 deepseek-reasoner',
  },
  'ai-gateway': {
    name: 'AI Gateway',
    aliases: ['aigateway', 'vercel', 'vercel-ai-gateway'],
    keys: ['AI_GATEWAY_API_KEY'],
    baseUrl: 'https://ai-gateway.vercel.sh/v1',
    baseUrlEnv: 'AI_GATEWAY_BASE_URL',
    keyPage: 'https://vercel.com/docs/ai-gateway/authentication',
  },
  'opencode-zen': {
    name: 'OpenCode Zen',
    aliases: ['opencode', 'zen'],
    keys: ['OPENCODE_ZEN_API_KEY'],
    baseUrl: 'https://opencode.ai/zen/v1',
    baseUrlEnv: 'OPENCODE_ZEN_BASE_URL',
    wire: 'per_model',
    keyPage: 'https://opencode.ai/auth',
    isAggregator: true,
    models: `gpt-5.4-pro gpt-5.4 gpt-5.4-mini gpt-5.4-nano gpt-5.3-codex gpt-5.3-codex-spark gpt-5.2
      gpt-5.2-codex gpt-5.1 gpt-5.1-codex gpt-5.1-codex-max gpt-5.1-codex-mini gpt-5 gpt-5-codex gpt-5-nano
      claude-opus-4-6 claude-opus-4-5 claude-opus-4-1 claude-sonnet-4-6 claude-sonnet-4-5 claude-sonnet-4
      claude-haiku-4-5 claude-3-5-haiku gemini-3.1-pro-preview gemini-3-flash-preview
      gemini-3.1-flash-lite-preview gemini-2.5-pro gemini-2.5-flash glm-5.1 glm-5 kimi-k2.5 minimax-m2.5
      minimax-m2.5-free nemotron-3-super-free big-pickle`,
  },
  'opencode-go': {
    name: 'OpenCode Go',
    aliases: ['go', 'opencode-go-sub'],
    keys: ['OPENCODE_GO_API_KEY'],
    baseUrl: 'https://opencode.ai/zen/go/v1',
    baseUrlEnv: 'OPENCODE_GO_BASE_URL',
    wire: 'per_model',
    keyPage: 'https://opencode.ai/auth',
    isAggregator: true,
    models: 'glm-5.1 glm-5 kimi-k2.5 mimo-v2-pro mimo-v2-omni minimax-m2.7 minimax-m2.5',
  },
  kilocode: {
    name: 'Kilo Code',
    aliases: ['kilo', 'kilo-code', 'kilo-gateway'],
    keys: ['KILOCODE_API_KEY'],
    baseUrl: 'https://api.kilo.ai/api/gateway',
    baseUrlEnv: 'KILOCODE_BASE_URL',
    keyPage: 'https://app.kilo.ai/profile',
  },
  huggingface: {
    name: 'HuggingFace',
    aliases: ['hf', 'hugging-face', 'huggingface-hub'],
    keys: ['HF_TOKEN'],
    baseUrl: 'https://router.huggingface.co/v1',
    baseUrlEnv: 'HF_BASE_URL',
    keyPage: 'https://huggingface.co/settings/tokens',
  },
  mistralai: {
    name: 'Mistral',
    keys: ['MISTRAL_API_KEY'],
    baseUrl: 'https://api.mistral.ai/v1',
    keyPage: 'https://console.mistral.ai/api-keys',
    listUrl: 'https://api.mistral.ai/v1',
    prices: 'mistral',
    models: 'mistral-large-latest mistral-small-latest',
  },
  xai: {
    name: 'xAI',
    aliases: ['grok', 'x-ai', 'x.ai'],
    keys: ['XAI_API_KEY'],
    baseUrl: 'https://api.x.ai/v1',
    keyPage: 'https://console.x.ai',
    listUrl: 'https://api.x.ai/v1',
    maker: 'x-ai',
    prices: 'x-ai',
    models: 'grok-4.20',
  },
  nvidia: {
    name: 'NVIDIA',
    aliases: ['nim', 'nvidia-nim', 'build-nvidia', 'nemotron'],
    keys: ['NVIDIA_API_KEY'],
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    keyPage: 'https://build.nvidia.com/settings/api-keys',
    listUrl: 'https://integrate.api.nvidia.com/v1',
  },
  xiaomi: {
    aliases: ['mimo', 'xiaomi-mimo'],
    keys: ['XIAOMI_API_KEY'],
    baseUrl: 'https://api.xiaomimimo.com/v1',
    keyPage: 'https://platform.xiaomimimo.com',
  },
  neuralwatt: {
    keys: ['NEURALWATT_API_KEY'],
    baseUrl: 'https://api.neuralwatt.com/v1',
    keyPage: 'https://portal.neuralwatt.com',
  },
  'ollama-cloud': {
    name: 'Ollama Cloud',
    keys: ['OLLAMA_API_KEY'],
    baseUrl: 'https://ollama.com/v1',
    keyPage: 'https://ollama.com/settings/keys',
  },
  ollama: {
    keys: ['OLLAMA_API_KEY'],
    baseUrl: 'http://127.0.0.1:11434/v1',
    baseUrlEnv: 'OLLAMA_BASE_URL',
    hosts: ['ollama.com'],
    keyless: true,
  },
  lmstudio: {
    name: 'LM Studio',
    keys: ['LM_API_KEY'],
    baseUrl: 'http://127.0.0.1:1234/v1',
    baseUrlEnv: 'LM_BASE_URL',
    keyless: true,
  },
}

export const PROVIDERS: ReadonlyMap<string, ProviderFacts> = new Map(Object.entries(FACTS))

/** Aliases and makers that are listed and shown under a name of their own. */
export const NAMED: ReadonlyMap<string, string> = new Map([
  ['google', 'Google'],
  ['meta-llama', 'Meta Llama'],
  ['qwen', 'Qwen'],
  ['x-ai', 'xAI'],
])

/** Display name; unknown ids are converted to title case. */
export const displayName = (id: string): string =>
  PROVIDERS.get(id)?.name ??
  NAMED.get(id) ??
  id.replace(/[a-z]+/gi, word => word[0]!.toUpperCase() + word.slice(1).toLowerCase())

/** Local servers. They receive model ids unchanged. */
const LOCAL_SERVERS = /^(?:ollama|lmstudio|lm-studio|vllm|llamacpp|llama\.cpp|llama-cpp|local)$/

/** `custom`, `custom:<slug>` or a local server: identified by its address, and accepts any model id. */
export const isEndpoint = (provider: string): boolean =>
  provider === 'custom' || provider.startsWith('custom:') || LOCAL_SERVERS.test(provider)

export const isAggregator = (provider: string | null): boolean =>
  PROVIDERS.get(provider ?? '')?.isAggregator === true
