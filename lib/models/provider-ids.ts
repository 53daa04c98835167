/** Canonical provider ids and their aliases. */

/** Canonical id → aliases, those of the host agent's command line included. */
const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  zai: ['glm', 'z-ai', 'z.ai', 'zhipu'],
  copilot: ['github', 'github-copilot', 'github-models', 'github-model'],
  'copilot-acp': ['github-copilot-acp', 'copilot-acp-agent'],
  gemini: ['google', 'google-gemini', 'google-ai-studio'],
  'kimi-coding': ['kimi', 'moonshot'],
  'minimax-cn': ['minimax-china', 'minimax_cn'],
  anthropic: ['claude', 'claude-code'],
  deepseek: ['deep-seek'],
  'opencode-zen': ['opencode', 'zen'],
  'opencode-go': ['go', 'opencode-go-sub'],
  xai: ['grok', 'x-ai', 'x.ai'],
  bedrock: ['aws', 'aws-bedrock', 'amazon', 'amazon-bedrock'],
  alibaba: ['qwen', 'aliyun', 'dashscope', 'alibaba-cloud'],
  'qwen-oauth': ['qwen-portal', 'qwen-cli'],
  'ai-gateway': ['aigateway', 'vercel', 'vercel-ai-gateway'],
  kilocode: ['kilo', 'kilo-code', 'kilo-gateway'],
  huggingface: ['hf', 'hugging-face', 'huggingface-hub'],
  nvidia: ['nim', 'nvidia-nim', 'build-nvidia', 'nemotron'],
  xiaomi: ['mimo', 'xiaomi-mimo'],
  custom: ['local'],
}

const ALIASES: ReadonlyMap<string, string> = new Map(
  Object.entries(SPELLINGS).flatMap(([id, names]) => names.map(name => [name, id] as const)),
)

/** The canonical id; unknown names are trimmed and lowercased. */
export const toProviderId = (name: string): string => {
  const id = name.trim().toLowerCase()
  return ALIASES.get(id) ?? id
}

/** True for an alias. */
export const isAlias = (name: string): boolean => ALIASES.has(name.trim().toLowerCase())

/** The `<slug>` of `custom:<slug>`. */
export const toSlug = (name: string): string => name.trim().toLowerCase().replaceAll(' ', '-')

const FAMILIES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    claude: 'anthropic',
    gpt: 'openai',
    gemini: 'google',
    'openai-codex': 'openai',
  }),
)

const FAMILY_PREFIXES = [
  ['openai', 'openai'],
  ['anthropic', 'anthropic'],
  ['claude', 'anthropic'],
  ['google', 'google'],
  ['gemini', 'google'],
  ['openrouter', 'openrouter'],
  ['custom', 'custom'],
] as const

/** A coarser mapping, for session-model compatibility only; '' when unknown. */
export const toFamily = (name: string): string => {
  const id = name.trim().toLowerCase()
  return FAMILIES.get(id) ?? FAMILY_PREFIXES.find(([prefix]) => id.startsWith(prefix))?.[1] ?? ''
}
