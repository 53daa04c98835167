/** Resolves a model id to {provider, model}. No other code guesses providers. */
import { toProviderId, toSlug } from './provider-ids.ts'
import { isAggregator, isEndpoint, NAMED, PROVIDERS } from './providers.ts'
import { type ModelHome, readSetup } from './provider-config.ts'

export type Resolved = {
  /** The provider's own id; blank means the default model. */
  model: string
  /** As written in config.yaml or in the hint; null when not given. */
  provider: string | null
  baseUrl: string | null
}

/** What of a configuration decides what a model id means. */
export type ModelNames = {
  provider: string | null
  baseUrl: string | null
  custom: readonly { slug: string | null; model: string | null; baseUrl: string | null }[]
}

/** A provider of the table or one with a display name, under any alias. */
export const isKnown = (provider: string): boolean =>
  PROVIDERS.has(toProviderId(provider)) || NAMED.has(toProviderId(provider))

/** Prefixes of makers OpenRouter serves. */
const MAKERS: ReadonlySet<string> = new Set(
  [...PROVIDERS].flatMap(([id, { models, maker = id }]) => (models ? [id, maker] : [])),
)

/**
 * Parses `@provider:model`, split at the first colon. In `@custom:<slug>:model` the slug belongs to the provider if such a
 * custom provider exists. Undefined when the id has no hint or half of it is missing.
 */
export const parseHint = (
  id: string,
  custom: readonly { slug: string | null }[],
): { provider: string; model: string } | undefined => {
  const [, provider, model] = /^@([^:]+):(.+)$/s.exec(id) ?? []
  if (provider === undefined || model === undefined) return undefined
  if (provider.trim().toLowerCase() === 'custom') {
    // A slug may contain colons; the longest match wins.
    const slugs = custom.flatMap(({ slug }) => slug ?? []).toSorted((a, b) => b.length - a.length)
    const slug = slugs.find(
      name =>
        model.length > name.length + 1 && toSlug(model.slice(0, name.length + 1)) === `${name}:`,
    )
    if (slug) return { provider: `custom:${slug}`, model: model.slice(slug.length + 1) }
  }
  return { provider, model }
}

export const resolveModel = (id: string, configured: ModelNames): Resolved => {
  const { provider, baseUrl, custom } = configured
  if (!id.trim()) return { model: '', provider, baseUrl }

  const own = custom.find(({ slug, model }) => slug && model === id)
  if (own) return { model: id, provider: `custom:${own.slug}`, baseUrl: own.baseUrl }

  const hint = parseHint(id, custom)
  if (hint) return { ...hint, baseUrl: null }

  const slash = id.indexOf('/')
  const prefix = id.slice(0, Math.max(slash, 0))
  const rest = id.slice(slash + 1)
  if (prefix && provider === 'openrouter') return { model: id, provider, baseUrl }
  if (prefix && rest && prefix === provider) return { model: rest, provider, baseUrl }
  if (provider && (isAggregator(provider) || isEndpoint(provider)))
    return { model: id, provider, baseUrl }
  // An unknown provider may be a typo or another program's. Its models are not sent to OpenRouter.
  if (MAKERS.has(prefix) && prefix !== provider && (provider === null || isKnown(provider)))
    return { model: id, provider: 'openrouter', baseUrl: null }
  return { model: id, provider, baseUrl }
}

/** The same with the configuration of a home. */
export const resolveFor = (home: ModelHome, id: string): Resolved =>
  resolveModel(id, readSetup(home))
