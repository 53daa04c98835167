/** The built-in model lists of the table of providers, with labels. Frozen. */
import type { ModelOption } from '../schema/model.ts'
import { toProviderId } from './provider-ids.ts'
import { PROVIDERS } from './providers.ts'

/** Where capital letters at the start of each word would be wrong. */
const CASING: ReadonlyMap<string, string> = new Map(
  ['GPT', 'GLM', 'DeepSeek', 'MiniMax', 'MiMo'].map(word => [word.toLowerCase(), word]),
)

const word = (token: string): string => {
  if (token === 'latest') return '(latest)'
  return (
    CASING.get(token.toLowerCase()) ??
    (/^\d+k$/.test(token) ? token.toUpperCase() : token.charAt(0).toUpperCase() + token.slice(1))
  )
}

/** `gpt-5.4-mini` → `GPT-5.4 Mini`, `claude-opus-4-6` → `Claude Opus 4.6`. */
const labelOf = (id: string): string => {
  const name = id.slice(id.lastIndexOf('/') + 1)
  if (name.startsWith('deepseek-chat-v3')) return 'DeepSeek V3'
  const words = name
    .replace(/-(\d)-(\d)(?=-|$)/, '-$1.$2')
    .split('-')
    .map(word)
  return words.join(' ').replace(/^(GPT|GLM) /, '$1-')
}

/** By canonical id. */
const BY_ID: ReadonlyMap<string, readonly ModelOption[]> = new Map(
  [...PROVIDERS].flatMap(([provider, { models }]) => {
    if (models === undefined) return []
    const ids = models.split(/\s+/)
    const suffix = provider === 'nous' ? ' (via Nous)' : ''
    const list = ids.map(id => Object.freeze({ id, label: labelOf(id) + suffix }))
    return [[provider, Object.freeze(list)] as const]
  }),
)

/** The built-in models of a provider under any of its names; undefined when there is no list. Frozen. */
export const builtinModels = (provider: string): readonly ModelOption[] | undefined =>
  BY_ID.get(toProviderId(provider))
