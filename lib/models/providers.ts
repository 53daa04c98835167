/** Provider table: key variables, base URLs, hosts and wire formats. Data. */
import type { HttpApiMode } from '../agent/types.ts'

/** `per_model`: the model's name decides (`wireOf` in endpoint.ts). `process`: an external program. */
export type Wire = HttpApiMode | 'per_model' | 'process'

export type ProviderFacts = {
  /** Variables that may hold the key; the first usable one wins. */
  readonly keys: readonly string[]
  /** Those of `keys` that often exist for other purposes. They never make the provider appear in the list. */
  readonly ambient?: readonly string[]
  readonly baseUrl: string
  readonly baseUrlEnv?: string
  /** Further hosts of the provider, including subdomains. Its keys may be sent there. */
  readonly hosts?: readonly string[]
  readonly wire?: Wire
  /** Uses OAuth sign-in through the command line instead of a key. */
  readonly oauth?: true
  /** Needs no key. */
  readonly keyless?: true
  /** The page of the provider where a key is created. */
  readonly keyPage?: string
}

const FACTS: Readonly<Record<string, ProviderFacts>> = {
  openai: {
    keys: ['OPENAI_API_KEY'],
    baseUrl: 'https://api.openai.com/v1',
    baseUrlEnv: 'OPENAI_BASE_URL',
    hosts: ['openai.com', 'openai.azure.com'],
    keyPage: 'https://platform.openai.com/api-keys',
  },
  openrouter: {
    keys: ['OPENROUTER_API_KEY'],
    baseUrl: 'https://openrouter.ai/api/v1',
    baseUrlEnv: 'OPENROUTER_BASE_URL',
    keyPage: 'https://openrouter.ai/settings/keys',
  },
  nous: {
    keys: [],
    oauth: true,
    baseUrl: 'https://inference-api.nousresearch.com/v1',
    hosts: ['nousresearch.com'],
  },
  'openai-codex': {
    keys: [],
    oauth: true,
    baseUrl: 'https://chatgpt.com/backend-api/codex',
    wire: 'codex_responses',
  },
  'qwen-oauth': { keys: [], oauth: true, baseUrl: 'https://portal.qwen.ai/v1' },
  copilot: {
    keys: ['COPILOT_GITHUB_TOKEN', 'GH_TOKEN', 'GITHUB_TOKEN'],
    ambient: ['GH_TOKEN', 'GITHUB_TOKEN'],
    baseUrl: 'https://api.githubcopilot.com',
    hosts: ['githubcopilot.com'],
    wire: 'per_model',
  },
  'copilot-acp': { keys: [], baseUrl: '', wire: 'process' },
  gemini: {
    keys: ['GOOGLE_API_KEY', 'GEMINI_API_KEY'],
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    baseUrlEnv: 'GEMINI_BASE_URL',
    keyPage: 'https://aistudio.google.com/apikey',
  },
  zai: {
    keys: ['GLM_API_KEY', 'ZAI_API_KEY', 'Z_AI_API_KEY'],
    baseUrl: 'https://api.z.ai/api/paas/v4',
    baseUrlEnv: 'GLM_BASE_URL',
    hosts: ['z.ai', 'bigmodel.cn'],
    keyPage: 'https://z.ai/manage-apikey/apikey-list',
  },
  'kimi-coding': {
    keys: ['KIMI_API_KEY'],
    baseUrl: 'https://api.moonshot.ai/v1',
    baseUrlEnv: 'KIMI_BASE_URL',
    hosts: ['moonshot.ai', 'moonshot.cn', 'api.kimi.com'],
    keyPage: 'https://platform.moonshot.ai/console/api-keys',
  },
  minimax: {
    keys: ['MINIMAX_API_KEY'],
    baseUrl: 'https://api.minimax.io/anthropic',
    baseUrlEnv: 'MINIMAX_BASE_URL',
    hosts: ['minimax.io', 'minimax.chat'],
    keyPage: 'https://platform.minimax.io/user-center/basic-information/interface-key',
  },
  'minimax-cn': {
    keys: ['MINIMAX_CN_API_KEY'],
    baseUrl: 'https://api.minimaxi.com/anthropic',
    baseUrlEnv: 'MINIMAX_CN_BASE_URL',
    hosts: ['minimaxi.com'],
    keyPage: 'https://platform.minimaxi.com/user-center/basic-information/interface-key',
  },
  anthropic: {
    keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
    baseUrl: 'https://api.anthropic.com',
    wire: 'anthropic_messages',
    keyPage: 'https://console.anthropic.com/settings/keys',
  },
  alibaba: {
    keys: ['DASHSCOPE_API_KEY'],
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    baseUrlEnv: 'DASHSCOPE_BASE_URL',
    hosts: ['dashscope.aliyuncs.com', 'dashscope-us.aliyuncs.com'],
    keyPage: 'https://modelstudio.console.alibabacloud.com',
  },
  deepseek: {
    keys: ['DEEPSEEK_API_KEY'],
    baseUrl: 'https://api.deepseek.com/v1',
    baseUrlEnv: 'DEEPSEEK_BASE_URL',
    keyPage: 'https://platform.deepseek.com/api_keys',
  },
  'ai-gateway': {
    keys: ['AI_GATEWAY_API_KEY'],
    baseUrl: 'https://ai-gateway.vercel.sh/v1',
    baseUrlEnv: 'AI_GATEWAY_BASE_URL',
    keyPage: 'https://vercel.com/docs/ai-gateway/authentication',
  },
  'opencode-zen': {
    keys: ['OPENCODE_ZEN_API_KEY'],
    baseUrl: 'https://opencode.ai/zen/v1',
    baseUrlEnv: 'OPENCODE_ZEN_BASE_URL',
    wire: 'per_model',
    keyPage: 'https://opencode.ai/auth',
  },
  'opencode-go': {
    keys: ['OPENCODE_GO_API_KEY'],
    baseUrl: 'https://opencode.ai/zen/go/v1',
    baseUrlEnv: 'OPENCODE_GO_BASE_URL',
    wire: 'per_model',
    keyPage: 'https://opencode.ai/auth',
  },
  kilocode: {
    keys: ['KILOCODE_API_KEY'],
    baseUrl: 'https://api.kilo.ai/api/gateway',
    baseUrlEnv: 'KILOCODE_BASE_URL',
    keyPage: 'https://app.kilo.ai/profile',
  },
  huggingface: {
    keys: ['HF_TOKEN'],
    baseUrl: 'https://router.huggingface.co/v1',
    baseUrlEnv: 'HF_BASE_URL',
    keyPage: 'https://huggingface.co/settings/tokens',
  },
  mistralai: {
    keys: ['MISTRAL_API_KEY'],
    baseUrl: 'https://api.mistral.ai/v1',
    keyPage: 'https://console.mistral.ai/api-keys',
  },
  xai: { keys: ['XAI_API_KEY'], baseUrl: 'https://api.x.ai/v1', keyPage: 'https://console.x.ai' },
  nvidia: {
    keys: ['NVIDIA_API_KEY'],
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    keyPage: 'https://build.nvidia.com/settings/api-keys',
  },
  xiaomi: {
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
    keys: ['LM_API_KEY'],
    baseUrl: 'http://127.0.0.1:1234/v1',
    baseUrlEnv: 'LM_BASE_URL',
    keyless: true,
  },
}

