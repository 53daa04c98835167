/** Built-in model lists: 16 providers and OpenRouter. Data, frozen. */
import type { ModelOption } from '../schema/model.ts'
import { toProviderId } from './provider-ids.ts'

const LABELS: Readonly<Record<string, string>> = {
  'gpt-5.4-mini': 'GPT-5.4 Mini',
  'gpt-5.4': 'GPT-5.4',
  'gpt-5.4-pro': 'GPT-5.4 Pro',
  'gpt-5.4-nano': 'GPT-5.4 Nano',
  'gpt-5.3-codex': 'GPT-5.3 Codex',
  'gpt-5.3-codex-spark': 'GPT-5.3 Codex Spark',
  'gpt-5.2': 'GPT-5.2',
  'gpt-5.2-codex': 'GPT-5.2 Codex',
  'gpt-5.1': 'GPT-5.1',
  'gpt-5.1-codex': 'GPT-5.1 Codex',
  'gpt-5.1-codex-max': 'GPT-5.1 Codex Max',
  'gpt-5.1-codex-mini': 'GPT-5.1 Codex Mini',
  'gpt-5': 'GPT-5',
  'gpt-5-codex': 'GPT-5 Codex',
  'gpt-5-nano': 'GPT-5 Nano',
  'gpt-4o': 'GPT-4o',
  'codex-mini-latest': 'Codex Mini (latest)',
  'claude-opus-4.6': 'Claude Opus 4.6',
  'claude-opus-4-6': 'Claude Opus 4.6',
  'claude-opus-4-5': 'Claude Opus 4.5',
  'claude-opus-4-1': 'Claude Opus 4.1',
  'claude-sonnet-4.6': 'Claude Sonnet 4.6',
  'claude-sonnet-4-6': 'Claude Sonnet 4.6',
  'claude-sonnet-4-5': 'Claude Sonnet 4.5',
  'claude-sonnet-4': 'Claude Sonnet 4',
  'claude-haiku-4-5': 'Claude Haiku 4.5',
  'claude-3-5-haiku': 'Claude 3.5 Haiku',
  'gemini-3.1-pro-preview': 'Gemini 3.1 Pro Preview',
  'gemini-3-flash-preview': 'Gemini 3 Flash Preview',
  'gemini-3.1-flash-lite-preview': 'Gemini 3.1 Flash Lite Preview',
  'gemini-2.5-pro': 'Gemini 2.5 Pro',
  'gemini-2.5-flash': 'Gemini 2.5 Flash',
  'deepseek-chat-v3-0324': 'DeepSeek V3',
  'deepseek-r1': 'DeepSeek R1',
  'deepseek-reasoner': 'DeepSeek Reasoner',
  'qwen3-coder': 'Qwen3 Coder',
  'qwen3.6-plus': 'Qwen3.6 Plus',
  'grok-4.20': 'Grok 4.20',
  'mistral-large-latest': 'Mistral Large (latest)',
  'mistral-small-latest': 'Mistral Small (latest)',
  'MiniMax-M2.7': 'MiniMax M2.7',
  'MiniMax-M2.7-highspeed': 'MiniMax M2.7 Highspeed',
  'MiniMax-M2.5': 'MiniMax M2.5',
  'MiniMax-M2.5-highspeed': 'MiniMax M2.5 Highspeed',
  'MiniMax-M2.1': 'MiniMax M2.1',
  'minimax-m2.7': 'MiniMax M2.7',
  'minimax-m2.5': 'MiniMax M2.5',
  'minimax-m2.5-free': 'MiniMax M2.5 Free',
  'glm-5.1': 'GLM-5.1',
  'glm-5': 'GLM-5',
  'glm-5-turbo': 'GLM-5 Turbo',
  'glm-4.7': 'GLM-4.7',
  'glm-4.5': 'GLM-4.5',
  'glm-4.5-flash': 'GLM-4.5 Flash',
  'moonshot-v1-8k': 'Moonshot V1 8K',
  'moonshot-v1-32k': 'Moonshot V1 32K',
  'moonshot-v1-128k': 'Moonshot V1 128K',
  'kimi-latest': 'Kimi (latest)',
  'kimi-k2.5': 'Kimi K2.5',
  'mimo-v2-pro': 'MiMo V2 Pro',
  'mimo-v2-omni': 'MiMo V2 Omni',
  'nemotron-3-super-free': 'Nemotron 3 Super Free',
  'big-pickle': 'Big Pickle',
}

/** The label of an id: looked up by the part after the provider hint and the last slash. */
const labelOf = (id: string): string => {
  const name = id.slice(id.lastIndexOf('/') + 1)
  return LABELS[name] ?? name
}

