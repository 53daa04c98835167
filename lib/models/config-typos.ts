/**
 * Slips in what a configuration says about its model. Each of them would otherwise read as "nothing is said", and then a
 * provider nobody meant is looked for: a misspelled or misshapen address must not become another company's.
 */

import { isObject, type JsonObject } from '../base/json.ts'
import { unavailable } from '../errors.ts'
import type { ModelHome } from './provider-config.ts'

const isAbsent = (value: unknown): boolean => value === undefined || value === null
const isText = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number'

const shapeOf = (value: unknown): string =>
  Array.isArray(value) ? 'a list' : isObject(value) ? 'a mapping' : `"${String(value)}"`

/** Must be a text where anything stands. */
const notText = (
  of: Readonly<JsonObject>,
  place: string,
  keys: readonly string[],
): string | null => {
  const key = keys.find(name => !isAbsent(of[name]) && !isText(of[name]))
  return key === undefined ? null : `${place}${key} is ${shapeOf(of[key])}, but it has to be a text`
}

/** How many letters differ; bounded, names are short. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
      )
    row = next
  }
  return row[b.length] ?? 0
}

const plain = (key: string): string => key.toLowerCase().replace(/[-_ ]/g, '')

/** Keys that look like another one and are none. */
const NOT_MEANT: ReadonlySet<string> = new Set(['providers', 'models'])

/** `base-url`, `baseUrl`, `provder`: the key that is meant, where it is not there itself. */
const misspelled = (
  of: Readonly<JsonObject>,
  place: string,
  wanted: readonly string[],
): string | null => {
  for (const key of Object.keys(of)) {
    if (wanted.includes(key) || NOT_MEANT.has(key) || isAbsent(of[key]) || key.length > 20) continue
    const meant = wanted.find(
      name => isAbsent(of[name]) && distance(plain(key), plain(name)) <= (name.length > 6 ? 2 : 1),
    )
    if (meant !== undefined) return `${place}${key} is no setting; "${meant}" is probably meant`
  }
  return null
}

const OTHER_NAMES =
  /^(?:ur[il]|base|baseuri|apibase|apiurl|apibaseurl|apiendpoint|endpoint|endpointurl|openaiapibase|openaibaseurl|host|hostname|address|server|serverurl)$/

/** An address under a name that other programs use: read past, the table's own address would take its place. */
const otherAddress = (
  of: Readonly<JsonObject>,
  place: string,
  wanted: readonly string[],
): string | null => {
  if (wanted.some(name => !isAbsent(of[name]))) return null
  const key = Object.keys(of).find(
    name =>
      !wanted.includes(name) &&
      OTHER_NAMES.test(plain(name)) &&
      /^[a-z]+:\/\/|^[\w.-]+:\d+|^localhost\b|\./i.test(String(of[name] ?? '')),
  )
  return key === undefined ? null : `${place}${key} is no setting; "base_url" is probably meant`
}

/** Where an entry may say its address. */
const ADDRESSES = ['base_url', 'url', 'api']

const ofEntry = (entry: Readonly<JsonObject>, place: string): string | null =>
  notText(entry, place, [...ADDRESSES, 'api_key', 'api_mode']) ??
  (ADDRESSES.some(name => !isAbsent(entry[name]))
    ? null
    : misspelled(entry, place, ['base_url'])) ??
  otherAddress(entry, place, ADDRESSES)

const ofModel = (model: unknown): string | null => {
  if (isAbsent(model) || isText(model)) return null
  if (!isObject(model))
    return `model is ${shapeOf(model)}, but it has to be a name or a mapping of settings`
  return (
    notText(model, 'model.', ['provider', 'base_url', 'default', 'model', 'api_key', 'api_mode']) ??
    misspelled(model, 'model.', ['provider', 'base_url']) ??
    otherAddress(model, 'model.', ['base_url'])
  )
}

const ofRoot = (config: Readonly<JsonObject>): string | null => {
  const wrong = notText(config, '', ['provider', 'base_url'])
  if (wrong) return wrong
  // Only what clearly is the section of a model: other programs have keys of their own here.
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
  return section === undefined ? null : `${section} is no setting; "model" is probably meant`
}

const ofEntries = (config: Readonly<JsonObject>): string | null => {
  const { custom_providers: custom, providers } = config
  if (!isAbsent(providers) && !isObject(providers))
    return `providers is ${shapeOf(providers)}, but it has to be a mapping`
  const bad = Object.entries(isObject(providers) ? providers : {}).find(
    ([, entry]) => !isAbsent(entry) && !isObject(entry),
  )
  if (bad) return `providers.${bad[0]} is ${shapeOf(bad[1])}, but it has to be a mapping`
  for (const [id, entry] of Object.entries(isObject(providers) ? providers : {})) {
    const slip = isObject(entry) ? ofEntry(entry, `providers.${id}.`) : null
    if (slip !== null) return slip
  }
  for (const [at, entry] of Object.entries(isAbsent(custom) ? {} : (custom as object))) {
    const slip = isObject(entry) ? ofEntry(entry, `custom_providers.${at}.`) : null
    if (slip !== null) return slip
  }
  if (isAbsent(custom) || isObject(custom)) return null
  if (!Array.isArray(custom))
    return `custom_providers is ${shapeOf(custom)}, but it has to be a list`
  const at = custom.findIndex(entry => !isObject(entry))
  return at < 0
    ? null
    : `entry ${at + 1} of custom_providers is ${shapeOf(custom[at])}, but it has to be a mapping`
}

/** What is wrong with the settings of the model, or null. `auth` is what auth.json holds. */
export const findConfigTypo = (config: Readonly<JsonObject>, auth: unknown): string | null => {
  const inConfig = ofModel(config.model) ?? ofRoot(config) ?? ofEntries(config)
  if (inConfig !== null) return `config.yaml: ${inConfig}.`
  const inAuth = isObject(auth) ? notText(auth, '', ['active_provider']) : null
  return inAuth === null ? null : `auth.json: ${inAuth}.`
}

/** Refuses with the slip where there is one. */
export const rejectConfigTypos = (home: Pick<ModelHome, 'values' | 'authJson'>): void => {
  const slip = findConfigTypo(home.values(), home.authJson())
  if (slip !== null)
    throw unavailable(`${slip} Correct it: nothing is sent to a provider that was not meant.`, {
      code: 'provider_misspelled',
      config_problem: true,
    })
}
