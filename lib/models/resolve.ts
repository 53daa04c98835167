/** The one table that turns a model id into a pair {provider, model}; nothing beyond it guesses (contract §5.4). */
import { toProviderId, toSlug } from './provider-ids.ts'
import { STATIC_MODELS } from './builtin-models.ts'
import { AGGREGATORS, isEndpoint, PROVIDERS, providerNames } from './providers.ts'
import { type ModelHome, readSetup } from './provider-config.ts'

export type Resolved = {
  /** As the provider knows it; blank means "the default". */
  model: string
  /** As written in configuration or hint; null when nothing names one. */
  provider: string | null
  baseUrl: string | null
}

export type Configured = {
  provider: string | null
  baseUrl: string | null
  customProviders: readonly {
    slug: string | null
    model: string | null
    baseUrl: string | null
  }[]
}

/** One of the table, by any of its names; or one that has a name for people. */
const isKnown = (provider: string): boolean =>
  PROVIDERS.has(toProviderId(provider)) || providerNames().includes(toProviderId(provider))

/** Prefixes that name a maker the router can serve. */
const isMaker = (prefix: string): boolean =>
  prefix === 'openrouter' || Object.hasOwn(STATIC_MODELS, prefix)

/**
 * `@provider:model` split at the first colon; of `@custom:<name>:model` the name belongs to the provider when such a
 * custom provider exists. Undefined when it is no hint: either half may be missing.
 */
export const parseHint = (
  id: string,
  customProviders: Configured['customProviders'],
): { provider: string; model: string } | undefined => {
  const [, provider, model] = /^@([^:]+):(.+)$/s.exec(id) ?? []
  if (provider === undefined || model === undefined) return undefined
  if (provider.trim().toLowerCase() === 'custom') {
    // A name may hold colons itself: the longest one that exists is meant.
    const slugs = customProviders
      .flatMap(({ slug }) => slug ?? [])
      .toSorted((a, b) => b.length - a.length)
    const slug = slugs.find(
      name =>
        model.length > name.length + 1 && toSlug(model.slice(0, name.length + 1)) === `${name}:`,
    )
    if (slug) return { provider: `custom:${slug}`, model: model.slice(slug.length + 1) }
  }
  return { provider, model }
}

export const resolveModel = (id: string, configured: Configured): Resolved => {
  const { provider, baseUrl, customProviders } = configured
  if (!id.trim()) return { model: '', provider, baseUrl }

  const own = customProviders.find(({ slug, model }) => slug && model === id)
  if (own) return { model: id, provider: `custom:${own.slug}`, baseUrl: own.baseUrl }

  const hint = parseHint(id, customProviders)
  if (hint) return { ...hint, baseUrl: null }

  const slash = id.indexOf('/')
  const prefix = id.slice(0, Math.max(slash, 0))
  const rest = id.slice(slash + 1)
  if (prefix && provider === 'openrouter') return { model: id, provider, baseUrl }
  if (prefix && rest && prefix === provider) return { model: rest, provider, baseUrl }
  if (provider && (AGGREGATORS.has(provider) || isEndpoint(provider)))
    return { model: id, provider, baseUrl }
  // A provider that nobody knows is a slip or another program's: its models are not sent to a third one.
  if (isMaker(prefix) && prefix !== provider && (provider === null || isKnown(provider)))
    return { model: id, provider: 'openrouter', baseUrl: null }
  return { model: id, provider, baseUrl }
}

/** The same with a home's own configuration. */
export const resolveFor = (home: ModelHome, id: string): Resolved => {
  const setup = readSetup(home)
  return resolveModel(id, { ...setup, customProviders: setup.custom })
}
