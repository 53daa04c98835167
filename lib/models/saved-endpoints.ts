/** Saves address and key of the current endpoint when the default provider changes, and restores them later. */
import { asObject, type JsonObject } from '../base/json.ts'
import { expandVariables } from '../base/expand-variables.ts'
import type { YamlEdit } from '../store/yaml-file.ts'
import { customEntry, toProviderId, toSlug } from './provider-ids.ts'
import { isEndpoint, PROVIDERS } from './providers.ts'
import { type ModelSetup, firstTrimmed } from './provider-config.ts'

const plain = (url: string): string => url.replace(/\/+$/, '')

/** Settings of the current endpoint as written: variables are not expanded. */
const currentEndpoint = (config: Readonly<JsonObject>) => {
  const model = asObject(config.model)
  return {
    base_url: plain(firstTrimmed(model.base_url, config.base_url)),
    api_key: firstTrimmed(model.api_key, model.api),
    api_mode: firstTrimmed(model.api_mode),
    model: firstTrimmed(model.default, model.model),
    context_length: model.context_length,
  }
}

/** The name that a person gave it, else its host; with a number if that name is taken. */
const nameFor = (setup: ModelSetup, url: string, label: string | null | undefined): string => {
  const host = label || (URL.canParse(url) ? new URL(url).host.replaceAll(':', '-') : 'endpoint')
  const names = ['', '-2', '-3', '-4', '-5', '-6', '-7', '-8', '-9'].map(end => `${host}${end}`)
  return names.find(name => !setup.custom.some(({ slug }) => slug === toSlug(name))) ?? `${host}-x`
}

/** A value that waits for a person (lib/commands/guards) must not be confirmed by moving it. */
const ifInForce = (setup: ModelSetup, value: string, inForce: string | null | undefined): string =>
  plain(String(expandVariables(value, setup.env))) === plain(inForce ?? '') ? value : ''

const clear = (keys: readonly string[]): YamlEdit[] => keys.map(key => [['model', key], undefined])

/**
 * The edits that save the current endpoint when `provider` (at `baseUrl`, if known) becomes the default: its address, key
 * and wire format move to `providers`, or to a `custom_providers` entry if that key is taken. `config` is config.yaml as
 * written.
 */
export const saveEndpointEdits = (
  setup: ModelSetup,
  config: Readonly<JsonObject>,
  provider: string,
  baseUrl: string | null,
): YamlEdit[] => {
  const { active } = setup
  if (active === null || active === 'demo') return []
  const current = currentEndpoint(config)
  const own = {
    ...current,
    base_url: ifInForce(setup, current.base_url, setup.baseUrl),
    api_key: ifInForce(setup, current.api_key, setup.apiKey),
  }
  const isOther = toProviderId(provider) !== active
  const isMoved = !isOther && Boolean(baseUrl && own.base_url && plain(baseUrl) !== own.base_url)
  if (!isOther && !isMoved) return []
  const existing = setup.providers.get(active)
  const entry = customEntry(setup, active)
  const isTable = own.base_url === plain(PROVIDERS.get(active)?.baseUrl ?? '')
  const keepsUrl = own.base_url !== '' && !isTable && !entry?.baseUrl
  const isTaken = Boolean(existing?.baseUrl && plain(existing.baseUrl) !== setup.baseUrl)
  const endpoint = {
    ...(keepsUrl && { base_url: own.base_url }),
    ...(own.api_key && { api_key: own.api_key }),
    ...(own.api_mode && { api_mode: own.api_mode }),
  }
  // `providers.<id>` holds one endpoint only, so this one becomes a custom provider.
  if (keepsUrl && (isMoved || isTaken)) {
    const list = Array.isArray(config.custom_providers) ? config.custom_providers : []
    const row = {
      name: nameFor(setup, own.base_url, existing?.name),
      ...endpoint,
      ...(own.model && { model: own.model }),
    }
    return [
      [['custom_providers'], [...list, row]],
      // The name goes with it.
      ...(existing?.name ? [[['providers', active, 'name'], undefined] as const] : []),
      ...clear(['api_key', 'api', 'api_mode']),
    ]
  }
  const path = ['providers', active]
  const missing = Object.entries(endpoint).filter(([key]) =>
    key === 'api_key'
      ? !existing?.apiKey
      : key === 'api_mode'
        ? !existing?.apiMode
        : !existing?.baseUrl,
  )
  // Custom endpoints are listed by their configured models.
  const lists =
    keepsUrl && isEndpoint(active) && own.model !== '' && !existing?.models.has(own.model)
  const facts = own.context_length === undefined ? {} : { context_length: own.context_length }
  return [
    ...missing.map(([key, value]) => [[...path, key], value] as const),
    ...(lists ? [[[...path, 'models', own.model], facts] as const] : []),
    ...clear([
      ...(own.api_key ? ['api_key', 'api'] : []),
      ...(own.api_mode ? ['api_mode'] : []),
      ...(lists && own.context_length !== undefined ? ['context_length'] : []),
    ]),
  ]
}

const BROUGHT = ['base_url', 'api_key', 'api_mode'] as const

/** Moves the unnamed endpoint back to `model`, where other programs look for it. */
export const restoreEndpointEdits = (
  setup: ModelSetup,
  config: Readonly<JsonObject>,
  provider: string,
): YamlEdit[] | null => {
  if (toProviderId(provider) !== 'custom') return null
  const providers = asObject(config.providers)
  const name = Object.keys(providers).find(id => toProviderId(id) === 'custom')
  const entry = name === undefined ? {} : asObject(providers[name])
  const existing = setup.providers.get('custom')
  const isInForce =
    ifInForce(setup, firstTrimmed(entry.base_url), existing?.baseUrl) !== '' &&
    (firstTrimmed(entry.api_key) === '' ||
      ifInForce(setup, firstTrimmed(entry.api_key), existing?.apiKey) !== '')
  if (name === undefined || !isInForce) return null
  return BROUGHT.filter(key => firstTrimmed(entry[key]) !== '').flatMap(key => [
    [['model', key], firstTrimmed(entry[key])],
    [['providers', name, key], undefined],
  ])
}
