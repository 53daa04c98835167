/** The default model of a home: how it is resolved, and how it is saved so that the command line can read it. */
import { invalid, UserError } from '../errors.ts'
import type { YamlEdit, YamlFile } from '../store/yaml-file.ts'
import { toProviderId } from './provider-ids.ts'
import { saveEndpointEdits, restoreEndpointEdits } from './saved-endpoints.ts'
import { PROVIDERS } from './providers.ts'
import { isKnown, parseHint, type Resolved, resolveModel } from './resolve.ts'
import { type ModelHome, type ModelSetup, readSetup } from './provider-config.ts'

/** The default models of the environment. */
export type DefaultConfig = { defaultModel: string; modelOverride: string }

/** A home whose config.yaml can be edited. */
export type EditableHome = ModelHome & {
  readonly configFile: {
    read: YamlFile['read']
    edit: YamlFile['edit']
    editAll: YamlFile['editAll']
  }
}

/** config.yaml, then AGENT_WEBUI_DEFAULT_MODEL, then AGENT_MODEL, OPENAI_MODEL or LLM_MODEL, then ''. */
export const defaultModelOf = (setup: ModelSetup, config: DefaultConfig): string =>
  setup.model || config.defaultModel.trim() || config.modelOverride.trim()

export const effectiveDefault = (home: ModelHome, config: DefaultConfig): string =>
  defaultModelOf(readSetup(home), config)

/** Validates a model id; throws a UserError. */
export const parseModelId = (raw: string): string => {
  const id = raw.trim()
  if (!id) throw invalid('model is required', { code: 'missing_fields' })
  if (id.length > 500)
    throw invalid('model must be at most 500 characters long', { code: 'invalid_model' })
  const [, provider, name] = /^@([^:]*):(.*)$/s.exec(id) ?? []
  // Names such as @cf/meta/llama are models.
  const isEmptyHint = /^@[^:]*$/.test(id) && !/^@[^\s@].*\//.test(id)
  if (
    isEmptyHint ||
    (provider !== undefined && (!provider.trim() || !name?.trim() || /:\s*$/.test(id)))
  )
    throw invalid(`"${id}" is not a model. Write it as @provider:model.`, { code: 'invalid_model' })
  // Control characters, line separators and lone surrogates.
  if (/[\p{Cc}\u2028\u2029]/u.test(id) || !id.isWellFormed())
    throw invalid('model contains characters that cannot be part of a name', {
      code: 'invalid_model',
    })
  return id
}

/** Turns `model: name` into a mapping, so that keys can be set in it. */
export const modelSectionEdits = (raw: unknown): YamlEdit[] =>
  typeof raw === 'string' && raw.trim() ? [[['model'], { default: raw.trim() }]] : []

/** Edits of `model.base_url`: the address of the previous provider must not stay when the provider changes. */
const baseUrlEdits = (target: Resolved, hasChanged: boolean): YamlEdit[] => {
  const path = ['model', 'base_url']
  if (target.baseUrl) return [[path, target.baseUrl.replace(/\/+$/, '')]]
  if (!hasChanged) return []
  if (target.provider === 'openai') return [[path, PROVIDERS.get('openai')?.baseUrl]]
  // Otherwise the root `base_url` of older files would apply instead of the removed one.
  return target.provider?.startsWith('custom:')
    ? []
    : [
        [path, undefined],
        [['base_url'], undefined],
      ]
}

/**
 * The model id to save, given that its provider is saved beside it: the bare name, or `provider/name` where the bare name
 * would resolve to something else (`openai/x` served by openai, or a name a custom provider also uses).
 */
const persistedForm = (setup: ModelSetup, model: string, provider: string | null): string => {
  const after = { ...setup, provider }
  const isSame = (form: string): boolean => {
    const result = resolveModel(form, after)
    return result.model === model && result.provider === provider
  }
  const form = [model, `${provider ?? ''}/${model}`].find(isSame)
  if (form === undefined)
    throw invalid(
      `The model "${model}" cannot be stored as a default of ${provider ?? 'no provider'}`,
      { code: 'invalid_model' },
    )
  return form
}

/** Throws for a hint of a provider that is neither built in nor configured: with such a default every later turn fails. */
export const requireServed = (home: ModelHome, id: string): void => {
  const setup = readSetup(home)
  const hint = parseHint(parseModelId(id), setup.custom)
  if (!hint) return
  const provider = toProviderId(hint.provider)
  const isServed =
    isKnown(provider) ||
    provider === setup.active ||
    setup.providers.has(provider) ||
    setup.custom.some(({ slug }) => slug !== null && provider === `custom:${slug}`)
  if (!isServed)
    throw invalid(`"${hint.provider}" is no provider that is built in or in config.yaml.`, {
      code: 'invalid_model',
    })
}

/** Saves the default model without an `@provider:` hint, which the command line cannot read. Returns the saved id. */
export const setDefaultModel = (home: EditableHome, id: string): string => {
  const modelId = parseModelId(id)
  const setup = readSetup(home)
  const target = resolveModel(modelId, setup)
  const provider = target.provider ?? setup.provider
  const hasChanged =
    provider !== null && (setup.active === null || toProviderId(provider) !== setup.active)
  const model = persistedForm(setup, target.model, provider)
  const config = home.configFile.read()
  const brought =
    hasChanged && provider !== null ? restoreEndpointEdits(setup, config, provider) : null
  home.configFile.editAll([
    ...modelSectionEdits(config.model),
    ...(provider === null ? [] : saveEndpointEdits(setup, config, provider, target.baseUrl)),
    [['model', 'default'], model],
    ...(provider === null ? [] : [[['model', 'provider'], provider] as const]),
    ...(brought
      ? [[['base_url'], undefined] as const, ...brought]
      : baseUrlEdits({ ...target, provider }, hasChanged)),
  ])
  return model
}

/** Moves the default model of an old settings.json to config.yaml, unless the home has one. */
export const migrateDefaultModel = (home: EditableHome, id: string): void => {
  const model = id.trim()
  if (!model || readSetup(home).model) return
  // The command line cannot read a hint; the provider goes where it belongs.
  try {
    if (model.startsWith('@')) setDefaultModel(home, model)
    else home.configFile.edit(['model', 'default'], model)
  } catch (error) {
    // What names no model is none.
    if (!(error instanceof UserError) || error.kind !== 'invalid') throw error
  }
}
