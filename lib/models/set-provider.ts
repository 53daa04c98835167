/** Saves a provider with its model and address to config.yaml, and simulates a home with unsaved settings. */
import { asObject, isObject } from '../base/json.ts'
import { invalid } from '../errors.ts'
import type { YamlEdit } from '../store/yaml-file.ts'
import { toProviderId, toSlug } from './provider-ids.ts'
import {
  modelSectionEdits,
  parseModelId,
  type EditableHome,
  setDefaultModel,
} from './default-model.ts'
import { saveEndpointEdits } from './saved-endpoints.ts'
import { PROVIDERS } from './providers.ts'
import { baseUrlOf } from './endpoint.ts'
import { type ModelHome, readSetup } from './provider-config.ts'
import type { ProfileConfig } from '../profiles/config.ts'

export type ProviderChoice = {
  provider: string
  model: string
  baseUrl: string | null
  /** Saved beside the address instead of in .env. */
  apiKey?: string
}

const MAX_URL_CHARS = 2_000

/** Validates a base URL and removes trailing slashes; throws a UserError. */
export const parseBaseUrl = (raw: string): string => {
  const url = raw.trim().replace(/\/+$/, '')
  if (!/^https?:\/\//i.test(url))
    throw invalid('base_url must start with http:// or https://', { code: 'invalid_address' })
  const parsed = URL.canParse(url) && url.length <= MAX_URL_CHARS ? new URL(url) : null
  if (!parsed || parsed.username || parsed.password || parsed.search || parsed.hash)
    throw invalid('base_url must be a plain address such as https://host/v1', {
      code: 'invalid_address',
    })
  return url
}

/** Anthropic and OpenAI expect the name without the `maker/` prefix. */
const bareModelName = (provider: string, model: string): string =>
  (provider === 'anthropic' || provider === 'openai') && model.startsWith(`${provider}/`)
    ? model.slice(provider.length + 1)
    : model

/** Saves provider, model and address in one write. Keys of the previous provider move to its own entry. */
export const configureProvider = (home: EditableHome, chosen: ProviderChoice): void => {
  const setup = readSetup(home)
  const config = home.config.read()
  const edits: YamlEdit[] = [
    ...modelSectionEdits(config.model),
    ...saveEndpointEdits(setup, config, chosen.provider, chosen.baseUrl),
    [['model', 'provider'], chosen.provider],
    [['model', 'default'], bareModelName(chosen.provider, parseModelId(chosen.model))],
    [['model', 'base_url'], chosen.baseUrl ?? undefined],
    // Otherwise the root keys of older files would apply instead of the removed ones.
    [['base_url'], undefined],
    [['provider'], undefined],
    ...(chosen.apiKey ? [[['model', 'api_key'], chosen.apiKey] as const] : []),
  ]
  home.config.editAll(edits)
}

const KEY_NAMES: ReadonlySet<string> = new Set([...PROVIDERS.values()].flatMap(({ keys }) => keys))

const withoutKeys = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !KEY_NAMES.has(name)))

/** The sections of config.yaml that hold keys and addresses of models. */
const NO_ENDPOINTS = {
  providers: undefined,
  custom_providers: undefined,
  fallback_providers: undefined,
  fallback_model: undefined,
  provider_routing: undefined,
  credential_pool_strategies: {},
} satisfies Partial<ProfileConfig>

/**
 * The home with unsaved settings, for testing a key and an address. At an address other than the home's own for this
 * provider, stored keys are left out: otherwise a caller could have them sent anywhere.
 */
export const withProvider = (
  home: ModelHome,
  { provider, model, baseUrl }: ProviderChoice,
  variables: Readonly<Record<string, string>>,
): ModelHome => {
  const setup = readSetup(home)
  const id = toProviderId(provider)
  const present = baseUrlOf(setup, id)
  const isOwn = baseUrl === null || baseUrl === present
  const config = home.values()
  const raw = asObject(config.model)
  const values = {
    ...(isOwn ? config : {}),
    base_url: undefined,
    provider: undefined,
    model: {
      ...(isOwn && setup.active === id ? raw : {}),
      provider,
      default: model,
      ...(baseUrl ? { base_url: baseUrl } : {}),
    },
  }
  const dotenv = { ...(isOwn ? home.dotenv() : withoutKeys(home.dotenv())), ...variables }
  const env = { ...(isOwn ? home.env() : withoutKeys(home.env())), ...variables }
  const auth = isOwn ? home.authJson() : {}
  const settings: ProfileConfig = {
    ...home.settings(),
    ...(isOwn ? {} : NO_ENDPOINTS),
    base_url: undefined,
    provider: undefined,
    model: values.model,
  }
  return {
    ...(isOwn && home.dir ? { dir: home.dir } : {}),
    clock: home.clock,
    values: () => values,
    settings: () => settings,
    env: () => env,
    dotenv: () => dotenv,
    authJson: () => auth,
  }
}

export type Endpoint = { name: string; baseUrl: string; model: string; use: boolean }

const rowsOf = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(row => isObject(row)) : []

/** Adds or updates a named entry of `custom_providers`. */
export const addEndpoint = (home: EditableHome, endpoint: Endpoint): { id: string } => {
  const name = endpoint.name.trim()
  const slug = toSlug(name)
  if (!name || name.length > 64 || /[\p{Cc}:/@\u2028\u2029]/u.test(name) || !name.isWellFormed())
    throw invalid('The name must have 1 to 64 characters, without : / @', {
      code: 'invalid_endpoint_name',
    })
  if (PROVIDERS.has(slug) && slug !== 'ollama' && slug !== 'lmstudio')
    throw invalid(`${name} is the name of a provider. Choose another one.`, {
      code: 'endpoint_name_taken',
      values: { name },
    })
  const baseUrl = parseBaseUrl(endpoint.baseUrl)
  const model = parseModelId(endpoint.model)
  const rows = rowsOf(home.config.read().custom_providers)
  const at = rows.findIndex(row => typeof row.name === 'string' && toSlug(row.name) === slug)
  const row = { ...(at < 0 ? {} : rows[at]), name, base_url: baseUrl, model }
  const next = at < 0 ? [...rows, row] : rows.with(at, row)
  home.config.edit(['custom_providers'], next)
  if (endpoint.use) setDefaultModel(home, `@custom:${slug}:${model}`)
  return { id: `custom:${slug}` }
}
