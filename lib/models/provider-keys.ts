/** Lists providers with the state and source of their keys (never the keys), and prepares changes of keys. */
import { invalid } from '../errors.ts'
import type { ModelOption } from '../schema/model.ts'
import type { ProviderRow } from '../schema/provider.ts'
import { customEntry, toProviderId } from './provider-ids.ts'
import { builtinModels } from './builtin-models.ts'
import { type Credential, credentialsOf, isUsableSecret, needsSignIn } from './credentials.ts'
import { shortLabel } from './model-labels.ts'
import { redact } from '../base/redact/redact.ts'
import { displayName, isEndpoint, NAMED, PROVIDERS } from './providers.ts'
import { baseUrlOf, providerName } from './endpoint.ts'
import { type ModelHome, type ModelSetup, readSetup } from './provider-config.ts'
import { isLapsed } from './sign-in/stored-token.ts'

/** The variable that a new key is saved to; null for a provider with OAuth sign-in. An alias such as `google` has the first one. */
const variableOf = (id: string): string | null => {
  const facts = PROVIDERS.get(toProviderId(id))
  if (!facts || facts.oauth) return null
  return PROVIDERS.get(id)?.savedAs ?? facts.keys[0] ?? null
}

const isAmbient = (provider: string, { name }: Credential): boolean =>
  PROVIDERS.get(provider)?.ambient?.includes(name) === true

/** The key a turn would use. Ambient tokens and expired sign-ins do not count. */
const storedKey = (setup: ModelSetup, provider: string): Credential | undefined =>
  credentialsOf(setup, provider).find(
    credential => !isAmbient(provider, credential) && !isLapsed(credential.signIn, setup.now),
  )

const nameOf = (setup: ModelSetup, id: string): string =>
  id === toProviderId(id) ? providerName(setup, id) : displayName(id)

const listOf = (setup: ModelSetup, provider: string): ModelOption[] => {
  const configured = [
    ...(customEntry(setup, provider)?.models.keys() ?? []),
    ...(setup.providers.get(provider)?.models.keys() ?? []),
  ]
  return configured.length > 0
    ? configured.map(id => ({ id, label: shortLabel(id) }))
    : (builtinModels(provider) ?? []).map(({ id, label }) => ({ id, label }))
}

const rowOf = (setup: ModelSetup, id: string): ProviderRow => {
  const provider = toProviderId(id)
  const key = storedKey(setup, provider)
  const env_var = variableOf(id)
  return {
    id,
    display_name: nameOf(setup, id),
    has_key: key !== undefined,
    configurable: env_var !== null,
    key_source: key?.source ?? 'none',
    key_name: key?.name ?? null,
    env_var,
    key_page: env_var === null ? null : (PROVIDERS.get(provider)?.keyPage ?? null),
    needs_sign_in: needsSignIn(setup, provider),
    base_url: isEndpoint(provider) ? redact(baseUrlOf(setup, provider)) || null : null,
    alias_of: provider === id ? null : provider,
    models: listOf(setup, provider),
  }
}

/** All known and configured providers, sorted by id. */
export const listProviders = (
  home: ModelHome,
): { providers: ProviderRow[]; active_provider: string | null } => {
  const setup = readSetup(home)
  const ids = new Set([
    ...NAMED.keys(),
    ...PROVIDERS.keys(),
    ...setup.providers.keys(),
    ...setup.custom.flatMap(({ slug }) => (slug ? `custom:${slug}` : [])),
    ...(setup.active && setup.active !== 'demo' ? [setup.active] : []),
  ])
  return {
    providers: [...ids].toSorted().map(id => rowOf(setup, id)),
    active_provider: setup.provider,
  }
}

const MIN_KEY_CHARS = 8

/** Validates an API key; throws a UserError. */
export const parseApiKey = (raw: string): string => {
  const key = raw.trim()
  if (/[\r\n]/.test(key))
    throw invalid('API key must not contain newline characters.', { code: 'invalid_key' })
  if (key.length < MIN_KEY_CHARS)
    throw invalid('API key appears too short.', { code: 'invalid_key' })
  if (key.length > 4_000) throw invalid('API key appears too long.', { code: 'invalid_key' })
  if (!/^[\x21-\x7e]+$/.test(key) || /['"`\\]/.test(key))
    throw invalid('API key contains invalid characters.', { code: 'invalid_key' })
  if (!isUsableSecret(key))
    throw invalid('That’s a placeholder, not an API key.', { code: 'invalid_key' })
  return key
}

export type KeyChange = {
  provider: string
  display_name: string
  action: 'updated' | 'removed'
  /** Variables of .env; null removes one. */
  values: Record<string, string | null>
}

/**
 * The .env changes that set a provider's key, or remove its keys when `raw` is null or blank. A new key replaces the
 * variable in use; otherwise the old key would keep precedence.
 */
export const keyChange = (home: ModelHome, name: string, raw: string | null): KeyChange => {
  const provider = name.trim().toLowerCase()
  if (!provider) throw invalid('provider is required', { code: 'missing_fields' })
  const setup = readSetup(home)
  const id = toProviderId(provider)
  const display_name = nameOf(setup, provider)
  if (PROVIDERS.get(id)?.oauth)
    throw invalid(
      `'${display_name}' uses OAuth authentication. Sign in with the agent's command line instead.`,
      { code: 'sign_in_only', values: { name: display_name } },
    )
  // A key for it is given with its address; the command line may have put one into the variable of OpenAI.
  if (id === 'custom' && !raw?.trim())
    return { provider, display_name, action: 'removed', values: { OPENAI_API_KEY: null } }
  const variable = variableOf(provider)
  if (!variable)
    throw invalid(
      `Cannot configure API key for '${display_name}'. This provider does not have a known env var mapping.`,
      { code: 'key_unsupported', values: { name: display_name } },
    )
  const variables = (PROVIDERS.get(id)?.keys ?? []).filter(each =>
    Object.hasOwn(setup.dotenv, each),
  )
  if (raw === null || !raw.trim())
    return {
      provider,
      display_name,
      action: 'removed',
      values: Object.fromEntries([...variables, variable].map(each => [each, null])),
    }
  const current = variables.find(each => isUsableSecret(setup.dotenv[each]))
  return {
    provider,
    display_name,
    action: 'updated',
    values: { [current ?? variable]: parseApiKey(raw) },
  }
}
