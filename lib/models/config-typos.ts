/**
 * Finds typos in the model settings of config.yaml. A misspelled or malformed key would read as an absent one, and requests
 * would go to a provider the user did not choose: a typo in an address must not become another company's address.
 */

import { sentence, type Words } from '../base/sentences.ts'
import { distance } from 'fastest-levenshtein'
import { isObject, type JsonObject } from '../base/json.ts'
import { unavailable } from '../errors.ts'
import type { ModelHome } from './provider-config.ts'
import { wrongRequestOption } from './request-options.ts'

const isAbsent = (value: unknown): boolean => value === undefined || value === null
const isText = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number'

const shapeOf = (value: unknown): string =>
  Array.isArray(value) ? 'a list' : isObject(value) ? 'a mapping' : `"${String(value)}"`

/** `name`: the key that was probably meant. `kind`: what the value must be. */
type Slip = { sentence: string; values: { key: string } & ({ name: string } | { kind: Words }) }

const wrongKind = (key: string, value: unknown, kind: Words): Slip => ({
  sentence: `${key} is ${shapeOf(value)}, but must be ${kind}`,
  values: { key, kind },
})

const wrongName = (key: string, name: string): Slip => ({
  sentence: `${key} is not a setting; did you mean "${name}"?`,
  values: { key, name },
})

/** The first key whose value is neither absent nor text. */
const notText = (
  of: Readonly<JsonObject>,
  prefix: string,
  keys: readonly string[],
): Slip | null => {
  const key = keys.find(name => !isAbsent(of[name]) && !isText(of[name]))
  return key === undefined ? null : wrongKind(`${prefix}${key}`, of[key], sentence('kind.text'))
}

const plain = (key: string): string => key.toLowerCase().replace(/[-_ ]/g, '')

/** Valid keys that resemble another one. */
const NOT_MEANT: ReadonlySet<string> = new Set(['providers', 'models'])

/** `base-url`, `baseUrl`, `provder`: reported only when the correct key is absent. */
const misspelled = (
  of: Readonly<JsonObject>,
  prefix: string,
  names: readonly string[],
): Slip | null => {
  for (const key of Object.keys(of)) {
    if (names.includes(key) || NOT_MEANT.has(key) || isAbsent(of[key]) || key.length > 20) continue
    const meant = names.find(
      name => isAbsent(of[name]) && distance(plain(key), plain(name)) <= (name.length > 6 ? 2 : 1),
    )
    if (meant !== undefined) return wrongName(`${prefix}${key}`, meant)
  }
  return null
}

const OTHER_NAMES =
  /^(?:ur[il]|base|baseuri|apibase|apiurl|apibaseurl|apiendpoint|endpoint|endpointurl|openaiapibase|openaibaseurl|host|hostname|address|server|serverurl)$/

/** An address under a key other programs use. Ignoring it would silently use the provider's default address. */
const otherAddress = (
  of: Readonly<JsonObject>,
  prefix: string,
  names: readonly string[],
): Slip | null => {
  if (names.some(name => !isAbsent(of[name]))) return null
  const key = Object.keys(of).find(
    name =>
      !names.includes(name) &&
      OTHER_NAMES.test(plain(name)) &&
      /^[a-z]+:\/\/|^[\w.-]+:\d+|^localhost\b|\./i.test(String(of[name] ?? '')),
  )
  return key === undefined ? null : wrongName(`${prefix}${key}`, 'base_url')
}

const requestOption = (of: Readonly<JsonObject>, prefix: string): Slip | null => {
  const wrong = wrongRequestOption(of)
  return wrong && wrongKind(`${prefix}${wrong.key}`, wrong.value, wrong.kind)
}

/** Keys of an entry that may hold its address. */
const ADDRESSES = ['base_url', 'url', 'api']

const ofEntry = (entry: Readonly<JsonObject>, prefix: string): Slip | null =>
  notText(entry, prefix, [...ADDRESSES, 'api_key', 'api_mode']) ??
  (ADDRESSES.some(name => !isAbsent(entry[name]))
    ? null
    : misspelled(entry, prefix, ['base_url'])) ??
  otherAddress(entry, prefix, ADDRESSES) ??
  requestOption(entry, prefix)

