/**
 * `provider_routing` of config.yaml: which of OpenRouter's providers may serve a request. Sent as
 * `provider`. An invalid value stops requests instead of being ignored: `data_collection: deny` protects privacy.
 */
import { type Sentence, sentence } from '../base/sentences.ts'
import { isObject, type JsonObject } from '../base/json.ts'
import { unavailable } from '../errors.ts'
import { yamlFlag } from '../store/yaml-file.ts'

export type Routing = Readonly<Record<string, unknown>>

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'string' && value.trim() === '') ||
  (Array.isArray(value) && value.length === 0)

/** Undefined rejects the value. */
type Read = (value: unknown) => unknown

const isText = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number'

/** A single text counts as a list of one. */
const list: Read = value => {
  const all = Array.isArray(value) ? value : [value]
  return all.every(isText) ? all.map(each => String(each).trim()) : undefined
}

const word =
  (...words: string[]): Read =>
  value => {
    const word = typeof value === 'string' ? value.trim().toLowerCase() : ''
    return words.includes(word) ? word : undefined
  }

const mapping: Read = value => (isObject(value) ? value : undefined)
const number: Read = value => (typeof value === 'number' ? value : mapping(value))
const sort: Read = value => word('price', 'throughput', 'latency')(value) ?? mapping(value)

/** All routing keys of OpenRouter (https://openrouter.ai/docs/features/provider-routing). The command line knows the first six. */
const KEYS: Readonly<Record<string, { read: Read; kind: Sentence }>> = {
  sort: { read: sort, kind: sentence('kind.sort') },
  only: { read: list, kind: sentence('kind.names') },
  ignore: { read: list, kind: sentence('kind.names') },
  order: { read: list, kind: sentence('kind.names') },
  require_parameters: { read: yamlFlag, kind: sentence('kind.boolean') },
  data_collection: { read: word('allow', 'deny'), kind: sentence('kind.allow') },
  allow_fallbacks: { read: yamlFlag, kind: sentence('kind.boolean') },
  zdr: { read: yamlFlag, kind: sentence('kind.boolean') },
  enforce_distillable_text: { read: yamlFlag, kind: sentence('kind.boolean') },
  quantizations: { read: list, kind: sentence('kind.names') },
  max_price: { read: mapping, kind: sentence('kind.mapping') },
  preferred_min_throughput: { read: number, kind: sentence('kind.number') },
  preferred_max_latency: { read: number, kind: sentence('kind.number') },
}

const refuse = (what: Sentence): never => {
  throw unavailable(
    `config.yaml: ${what}. Fix it first: no request is sent to OpenRouter while it’s unclear which of its providers may read it.`,
    { code: 'routing_invalid', values: { problem: what }, config_problem: true },
  )
}

/** Null when nothing is configured. */
const readRouting = (value: unknown): Routing | null => {
  if (isNothing(value)) return null
  if (!isObject(value)) return refuse(sentence('routing.no_mapping'))
  const configured = Object.entries(value).filter(([, each]) => !isNothing(each))
  const routing = configured.map(([key, each]) => {
    const entry = Object.hasOwn(KEYS, key) ? KEYS[key] : undefined
    if (!entry) return refuse(sentence('routing.unknown', { key }))
    const value = entry.read(each)
    if (value === undefined) return refuse(sentence('routing.kind', { key, kind: entry.kind }))
    return [key, value] as const
  })
  return routing.length > 0 ? Object.fromEntries(routing) : null
}

const isOpenRouter = (provider: string, url: string): boolean => {
  const host = URL.parse(url)?.hostname ?? ''
  return provider === 'openrouter' || host === 'openrouter.ai' || host.endsWith('.openrouter.ai')
}

/** The `routing` field of an endpoint; empty for other providers. */
export const routingOf = (
  config: Readonly<JsonObject>,
  provider: string,
  url: string,
): { routing?: Routing } => {
  const routing = isOpenRouter(provider, url) ? readRouting(config.provider_routing) : null
  return routing ? { routing } : {}
}
