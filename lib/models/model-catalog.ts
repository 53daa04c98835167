/** The model list of a home, completed with remote model lists, context lengths and prices. */
import { type Clock, waitAtMost } from '../base/clock.ts'
import { isLocalUrl } from '../base/local-network.ts'
import { UserError } from '../errors.ts'
import type { ModelList, ModelOption } from '../schema/model.ts'
import type { ExternalAgentSources } from './external-agents.ts'
import { customEntry, toProviderId } from './provider-ids.ts'
import { builtinModels } from './builtin-models.ts'
import { configuredProviders, isUnconfigured } from './credentials.ts'
import { type DefaultConfig, defaultModelOf, effectiveDefault } from './default-model.ts'
import { type ModelInfoSources, labelFor, modelGroups, usesRemoteList } from './model-groups.ts'
import { shortLabel } from './model-labels.ts'
import type { RemoteModels } from './remote-models.ts'
import type { ModelFacts, Prices } from './prices.ts'
import type { ServedWindows } from './served-windows.ts'
import { baseUrlOf, configuredContextLength, resolveEndpoint } from './endpoint.ts'
import { type ModelHome, type ModelSetup, readSetup } from './provider-config.ts'
import { knownContextLength } from './context-windows.ts'

export type ProviderModels = {
  provider: string
  models: ModelOption[]
  ids: string[]
  count: number
}

const MAX_WAIT_MS = 3_000

export class ModelCatalog {
  readonly #clock: Clock
  readonly #live: RemoteModels
  readonly #prices: Prices
  readonly #config: DefaultConfig
  readonly #agents: ((home: ModelHome) => ExternalAgentSources) | undefined
  readonly #windows: ServedWindows | undefined
  readonly #maxWaitMs: number

  constructor({
    clock,
    live,
    prices,
    config,
    agents,
    windows,
    maxWaitMs = MAX_WAIT_MS,
  }: {
    clock: Clock
    live: RemoteModels
    prices: Prices
    config: DefaultConfig
    /** Windows that servers reported; absent: none. */
    windows?: ServedWindows
    /** External agents of a home. */
    agents?: (home: ModelHome) => ExternalAgentSources
    /** How long a list waits for servers, in milliseconds. Later answers are in the next list. */
    maxWaitMs?: number
  }) {
    this.#clock = clock
    this.#live = live
    this.#prices = prices
    this.#config = config
    this.#agents = agents
    this.#windows = windows
    this.#maxWaitMs = maxWaitMs
  }

  factsIn(home: ModelHome): (provider: string, model: string) => ModelFacts | null {
    return (provider: string, model: string): ModelFacts | null => {
      const remote = this.#live.cached(home, provider)?.find(({ id }) => id === model)
      const facts = this.#prices.find(provider, model)
      if (!remote?.contextLength && remote?.vision === undefined) return facts
      const contextLength = remote.contextLength || facts?.contextLength || 0
      return {
        ...facts,
        contextLength,
        ...(remote.vision !== undefined && { vision: remote.vision }),
      }
    }
  }

  beyond(home: ModelHome): ModelInfoSources {
    const factsOf = this.factsIn(home)
    return {
      ...(this.#agents ? { agents: this.#agents(home) } : {}),
      live: provider => this.#live.cached(home, provider),
      window: (setup, provider, id) =>
        configuredContextLength(setup, provider, id) ||
        this.#windows?.knownTokens(baseUrlOf(setup, provider), id) ||
        factsOf(provider, id)?.contextLength ||
        knownContextLength(id),
    }
  }

  /** The model of a local server that serves exactly one: it needs no configured default. */
  #onlyModel(home: ModelHome, setup: ModelSetup): string {
    if (!setup.active || !setup.baseUrl || !isLocalUrl(setup.baseUrl)) return ''
    const remote = this.#live.cached(home, setup.active)
    return remote?.length === 1 ? (remote[0]?.id ?? '') : ''
  }

  defaults(home: ModelHome): DefaultConfig {
    const setup = readSetup(home)
    return defaultModelOf(setup, this.#config)
      ? this.#config
      : { defaultModel: '', modelOverride: this.#onlyModel(home, setup) }
  }

  /** Fetches remote lists; waits at most `maxWaitMs`. */
  async #ask(home: ModelHome, providers: readonly string[]): Promise<void> {
    const answers = Promise.all(providers.map(provider => this.#live.load(home, provider)))
    await waitAtMost(this.#clock, this.#maxWaitMs, answers)
  }

  /** The window of the default model, which a new chat shows first; other models are asked for when they are used. */
  async #askDefaultWindow(home: ModelHome): Promise<void> {
    try {
      const blank = { model: '', provider: null, baseUrl: null }
      await this.#windows?.ask(
        resolveEndpoint(home, this.defaults(home), blank, this.factsIn(home)),
      )
    } catch (error) {
      // Without a usable default model there is no window to show.
      if (!(error instanceof UserError)) throw error
    }
  }

  defaultModel(home: ModelHome): string {
    return effectiveDefault(home, this.defaults(home))
  }

  /** The response of GET /api/models. */
  async list(home: ModelHome): Promise<ModelList> {
    const setup = readSetup(home)
    const providers = [...configuredProviders(setup)].filter(id => usesRemoteList(setup, id))
    await Promise.all([
      this.#ask(home, providers),
      isUnconfigured(setup) ? undefined : this.#prices.ready(),
      this.#askDefaultWindow(home),
    ])
    return modelGroups(home, this.defaults(home), this.beyond(home))
  }

  /** Call before a turn: loads prices, and the model list of a local server if there is no default model. */
  async ready(home: ModelHome): Promise<void> {
    const setup = readSetup(home)
    if (isUnconfigured(setup)) return
    const needsModel =
      !defaultModelOf(setup, this.#config) && setup.baseUrl && isLocalUrl(setup.baseUrl)
    await Promise.all([
      this.#prices.ready(),
      needsModel ? this.#ask(home, [setup.active ?? '']) : undefined,
    ])
  }

  /** The models of one provider: its remote list, else config.yaml, else the built-in list. */
  async of(home: ModelHome, name: string): Promise<ProviderModels> {
    const setup = readSetup(home)
    const provider = toProviderId(name)
    const remote = await this.#live.load(home, provider)
    const ids = remote?.map(({ id }) => id) ?? []
    const models = remote?.length
      ? ids.map(id => ({ id, label: labelFor(setup, provider, id) }))
      : configuredModels(setup, provider)
    return { provider, models, ids: models.map(({ id }) => id), count: models.length }
  }
}

/** `custom` without a slug means all custom providers. */
const configuredModels = (setup: ModelSetup, provider: string): ModelOption[] => {
  const entries = provider === 'custom' ? setup.custom : [customEntry(setup, provider)]
  const configured = [...entries, setup.providers.get(provider)].flatMap(entry =>
    entry ? [...entry.models.keys()] : [],
  )
  if (configured.length > 0)
    return [...new Set(configured)].map(id => ({ id, label: shortLabel(id) }))
  // Ids without a provider hint, as in a remote list.
  return (builtinModels(provider) ?? []).map(({ id, label }) => ({ id, label }))
}