const ofModel = (model: unknown): Slip | null => {
  if (isAbsent(model) || isText(model)) return null
  if (!isObject(model)) return wrongKind('model', model, sentence('kind.model'))
  return (
    notText(model, 'model.', ['provider', 'base_url', 'default', 'model', 'api_key', 'api_mode']) ??
    misspelled(model, 'model.', ['provider', 'base_url']) ??
    otherAddress(model, 'model.', ['base_url']) ??
    requestOption(model, 'model.')
  )
}

const ofRoot = (config: Readonly<JsonObject>): Slip | null => {
  const wrong = notText(config, '', ['provider', 'base_url'])
  if (wrong) return wrong
  // Report only what is clearly a model section: other programs keep their own keys at the root.
  const section = Object.keys(config).find(
    key =>
      key !== 'providers' &&
      key !== 'model' &&
      isAbsent(config.model) &&
      key.length <= 8 &&
      distance(plain(key), 'model') <= 2 &&
      isObject(config[key]) &&
      ['provider', 'base_url', 'default'].some(name =>
        isText((config[key] as Readonly<JsonObject>)[name]),
      ),
  )
  return section === undefined ? null : wrongName(section, 'model')
}

const ofEntries = (config: Readonly<JsonObject>): Slip | null => {
  const { custom_providers: custom, providers } = config
  if (!isAbsent(providers) && !isObject(providers))
    return wrongKind('providers', providers, sentence('kind.mapping'))
  const bad = Object.entries(isObject(providers) ? providers : {}).find(
    ([, entry]) => !isAbsent(entry) && !isObject(entry),
  )
  if (bad) return wrongKind(`providers.${bad[0]}`, bad[1], sentence('kind.mapping'))
  for (const [id, entry] of Object.entries(isObject(providers) ? providers : {})) {
    const slip = isObject(entry) ? ofEntry(entry, `providers.${id}.`) : null
    if (slip !== null) return slip
  }
  for (const [at, entry] of Object.entries(isAbsent(custom) ? {} : (custom as object))) {
    const slip = isObject(entry) ? ofEntry(entry, `custom_providers.${at}.`) : null
    if (slip !== null) return slip
  }
  if (isAbsent(custom) || isObject(custom)) return null
  if (!Array.isArray(custom)) return wrongKind('custom_providers', custom, sentence('kind.list'))
  const at = custom.findIndex(entry => !isObject(entry))
  return at < 0
    ? null
    : {
        sentence: `entry ${at + 1} of custom_providers is ${shapeOf(custom[at])}, but must be a mapping`,
        values: { key: `custom_providers.${at}`, kind: sentence('kind.mapping') },
      }
}

/** What is wrong with the model settings, or null. `auth` is the content of auth.json. */
const findConfigTypo = (
  config: Readonly<JsonObject>,
  auth: unknown,
): (Slip & { file: string }) | null => {
  const inConfig = ofModel(config.model) ?? ofRoot(config) ?? ofEntries(config)
  if (inConfig !== null) return { file: 'config.yaml', ...inConfig }
  const inAuth = isObject(auth) ? notText(auth, '', ['active_provider']) : null
  return inAuth === null ? null : { file: 'auth.json', ...inAuth }
}

/** Throws a UserError that names the typo, if there is one. */
export const rejectConfigTypos = (home: ModelHome): void => {
  const slip = findConfigTypo(home.values(), home.authJson())
  if (slip === null) return
  const { file, sentence, values } = slip
  throw unavailable(
    `${file}: ${sentence.replace(/[^?]$/, '$&.')} Fix it first: no request is sent while the provider is unclear.`,
    'name' in values
      ? {
          code: 'provider_misspelled',
          values: { file, key: values.key, name: values.name },
          config_problem: true,
        }
      : {
          code: 'provider_setting_invalid',
          values: { file, key: values.key, kind: values.kind },
          config_problem: true,
        },
  )
}
