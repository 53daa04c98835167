/** Whether the model stored in a session can still be served, and which one replaces it if not. */
import type { ModelGroup } from '../schema/model.ts'
import { toFamily, toProviderId } from './provider-ids.ts'
import type { DefaultConfig } from './default-model.ts'
import { type ModelInfoSources, modelGroups } from './model-groups.ts'
import { isAggregator } from './providers.ts'
import { parseHint } from './resolve.ts'
import { type ModelHome, readSetup } from './provider-config.ts'

export type OfferedModels = {
  /** Canonical id of the active provider, or null. */
  active: string | null
  defaultModel: string
  groups: readonly ModelGroup[]
  /** Needed to parse `@custom:<slug>:model`. */
  custom?: readonly { slug: string | null }[]
}

/** `changed`: the caller stores `model` and reports the change. A blank session model is never stored. */
export type CompatibleModel = { model: string; changed: boolean }

const isOffered = (catalog: OfferedModels, provider: string): boolean => {
  const id = toProviderId(provider)
  return (
    id === catalog.active ||
    id === 'demo' ||
    catalog.groups.some(group => toProviderId(group.provider_id) === id)
  )
}

/** The active provider lists this exact id, so it serves it whatever the name suggests. */
const isListed = ({ active, groups }: OfferedModels, id: string): boolean =>
  groups.some(group => group.provider_id === active && group.models.some(model => model.id === id))

/** A bare id of a known family (gpt, claude, gemini) does not fit a provider of another family. */
const fitsBare = (catalog: OfferedModels, id: string): boolean => {
  const family = toFamily(catalog.active ?? '')
  const [own] = /^(?:gpt|claude|gemini)/.exec(id.toLowerCase()) ?? []
  return !family || !own || toFamily(own) === family || isListed(catalog, id)
}

/** Unknown makers always fit; known ones need their own group, OpenRouter or an aggregator. */
const fitsMaker = (catalog: OfferedModels, id: string, prefix: string): boolean => {
  const family = toFamily(prefix)
  const active = catalog.active ?? ''
  if (['', 'custom', 'openrouter'].includes(family)) return true
  if (prefix === active || family === toFamily(active) || isListed(catalog, id)) return true
  return isOffered(catalog, prefix) || isOffered(catalog, 'openrouter') || isAggregator(active)
}

const fits = (catalog: OfferedModels, id: string): boolean => {
  const hint = parseHint(id, catalog.custom ?? [])
  if (hint) return isOffered(catalog, hint.provider)
  const slash = id.indexOf('/')
  return slash > 0 ? fitsMaker(catalog, id, id.slice(0, slash)) : fitsBare(catalog, id)
}

/** A real provider may have a model called `demo`; otherwise the id means the scripted demo model. */
const isNamed = ({ groups }: OfferedModels, id: string): boolean =>
  groups.some(({ models }) => models.some(model => model.id === id))

export const compatibleModel = (
  sessionModel: string | null,
  catalog: OfferedModels,
): CompatibleModel => {
  const id = sessionModel?.trim() ?? ''
  const { defaultModel } = catalog
  if (!id) return { model: defaultModel, changed: false }
  if (id === 'demo' && !isNamed(catalog, id))
    return { model: defaultModel, changed: !!defaultModel }
  const isKept = catalog.active === null || !defaultModel || fits(catalog, id)
  return isKept ? { model: id, changed: false } : { model: defaultModel, changed: true }
}

/** The same with the current configuration of a home. */
export const compatibleFor = (
  home: ModelHome,
  config: DefaultConfig,
  sessionModel: string | null,
  beyond: ModelInfoSources = {},
): CompatibleModel => {
  const { active_provider, default_model, groups } = modelGroups(home, config, beyond)
  return compatibleModel(sessionModel, {
    active: active_provider,
    defaultModel: default_model,
    groups,
    custom: readSetup(home).custom,
  })
}
