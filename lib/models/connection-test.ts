/** Tests a provider with a stored or unsaved key: makes a minimal model call, or fetches its model list. */
import type { Providers } from '../agent/types.ts'
import { invalid, UserError } from '../errors.ts'
import type { ProbeResult, ProviderTestResult } from '../schema/provider.ts'
import { toProviderId } from './provider-ids.ts'
import type { ModelCatalog } from './model-catalog.ts'
import { parseBaseUrl, withProvider } from './set-provider.ts'
import { parseModelId, effectiveDefault } from './default-model.ts'
import { labelFor } from './model-groups.ts'
import { parseApiKey, keyChange } from './provider-keys.ts'
import type { RemoteModels } from './remote-models.ts'
import { parseHint, resolveFor } from './resolve.ts'
import { baseUrlOf, resolveEndpoint } from './endpoint.ts'
import { type ModelHome, readSetup } from './provider-config.ts'
import { smallestModel, testCall } from './test-call.ts'

export type ConnectionTestInput = {
  provider: string
  model?: string
  /** Not stored: used for this test only. */
  apiKey?: string
  baseUrl?: string
}

/** The variable an unsaved key would be saved to. Unnamed custom endpoints share OPENAI_API_KEY with the command line. */
const variablesFor = (
  home: ModelHome,
  provider: string,
  apiKey: string | undefined,
): Record<string, string> => {
  if (!apiKey?.trim()) return {}
  if (provider === 'custom') return { OPENAI_API_KEY: parseApiKey(apiKey) }
  const { values } = keyChange(home, provider, apiKey)
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  )
}

export class ConnectionTests {
  readonly #live: RemoteModels
  readonly #catalog: ModelCatalog
  readonly #providers: Providers

  constructor(live: RemoteModels, catalog: ModelCatalog, providers: Providers) {
    this.#live = live
    this.#catalog = catalog
    this.#providers = providers
  }

  /** The home with the unsaved key and address applied. */
  #suppose(
    home: ModelHome,
    input: ConnectionTestInput,
    provider: string,
    model: string,
  ): ModelHome {
    const variables = variablesFor(home, provider, input.apiKey)
    const baseUrl = input.baseUrl?.trim() ? parseBaseUrl(input.baseUrl) : null
    if (!baseUrl && Object.keys(variables).length === 0) return home
    return withProvider(home, { provider, model, baseUrl }, variables)
  }

  async #modelFor(home: ModelHome, provider: string, model: string): Promise<string> {
    const setup = readSetup(home)
    if (model) return parseHint(parseModelId(model), setup.custom)?.model ?? model
    const configured = resolveFor(home, effectiveDefault(home, this.#catalog.defaults(home)))
    if (configured.model && configured.provider && toProviderId(configured.provider) === provider)
      return configured.model
    const id = smallestModel((await this.#catalog.of(home, provider)).ids)
    return parseHint(id, setup.custom)?.model ?? id
  }

  #requireProvider(text: string): string {
    const provider = toProviderId(text)
    if (!provider) throw invalid('provider is required', { code: 'missing_fields' })
    return provider
  }

  /** Makes a minimal model call. Provider failures are part of the result; it does not throw for them. */
  async call(
    home: ModelHome,
    input: ConnectionTestInput,
    signal: AbortSignal,
  ): Promise<ProviderTestResult> {
    const provider = this.#requireProvider(input.provider)
    const supposed = this.#suppose(home, input, provider, input.model ?? '')
    const model = await this.#modelFor(supposed, provider, input.model?.trim() ?? '')
    return testCall(
      this.#providers,
      { provider, model },
      () => {
        if (!model)
          throw invalid('This provider has no model list. Name the model to test.', {
            code: 'model_list_missing',
          })
        const pair = { model, provider, baseUrl: null }
        return resolveEndpoint(supposed, this.#catalog.defaults(home), pair)
      },
      signal,
    )
  }

  /** Fetches the model list. Nothing is stored. */
  async probe(home: ModelHome, input: ConnectionTestInput): Promise<ProbeResult> {
    const provider = this.#requireProvider(input.provider)
    const supposed = this.#suppose(home, input, provider, input.model ?? '')
    const setup = readSetup(supposed)
    const base_url = baseUrlOf(setup, provider)
    const none = { provider, base_url, models: [] }
    try {
      const remoteModels = await this.#live.fetch(supposed, provider)
      const models = remoteModels.map(({ id }) => ({ id, label: labelFor(setup, provider, id) }))
      return models.length > 0
        ? { ...none, ok: true, models, message: `${models.length} models` }
        : { ...none, ok: false, ...failure('This provider needs an API key first.') }
    } catch (error) {
      if (error instanceof UserError) return { ...none, ok: false, ...failure(error.message) }
      throw error
    }
  }
}

const failure = (message: string) => ({ message, error: message })
