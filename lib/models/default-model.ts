/** Which model is meant when nobody names one, and how that choice is written down for the command line to read. */
import type { Config } from '../config.ts'
import { invalid } from '../errors.ts'
import type { YamlEdit, YamlFile } from '../store/yaml-file.ts'
import { toProviderId } from './provider-ids.ts'
import { saveEndpointEdits, restoreEndpointEdits } from './saved-endpoints.ts'
import { PROVIDERS } from './providers.ts'
import { type Resolved, resolveModel } from './resolve.ts'
import { type ModelHome, type ModelSetup, readSetup } from './provider-config.ts'

export type DefaultConfig = Pick<Config, 'defaultModel' | 'modelOverride'>

/** A home whose config.yaml may be edited. */
export type EditableHome = ModelHome & {
  readonly config: Pick<YamlFile, 'read' | 'edit' | 'editAll'>
}

/** The home's configuration, then AGENT_WEBUI_DEFAULT_MODEL, then AGENT_MODEL and its kin, then '' (decision 7). */
export const defaultModelOf = (setup: ModelSetup, config: DefaultConfig): string =>
  setup.model || config.defaultModel.trim() || config.modelOverride.trim()

export const effectiveDefault = (home: ModelHome, config: DefaultConfig): string =>
  defaultModelOf(readSetup(home), config)

/** A model id people can pick: printable, and text that survives a file. */
export const parseModelId = (raw: string): string => {
  const id = raw.trim()
  if (!id) throw invalid('model is required', { code: 'missing_fields' })
  if (id.length > 500) throw invalid('model must be at most 500 characters long')
  const [, provider, name] = /^@([^:]*):(.*)$/s.exec(id) ?? []
  if (provider !== undefined && (!provider.trim() || !name?.trim() || /:\s*$/.test(id)))
    throw invalid(`"${id}" names no model. Write it as @provider:model.`)
  // Control characters, line ends and halves of surrogate pairs never name a model.
  if (/[\p{Cc}\u2028\u2029]/u.test(id) || !id.isWellFormed())
    throw invalid('model contains characters that cannot be part of a name')
  return id
}

/** config.yaml may hold `model` as a bare string: it becomes a mapping before keys are set in it. */
export const modelSectionEdits = (raw: unknown): YamlEdit[] =>
  typeof raw === 'string' && raw.trim() ? [[['model'], { default: raw.trim() }]] : []

/** What happens to `model.base_url` when the resolution names none: it belongs to the provider that was configured before. */
const baseUrlEdits = (resolved: Resolved, hasChanged: boolean): YamlEdit[] => {
  const path = ['model', 'base_url']
  if (resolved.baseUrl) return [[path, resolved.baseUrl.replace(/\/+$/, '')]]
  if (!hasChanged) return []
  if (resolved.provider === 'openai') return [[path, PROVIDERS.get('openai')?.baseUrl]]
  // The older place at the root would otherwise step in for the removed one.
  return resolved.provider?.startsWith('custom:')
    ? []
    : [
        [path, undefined],
        [['base_url'], undefined],
      ]
}

/**
 * The text that stands for the pair once its provider is configured: the model's own name, or `provider/name` where the
 * bare name would be read as something else (`openai/x` served by openai, a name that a custom provider also uses).
 */
const persistedForm = (setup: ModelSetup, model: string, provider: string | null): string => {
  const after = { provider, baseUrl: setup.baseUrl, customProviders: setup.custom }
  const isSame = (form: string): boolean => {
    const read = resolveModel(form, after)
    return read.model === model && read.provider === provider
  }
  const form = [model, `${provider ?? ''}/${model}`].find(isSame)
  if (form === undefined)
    throw invalid(
      `The model "${model}" cannot be stored as a default of ${provider ?? 'no provider'}`,
    )
  return form
}

/** Writes the default model: bare or with a slash, never with a hint, so that the command line can use it. Answers what was written. */
export const setDefaultModel = (home: EditableHome, id: string): string => {
  const wanted = parseModelId(id)
  const setup = readSetup(home)
  const resolved = resolveModel(wanted, { ...setup, customProviders: setup.custom })
  const provider = resolved.provider ?? setup.provider
  const hasChanged =
    provider !== null && (setup.active === null || toProviderId(provider) !== setup.active)
  const model = persistedForm(setup, resolved.model, provider)
  const config = home.config.read()
  const brought = hasChanged && provider !== null ? restoreEndpointEdits(config, provider) : null
  home.config.editAll([
    ...modelSectionEdits(config.model),
    ...(provider === null ? [] : saveEndpointEdits(setup, config, provider, resolved.baseUrl)),
    [['model', 'default'], model],
    ...(provider === null ? [] : [[['model', 'provider'], provider] as const]),
    ...(brought
      ? [[['base_url'], undefined] as const, ...brought]
      : baseUrlEdits({ ...resolved, provider }, hasChanged)),
  ])
  return model
}

/** A default model found in an old settings.json moves here once, unless the home already says its own (decision 39). */
export const migrateDefaultModel = (home: EditableHome, id: string): void => {
  const model = id.trim()
  if (!model || readSetup(home).model) return
  home.config.edit(['model', 'default'], model)
}
