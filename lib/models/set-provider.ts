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
import { unredact } from '../base/redact/redact.ts'
import { configuredKey } from './credentials.ts'
import { parseApiKey } from './provider-keys.ts'
import { isEndpoint, PROVIDERS } from './providers.ts'
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
  const address = URL.canParse(url) && url.length <= MAX_URL_CHARS ? new URL(url) : null
  if (!address || address.username || address.password || address.search || address.hash)
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
export const configureProvider = (home: EditableHome, choice: ProviderChoice): void => {
  const setup = readSetup(home)
  const config = home.configFile.read()
  const edits: YamlEdit[] = [
    ...modelSectionEdits(config.model),
    ...saveEndpointEdits(setup, config, choice.provider, choice.baseUrl),
    [['model', 'provider'], choice.provider],
    [['model', 'default'], bareModelName(choice.provider, parseModelId(choice.model))],
    [['model', 'base_url'], choice.baseUrl ?? undefined],
    // Otherwise the root keys of older files would apply instead of the removed ones.
    [['base_url'], undefined],
    [['provider'], undefined],
    ...(choice.apiKey ? [[['model', 'api_key'], choice.apiKey] as const] : []),
  ]
  home.configFile.editAll(edits)
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
  const own = home.values()
  const raw = asObject(own.model)
  const values = {
    ...(isOwn ? own : {}),
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
  const config: ProfileConfig = {
    ...home.config(),
    ...(isOwn ? {} : NO_ENDPOINTS),
    base_url: undefined,
    provider: undefined,
    model: values.model,
  }
  return {
    ...(isOwn && home.dir ? { dir: home.dir } : {}),
    clock: home.clock,
    values: () => values,
    config: () => config,
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
  const rows = rowsOf(home.configFile.read().custom_providers)
  const at = rows.findIndex(row => typeof row.name === 'string' && toSlug(row.name) === slug)
  const row = { ...(at < 0 ? {} : rows[at]), name, base_url: baseUrl, model }
  const next = at < 0 ? [...rows, row] : rows.with(at, row)
  home.configFile.edit(['custom_providers'], next)
  if (endpoint.use) setDefaultModel(home, `@custom:${slug}:${model}`)
  return { id: `custom:${slug}` }
}

/** Where the command line looks for the key of a server of one's own, and for that of OpenAI. */
export const OWN_KEY = 'OPENAI_API_KEY'

const hostIn = (url: string): string => URL.parse(url)?.host ?? ''

/** In an entry: the key, or the variable that has it. */
const KEY_FIELDS = ['api_key', 'key_env', 'api_key_env']
/** The key beside `model.base_url`. */
const MODEL_KEY_FIELDS = ['api_key', 'api']

/** The entry of `id` in `providers`. */
const keyPathOf = (home: EditableHome, id: string): [string, string] => {
  const names = Object.keys(asObject(home.configFile.read().providers))
  return ['providers', names.find(name => toProviderId(name) === id) ?? id]
}

/** Where the address of `id` is written, and the key beside it. */
const placeOf = (
  home: EditableHome,
  id: string,
): { path: string[]; rows?: unknown[]; at?: number } => {
  const config = home.configFile.read()
  if (id.startsWith('custom:')) {
    const rows = rowsOf(config.custom_providers)
    const at = rows.findIndex(
      row => typeof row.name === 'string' && `custom:${toSlug(row.name)}` === id,
    )
    if (at >= 0) return { path: ['custom_providers'], rows, at }
  }
  return { path: readSetup(home).active === id ? ['model'] : keyPathOf(home, id) }
}

/**
 * `inBoth`: .env has the same key as config.yaml, so it leaves .env before `apply`, and the new one enters it after that: at no moment
 * is a key with the address of another server.
 */
export type OwnKeyChange = { inBoth: boolean; key: string | null; apply: () => void }

/** Changes the address of a server of one's own. A key that was typed for another host stays with none. */
export const moveEndpoint = (
  home: EditableHome,
  {
    provider,
    baseUrl,
    apiKey,
    name,
  }: { provider: string; baseUrl: string; apiKey: string; name?: string | undefined },
): OwnKeyChange => {
  const id = toProviderId(provider)
  if (!isEndpoint(id))
    throw invalid('Only the address of a server of your own can be changed', {
      code: 'invalid_address',
    })
  const setup = readSetup(home)
  const before = baseUrlOf(setup, id)
  const url = parseBaseUrl(unredact(baseUrl, before))
  const key = apiKey.trim() ? parseApiKey(apiKey) : ''
  const isMoved = hostIn(url) !== hostIn(before)
  const inEnv = id === 'custom' ? home.dotenv()[OWN_KEY] : undefined
  const isSameKey = inEnv !== undefined && inEnv === configuredKey(setup, id)
  // A key that is only in .env may be one of OpenAI, so it is not removed; nor does it go to the other server unasked.
  if (isMoved && inEnv !== undefined && !isSameKey && !key)
    throw invalid('Enter the key of the new server', { code: 'missing_fields' })
  const inBoth = isSameKey && (key !== '' || isMoved)
  const { path, rows, at } = placeOf(home, id)
  if (rows && at !== undefined) {
    const row = Object.entries(asObject(rows[at])).filter(
      ([name]) => !isMoved || !KEY_FIELDS.includes(name),
    )
    const moved = { ...Object.fromEntries(row), base_url: url, ...(key && { api_key: key }) }
    const isDefault = setup.active === id
    const edits: YamlEdit[] = [
      [path, rows.with(at, moved)],
      // The default may name the address and the key again.
      ...(isDefault && setup.baseUrl ? [[['model', 'base_url'], url] as const] : []),
      ...(isDefault && setup.apiKey && (key || isMoved)
        ? MODEL_KEY_FIELDS.map(name => [['model', name], undefined] as const)
        : []),
    ]
    return { inBoth, key: key || null, apply: () => home.configFile.editAll(edits) }
  }
  const keyPath = keyPathOf(home, id)
  const scoped = asObject(asObject(home.configFile.read().providers)[keyPath[1]])
  const edits: YamlEdit[] = [
    // The key may be beside the address, or apart from it.
    ...(isMoved ? KEY_FIELDS.filter(name => Object.hasOwn(scoped, name)) : []).map(
      name => [[...keyPath, name], undefined] as const,
    ),
    ...(isMoved && path[0] === 'model' ? [[['model', 'api'], undefined] as const] : []),
    [[...path, 'base_url'], url],
    // The default has no place for a name.
    ...(name === undefined ? [] : [[[...keyPath, 'name'], name.trim() || undefined] as const]),
    ...(key || isMoved ? [[[...path, 'api_key'], key || undefined] as const] : []),
  ]
  return { inBoth, key: key || null, apply: () => home.configFile.editAll(edits) }
}

/** Removes a key of a server of one's own that is written beside its address; null where there is none. */
export const ownKeyRemoval = (home: EditableHome, provider: string): OwnKeyChange | null => {
  const id = toProviderId(provider)
  const before = id === 'custom' ? configuredKey(readSetup(home), id) : null
  if (before === null) return null
  const edit: YamlEdit = [[...placeOf(home, id).path, 'api_key'], undefined]
  return {
    inBoth: home.dotenv()[OWN_KEY] === before,
    key: null,
    apply: () => home.configFile.editAll([edit]),
  }
}