const list = (text: string, suffix = ''): readonly ModelOption[] =>
  Object.freeze(
    text
      .trim()
      .split(/\s+/)
      .map(id => Object.freeze({ id, label: labelOf(id) + suffix })),
  )

const GOOGLE = list(`gemini-3.1-pro-preview gemini-3-flash-preview gemini-3.1-flash-lite-preview
  gemini-2.5-pro gemini-2.5-flash`)

/** OpenRouter's list; its ids are `maker/model`. */
export const ROUTER_MODELS = list(`
  openai/gpt-5.4-mini openai/gpt-5.4
  anthropic/claude-opus-4.6 anthropic/claude-sonnet-4.6 anthropic/claude-sonnet-4-5 anthropic/claude-haiku-4-5
  google/gemini-3.1-pro-preview google/gemini-3-flash-preview google/gemini-3.1-flash-lite-preview
  google/gemini-2.5-pro google/gemini-2.5-flash
  deepseek/deepseek-chat-v3-0324 deepseek/deepseek-r1
  qwen/qwen3-coder qwen/qwen3.6-plus x-ai/grok-4.20 mistralai/mistral-large-latest
  minimax/MiniMax-M2.7 minimax/MiniMax-M2.7-highspeed`)

/** Keyed by the prefix of a model id before its slash. Use `builtinModels` to look up a list. */
export const STATIC_MODELS: Readonly<Record<string, readonly ModelOption[]>> = Object.freeze({
  anthropic: list('claude-opus-4.6 claude-sonnet-4.6 claude-sonnet-4-5 claude-haiku-4-5'),
  openai: list('gpt-5.4-mini gpt-5.4'),
  'openai-codex': list(`gpt-5.4 gpt-5.4-mini gpt-5.3-codex gpt-5.2-codex gpt-5.1-codex-max
    gpt-5.1-codex-mini codex-mini-latest`),
  google: GOOGLE,
  gemini: GOOGLE,
  deepseek: list('deepseek-chat-v3-0324 deepseek-reasoner'),
  nous: list(
    `@nous:anthropic/claude-opus-4.6 @nous:anthropic/claude-sonnet-4.6 @nous:openai/gpt-5.4-mini
    @nous:google/gemini-3.1-pro-preview`,
    ' (via Nous)',
  ),
  zai: list('glm-5.1 glm-5 glm-5-turbo glm-4.7 glm-4.5 glm-4.5-flash'),
  'kimi-coding': list('moonshot-v1-8k moonshot-v1-32k moonshot-v1-128k kimi-latest kimi-k2.5'),
  minimax: list(
    'MiniMax-M2.7 MiniMax-M2.7-highspeed MiniMax-M2.5 MiniMax-M2.5-highspeed MiniMax-M2.1',
  ),
  copilot: list(
    'gpt-5.4 gpt-5.4-mini gpt-4o claude-opus-4.6 claude-sonnet-4.6 gemini-3-flash-preview',
  ),
  'opencode-zen': list(`gpt-5.4-pro gpt-5.4 gpt-5.4-mini gpt-5.4-nano gpt-5.3-codex
    gpt-5.3-codex-spark gpt-5.2 gpt-5.2-codex gpt-5.1 gpt-5.1-codex gpt-5.1-codex-max
    gpt-5.1-codex-mini gpt-5 gpt-5-codex gpt-5-nano claude-opus-4-6 claude-opus-4-5 claude-opus-4-1
    claude-sonnet-4-6 claude-sonnet-4-5 claude-sonnet-4 claude-haiku-4-5 claude-3-5-haiku
    gemini-3.1-pro-preview gemini-3-flash-preview gemini-3.1-flash-lite-preview gemini-2.5-pro
    gemini-2.5-flash glm-5.1 glm-5 kimi-k2.5 minimax-m2.5 minimax-m2.5-free nemotron-3-super-free
    big-pickle`),
  'opencode-go': list('glm-5.1 glm-5 kimi-k2.5 mimo-v2-pro mimo-v2-omni minimax-m2.7 minimax-m2.5'),
  mistralai: list('mistral-large-latest mistral-small-latest'),
  qwen: list('qwen3-coder qwen3.6-plus'),
  'x-ai': list('grok-4.20'),
})

/** By canonical id: `x-ai` and `qwen` are aliases of `xai` and `alibaba`. */
const BY_ID: ReadonlyMap<string, readonly ModelOption[]> = new Map(
  Object.entries(STATIC_MODELS).map(([key, models]) => [toProviderId(key), models]),
)

/** The built-in models of a provider under any of its names; undefined when there is no list. Frozen. */
export const builtinModels = (provider: string): readonly ModelOption[] | undefined => {
  const id = toProviderId(provider)
  return id === 'openrouter' ? ROUTER_MODELS : BY_ID.get(id)
}
