/** Groups the models of a home by provider. */
import type { ModelGroup, ModelList, ModelOption } from '../schema/model.ts'
import { agentGroup, type ExternalAgentSources } from './external-agents.ts'
import { customId, toProviderId } from './provider-ids.ts'
import { builtinModels } from './builtin-models.ts'
import {
  configuredProviders,
  isKeyOfOwnServer,
  isOwnAddress,
  isUnconfigured,
} from './credentials.ts'
import type { RemoteModel } from './fetch-model-list.ts'
import { type DefaultConfig, defaultModelOf } from './default-model.ts'
import { liveLabel, shortLabel, tagLabel } from './model-labels.ts'
import { isTagServer } from './local-servers.ts'
import { resolveModel } from './resolve.ts'
import { baseUrlOf, providerName } from './endpoint.ts'
import { type ModelHome, type ModelSetup, readSetup } from './provider-config.ts'

/** Model information beyond the home's files. */
export type ModelInfoSources = {
  /** Cached remote model list; does not fetch. */
  live?: (provider: string) => readonly RemoteModel[] | null
  /** Context length in tokens; 0 when unknown. `id` has no provider hint. */
  window?: (setup: ModelSetup, provider: string, id: string) => number
  /** External agents. */
  agents?: ExternalAgentSources
}

const demoGroup = (): ModelGroup => ({
  provider: 'Demo model (offline, scripted)',
  provider_id: 'demo',
  models: [{ id: 'demo', label: 'Demo model (offline, scripted)' }],
})

const asOptions = (ids: Iterable<string>, label: (id: string) => string): ModelOption[] =>
  [...ids].map(id => ({ id, label: label(id) }))

/** Ids of the active provider stay bare, as do all ids while no provider is active; others get an `@provider:` hint. */
export const withProviderHint = (id: string, provider: string, active: string | null): string =>
  active === null || active === provider || id.startsWith('@') ? id : `@${provider}:${id}`

const customModels = (setup: ModelSetup, provider: string): ModelOption[] => {
  const entries = setup.custom.filter(entry => provider === customId(entry))
  const ids = new Set(entries.flatMap(({ models }) => [...models.keys()]))
  const configured = setup.providers.get(provider)?.models.keys() ?? []
  return asOptions(new Set([...ids, ...configured]), shortLabel)
}

/** Models listed in config.yaml replace the built-in list. */
const writtenModels = (setup: ModelSetup, provider: string): ModelOption[] => {
  if (provider === 'custom' || provider.startsWith('custom:')) return customModels(setup, provider)
  const configured = setup.providers.get(provider)?.models
  if (configured?.size) return asOptions(configured.keys(), id => id)
  // Copies, because the table is shared.
  return (builtinModels(provider) ?? []).map(option => ({ ...option }))
}

const addressFor = (setup: ModelSetup, provider: string): string => baseUrlOf(setup, provider)

/**
 * Whether to fetch the provider's own model list: for custom providers, when no list is configured or built in, and at an
 * address the home chose, which may serve anything.
 */
export const usesRemoteList = (setup: ModelSetup, provider: string): boolean => {
  if (provider === 'demo' || provider === 'openrouter') return false
  if (provider === 'custom' || provider.startsWith('custom:')) return true
  if (setup.providers.get(provider)?.models.size) return false
  if (!builtinModels(provider)) return true
  const url = setup.active === provider ? setup.baseUrl : null
  return url !== null && !isOwnAddress(setup, provider, url)
}

export const labelFor = (setup: ModelSetup, provider: string, id: string): string =>
  isTagServer(provider, addressFor(setup, provider)) ? tagLabel(id) : liveLabel(id)

/** The remote list, followed by configured models of a custom provider that it lacks. */
const modelsOf = (
  setup: ModelSetup,
  provider: string,
  { live }: ModelInfoSources,
): ModelOption[] => {
  const configured = writtenModels(setup, provider)
  const remote = usesRemoteList(setup, provider) ? live?.(provider) : null
  if (!remote?.length) return configured
  const has = new Set(remote.map(({ id }) => id))
  const others = provider.startsWith('custom') ? configured.filter(({ id }) => !has.has(id)) : []
  return [...remote.map(({ id }) => ({ id, label: labelFor(setup, provider, id) })), ...others]
}

const buildGroup = (setup: ModelSetup, provider: string, beyond: ModelInfoSources): ModelGroup => ({
  provider: providerName(setup, provider),
  provider_id: provider,
  models: modelsOf(setup, provider, beyond).map(({ id, label }) =>
    sized(setup, provider, id, beyond, { id: withProviderHint(id, provider, setup.active), label }),
  ),
})

const sized = (
  setup: ModelSetup,
  provider: string,
  id: string,
  { window }: ModelInfoSources,
  option: ModelOption,
): ModelOption => {
  const contextLength = window?.(setup, provider, id) ?? 0
  return contextLength > 0 ? { ...option, context_length: contextLength } : option
}

/** Normalizes ids: `openai/gpt-5-4` and `gpt-5.4` are the same model. */
const comparable = (id: string, provider: string): string => {
  const hint = `@${provider}:`
  const own = id.startsWith(hint) ? id.slice(hint.length) : id
  return own.slice(own.indexOf('/') + 1).replaceAll('-', '.')
}

/** Adds the default model at the top of its provider's group, or in a group of its own. */
const withDefault = (
  setup: ModelSetup,
  groups: ModelGroup[],
  model: string,
  beyond: ModelInfoSources,
): ModelGroup[] => {
  if (!model) return groups
  const pair = resolveModel(model, setup)
  const owner = pair.provider && toProviderId(pair.provider)
  const group = groups.find(({ provider_id }) => provider_id === owner)
  const has = ({ provider_id, models }: ModelGroup): boolean =>
    models.some(({ id }) => comparable(id, provider_id) === comparable(model, provider_id))
  const option = sized(setup, owner ?? '', pair.model, beyond, {
    id: model,
    label: shortLabel(model),
  })
  if (group ? has(group) : owner === null && groups.some(has)) return groups
  if (group)
    return groups.map(each =>
      each === group ? { ...group, models: [option, ...group.models] } : each,
    )
  return [...groups, { provider: 'Default', provider_id: 'default', models: [option] }]
}

/** Computed from the current files; the result is a fresh object. */
export const modelGroups = (
  home: ModelHome,
  config: DefaultConfig,
  beyond: ModelInfoSources = {},
): ModelList => {
  const setup = readSetup(home)
  const defaultModel = defaultModelOf(setup, config)
  const groups = [...configuredProviders(setup)]
    .filter(id => id !== 'demo' && !(id === 'openai' && isKeyOfOwnServer(setup)))
    .sort()
    .map(id => buildGroup(setup, id, beyond))
    .filter(({ models }) => models.length > 0)
  const agents = beyond.agents && agentGroup(setup, beyond.agents)
  if (agents) groups.push(agents)
  const isDemo = setup.active === 'demo' || isUnconfigured(setup)
  const demo = isDemo ? [demoGroup()] : []
  const isOffered = !(setup.active === 'demo' && defaultModel === 'demo')
  return {
    active_provider: setup.active,
    default_model: defaultModel,
    groups: [...demo, ...withDefault(setup, groups, isOffered ? defaultModel : '', beyond)],
  }
}
