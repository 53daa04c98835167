/** Canonical provider ids and their aliases. */
import { PROVIDERS } from './providers.ts'

/** Providers without a row of their own. */
const OTHERS = {
  bedrock: ['aws', 'aws-bedrock', 'amazon', 'amazon-bedrock'],
  custom: ['local'],
}

const ALIASES: ReadonlyMap<string, string> = new Map(
  [
    ...[...PROVIDERS].map(([id, { aliases = [] }]) => [id, aliases] as const),
    ...Object.entries(OTHERS),
  ].flatMap(([id, names]) => names.map(name => [name, id] as const)),
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

interface Slugged {
  readonly slug: string | null
}

/** The provider id of a `custom_providers` entry. */
export const customId = ({ slug }: Slugged): string => (slug ? `custom:${slug}` : 'custom')

/** The `custom_providers` entry of a provider id. */
export const customEntry = <Entry extends Slugged>(
  { custom }: { custom: readonly Entry[] },
  provider: string,
): Entry | undefined => custom.find(entry => provider === customId(entry))

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
