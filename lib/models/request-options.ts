/** Further headers and time limits of requests to a provider: `extra_headers`, `request_timeout_seconds`, `stale_timeout_seconds`. */
import { fromSeconds } from '../base/clock.ts'
import { isObject, type JsonObject } from '../base/json.ts'
import type { RequestSettings } from '../agent/types.ts'
import { mayReceiveConfigured } from './credentials.ts'
import type { ModelSetup } from './provider-config.ts'
import { customEntry } from './provider-ids.ts'

/** `default_headers` is the host agent's name for it. */
const HEADER_KEYS = ['extra_headers', 'default_headers']
const TIMEOUT_KEYS = ['request_timeout_seconds', 'stale_timeout_seconds']

/** They belong to the connection or to the body. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const isAbsent = (value: unknown): boolean => value === undefined || value === null
const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value)

const isHeader = ([name, value]: [string, unknown]): boolean =>
  /^[\w!#$%&'*+.^`|~-]+$/.test(name) &&
  !FORBIDDEN.has(name.toLowerCase()) &&
  (isAbsent(value) || (isScalar(value) && /^[\t\x20-\x7e\x80-\xff]*$/.test(String(value))))

/** The first key that cannot be used, with what it must be. */
export const wrongRequestOption = (
  raw: Readonly<JsonObject>,
): { key: string; value: unknown; kind: string } | null => {
  for (const key of HEADER_KEYS) {
    const headers = raw[key]
    if (isAbsent(headers)) continue
    if (!isObject(headers)) return { key, value: headers, kind: 'a mapping of headers' }
    const bad = Object.entries(headers).find(header => !isHeader(header))
    // Its value may be a secret.
    if (bad) return { key: `${key}.${bad[0]}`, value: '…', kind: 'a header that may be set' }
  }
  const key = TIMEOUT_KEYS.find(name => !isAbsent(raw[name]) && !(Number(raw[name]) >= 0))
  return key === undefined ? null : { key, value: raw[key], kind: 'a number of seconds' }
}

const headersIn = (raw: Readonly<JsonObject>): Record<string, string> =>
  Object.fromEntries(
    HEADER_KEYS.toReversed()
      .flatMap(key => (isObject(raw[key]) ? Object.entries(raw[key]) : []))
      .filter(([, value]) => !isAbsent(value))
      .map(([name, value]) => [name.toLowerCase(), String(value).trim()]),
  )

/** 0 means without a limit. */
const millisecondsIn = (value: unknown): number | undefined =>
  isAbsent(value) || !(Number(value) >= 0) ? undefined : fromSeconds(Number(value))

export const readRequestOptions = (raw: Readonly<JsonObject>): RequestSettings => {
  const headers = headersIn(raw)
  const requestTimeoutMs = millisecondsIn(raw.request_timeout_seconds)
  const staleTimeoutMs = millisecondsIn(raw.stale_timeout_seconds)
  return {
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
    ...(staleTimeoutMs !== undefined && { staleTimeoutMs }),
  }
}

/** Those of the provider, then those beside `model.base_url`. Headers may hold keys: they go where a configured key may go. */
export const requestOptionsFor = (
  setup: ModelSetup,
  provider: string,
  url: string,
): RequestSettings => {
  const own = (customEntry(setup, provider) ?? setup.providers.get(provider))?.request ?? {}
  const beside = setup.active === provider ? setup.request : {}
  const { headers: _, ...limits } = { ...own, ...beside }
  const headers = { ...own.headers, ...beside.headers }
  return {
    ...limits,
    ...(Object.keys(headers).length > 0 &&
      mayReceiveConfigured(setup, provider, url) && { headers }),
  }
}
