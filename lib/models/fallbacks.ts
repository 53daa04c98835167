/** Fallback models from config.yaml: `fallback_providers`, else the older `fallback_model`. */
import { isObject } from '../base/json.ts'
import type { ModelEndpoint } from '../agent/types.ts'
import { UserError } from '../errors.ts'
import { isUsableSecret } from './credentials.ts'
import { type PickKey, pickFirst } from './endpoint-key.ts'
import { type Resolved, resolveFor } from './resolve.ts'
import { asCustom, type ModelHome, readSetup, firstTrimmed } from './provider-config.ts'

export type Fallback = {
  pair: Resolved
  /** The key written beside the entry; null uses the provider's keys. */
  key: string | null
}

/** Resolves an endpoint; throws a UserError when it cannot be called. */
export type EndpointOf = (pair: Resolved, pick: PickKey) => ModelEndpoint

const readFallback = (home: ModelHome, raw: unknown): Fallback[] => {
  // A bare model id is resolved as if it were picked in the model menu.
  const entry = isObject(raw) ? raw : { model: typeof raw === 'string' ? raw : '' }
  const model = firstTrimmed(entry.model, entry.default)
  if (!model) return []
  // Skip malformed entries: they would read as "any provider".
  if ([entry.provider, entry.base_url].some(each => each != null && typeof each !== 'string'))
    return []
  const provider = firstTrimmed(entry.provider)
  const baseUrl = firstTrimmed(entry.base_url).replace(/\/+$/, '') || null
  const { custom } = readSetup(home)
  const pair =
    provider && provider.toLowerCase() !== 'auto'
      ? { model, provider: asCustom(provider, custom), baseUrl }
      : { ...resolveFor(home, model), ...(baseUrl && { baseUrl }) }
  const variable = firstTrimmed(entry.api_key_env, entry.key_env)
  const env = home.env()
  const key = firstTrimmed(entry.api_key, Object.hasOwn(env, variable) ? env[variable] : '')
  return [{ pair, key: isUsableSecret(key) ? key : null }]
}

/** In order of preference. */
export const readFallbacks = (home: ModelHome): Fallback[] => {
  const { fallback_providers: list, fallback_model: one } = home.config()
  const fallbacks = (Array.isArray(list) ? list : []).flatMap(raw => readFallback(home, raw))
  return fallbacks.length > 0 ? fallbacks : readFallback(home, one)
}

/** A key written beside a fallback is used for that fallback only; otherwise `pick` chooses. */
const pickFor = ({ key }: Fallback, pick: PickKey): PickKey =>
  key === null
    ? pick
    : () => ({
        key,
        source: 'config_yaml',
        name: 'fallback_providers',
        id: 'config:fallback_providers',
        cooldownUntilMs: 0,
        requests: 0,
        isPooled: false,
      })

/** Null when the fallback cannot be called: no key, no address, or an unsupported wire format. */
export const tryEndpoint = (
  fallback: Fallback,
  endpointOf: EndpointOf,
  pick: PickKey = pickFirst,
): ModelEndpoint | null => {
  try {
    return endpointOf(fallback.pair, pickFor(fallback, pick))
  } catch (error) {
    // Skip it. The error to report is the original failure, not that a fallback is not set up.
    if (error instanceof UserError) return null
    throw error
  }
}
