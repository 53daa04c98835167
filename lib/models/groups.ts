/** The model list of a home: which providers it is set up for, and what each of them offers (contract §5.6). */
import type { ModelGroup, ModelList, ModelOption } from '../schema/model.ts'
import { toProviderId } from './aliases.ts'
import { builtinModels } from './builtin.ts'
import { configuredProviders, isUnconfigured } from './credentials.ts'
import { type DefaultConfig, defaultOf } from './default.ts'
import { displayName } from './providers.ts'
import { resolveModel } from './resolve.ts'
import { type ModelHome, type ModelSetup, readSetup } from './setup.ts'

const demoGroup = (): ModelGroup => ({
  provider: 'Demo model (offline, scripted)',
  provider_id: 'demo',
  models: [{ id: 'demo', label: 'Demo model (offline, scripted)' }],
})

/** What stands after the last slash. */
const shortLabel = (id: string): string => id.slice(id.lastIndexOf('/') + 1) || id

const asOptions = (ids: Iterable<string>, label: (id: string) => string): ModelOption[] =>
  [...ids].map(id => ({ id, label: label(id) }))

/** Bare for the active provider and while none is known; every other id says whose it is (decision 4). */
export const prefixed = (id: string, provider: string, active: string | null): string =>
  active === null || active === provider || id.startsWith('@') ? id : `@${provider}:${id}`

const customModels = (setup: ModelSetup, provider: string): ModelOption[] => {
  const entries = setup.custom.filter(({ slug }) => provider === `custom${slug ? `:${slug}` : ''}`)
  const ids = new Set(entries.flatMap(({ models }) => [...models.keys()]))
  const configured = setup.providers.get(provider)?.models.keys() ?? []
  return asOptions(new Set([...ids, ...configured]), shortLabel)
}

/** Models written down in the configuration replace the built-in list. */
const modelsOf = (setup: ModelSetup, provider: string): ModelOption[] => {
  if (provider === 'custom' || provider.startsWith('custom:')) return customModels(setup, provider)
  const configured = setup.providers.get(provider)?.models
  if (configured?.size) return asOptions(configured.keys(), id => id)
  // Copies: the table is shared by every home and every request.
  return (builtinModels(provider) ?? []).map(option => ({ ...option }))
}

const groupName = (setup: ModelSetup, provider: string): string =>
  setup.custom.find(({ slug }) => slug && provider === `custom:${slug}`)?.name ??
  displayName(provider)

const buildGroup = (setup: ModelSetup, provider: string): ModelGroup => ({
  provider: groupName(setup, provider),
  provider_id: provider,
  models: modelsOf(setup, provider).map(({ id, label }) => ({
    id: prefixed(id, provider, setup.active),
    label,
  })),
})

/** `openai/gpt-5-4` and `gpt-5.4` are the same name written by two tables. */
const comparable = (id: string, provider: string): string => {
  const hint = `@${provider}:`
  const own = id.startsWith(hint) ? id.slice(hint.length) : id
  return own.slice(own.indexOf('/') + 1).replaceAll('-', '.')
}

/** The default model stands at the top of its provider's group; where that is not shown, in a group of its own. */
const withDefault = (setup: ModelSetup, groups: ModelGroup[], model: string): ModelGroup[] => {
  if (!model) return groups
  const { provider } = resolveModel(model, { ...setup, customProviders: setup.custom })
  const owner = provider && toProviderId(provider)
  const group = groups.find(({ provider_id }) => provider_id === owner)
  const has = ({ provider_id, models }: ModelGroup): boolean =>
    models.some(({ id }) => comparable(id, provider_id) === comparable(model, provider_id))
  const option = { id: model, label: shortLabel(model) }
  if (group ? has(group) : owner === null && groups.some(has)) return groups
  if (group)
    return groups.map(each =>
      each === group ? { ...group, models: [option, ...group.models] } : each,
    )
  return [...groups, { provider: 'Default', provider_id: 'default', models: [option] }]
}

/** Computed anew from the home as it stands; nothing is shared between two answers. */
export const modelGroups = (home: ModelHome, config: DefaultConfig): ModelList => {
  const setup = readSetup(home)
  const defaultModel = defaultOf(setup, config)
  const found = [...configuredProviders(setup)]
    .filter(id => id !== 'demo')
    .sort()
    .map(id => buildGroup(setup, id))
    .filter(({ models }) => models.length > 0)
  const isDemo = setup.active === 'demo' || isUnconfigured(setup)
  const demo = isDemo ? [demoGroup()] : []
  const isOffered = !(setup.active === 'demo' && defaultModel === 'demo')
  return {
    active_provider: setup.active,
    default_model: defaultModel,
    groups: [...demo, ...withDefault(setup, found, isOffered ? defaultModel : '')],
  }
}