/** In the order in which a provider is chosen when none is configured. */
export const PROVIDERS: ReadonlyMap<string, ProviderFacts> = new Map(Object.entries(FACTS))

const NAMES: Readonly<Record<string, string>> = {
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
  // Title case would be wrong.
  xai: 'xAI',
  'ai-gateway': 'AI Gateway',
  kilocode: 'Kilo Code',
  'copilot-acp': 'GitHub Copilot ACP',
  'qwen-oauth': 'Qwen OAuth',
  'minimax-cn': 'MiniMax (China)',
  nvidia: 'NVIDIA',
}

/** Display name; unknown ids are converted to title case. */
export const displayName = (id: string): string =>
  (Object.hasOwn(NAMES, id) ? NAMES[id] : undefined) ??
  id.replace(/[a-z]+/gi, word => word[0]!.toUpperCase() + word.slice(1).toLowerCase())

/** Local servers. They receive model ids unchanged. */
const LOCAL_SERVERS: ReadonlySet<string> = new Set([
  'ollama',
  'lmstudio',
  'lm-studio',
  'vllm',
  'llamacpp',
  'llama.cpp',
  'llama-cpp',
  'local',
])

/** `custom`, `custom:<slug>` or a local server: identified by its address, and accepts any model id. */
export const isEndpoint = (provider: string): boolean =>
  provider === 'custom' || provider.startsWith('custom:') || LOCAL_SERVERS.has(provider)

/** Serve models of many makers; their model ids may contain slashes. */
export const AGGREGATORS: ReadonlySet<string> = new Set(['nous', 'opencode-zen', 'opencode-go'])

/** All ids with a display name, including aliases. */
export const providerNames = (): string[] => Object.keys(NAMES)
