/** Wires the model modules together: catalog, prices, connection tests, credential pools, local servers. */
import type { FetchModelList } from './fetch-model-list.ts'
import type { ModelEndpoint } from '../agent/types.ts'
import type { DefaultConfig } from './default-model.ts'
import type { ProviderModels } from './model-catalog.ts'
import type { KeyChange } from './provider-keys.ts'
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import type { Providers } from '../agent/types.ts'
import type { Config } from '../config.ts'
import { moveEndpoint, OWN_KEY, type OwnKeyChange, ownKeyRemoval } from './set-provider.ts'
import { UserError } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { ModelList } from '../schema/model.ts'
import type { LocalServer } from '../schema/provider.ts'
import { InstalledAgents } from './external-agents.ts'
import { fetchModelList } from './fetch-model-list.ts'
import { ModelCatalog } from './model-catalog.ts'
import { compatibleFor } from './compat.ts'
import { CredentialPools } from './credential-pool/credential-pools.ts'
import { keyChange } from './provider-keys.ts'
import { RemoteModels } from './remote-models.ts'
import { findLocalServers } from './local-servers.ts'
import { Prices } from './prices.ts'
import { ServedWindows } from './served-windows.ts'
import { ModelRecovery } from './recovery.ts'
import type { ModelHome } from './provider-config.ts'
import { resolveFor } from './resolve.ts'
import { resolveEndpoint } from './endpoint.ts'
import { ConnectionTests } from './connection-test.ts'
import type { SignIns } from './sign-in/sign-ins.ts'

/**
 * Returns `otherwise` when the home's files cannot be read. Only for lookups beside `endpoint`, which throws the reason: a
 * turn has to start, so that the user's message is stored.
 */
const tolerating = <T>(find: () => T, otherwise: T): T => {
  try {
    return find()
  } catch (error) {
    if (error instanceof UserError) return otherwise
    throw error
  }
}

export class ModelServices {
  readonly #config: Config
  readonly #writeEnv: (home: Home, values: Record<string, string | null>) => Promise<void>
  readonly #agentModels: (home: string, agent: string) => readonly { id: string; label: string }[]
  readonly #ask: FetchModelList
  readonly #installed = new InstalledAgents()
  readonly #live: RemoteModels
  /** The context windows that servers really use. */
  readonly windows: ServedWindows
  readonly #catalog: ModelCatalog
  readonly #pools: CredentialPools
  readonly testing: ConnectionTests

  constructor({
    clock,
    config,
    providers,
    dispatcher,
    writeEnv,
    log,
    agentModels,
    keyFor,
  }: {
    clock: Clock
    config: Config
    providers: Providers
    dispatcher: Dispatcher | undefined
    writeEnv: (home: Home, values: Record<string, string | null>) => Promise<void>
    log: (line: string, extra?: Record<string, unknown>) => void
    /** Models an external agent reported, for a home. */
    agentModels: (home: string, agent: string) => readonly { id: string; label: string }[]
    /** Renews the token of a sign-in; absent: it is used as it is stored. */
    keyFor?: SignIns['keyFor']
  }) {
    this.#config = config
    this.#writeEnv = writeEnv
    this.#agentModels = agentModels
    this.#ask = question => fetchModelList(question, { dispatcher })
    this.#live = new RemoteModels(this.#ask, clock, keyFor)
    this.windows = new ServedWindows({ clock, dispatcher })
    this.#catalog = new ModelCatalog({
      clock,
      live: this.#live,
      config,
      agents: home => this.#agents(home),
      windows: this.windows,
      prices: new Prices(),
    })
    this.#pools = new CredentialPools(log, clock)
    this.testing = new ConnectionTests(this.#live, this.#catalog, providers)
  }

  #agents(home: ModelHome) {
    return {
      programs: (path: string) => this.#installed.find(path),
      models: (id: string) => this.#agentModels(home.name ?? '', id),
    }
  }

  /** For display; blank while the home's files cannot be read. */
  default({ strict }: Home): string {
    return tolerating(() => this.#catalog.defaultModel(strict), '')
  }

  defaults({ strict }: Home): DefaultConfig {
    return tolerating(() => this.#catalog.defaults(strict), this.#config)
  }

  /** Await before a turn: loads what `endpoint` looks up. */
  async ready(home: Home): Promise<void> {
    try {
      await this.#catalog.ready(home)
    } catch (error) {
      // `endpoint` throws the reason once the turn has started.
      if (!(error instanceof UserError)) throw error
    }
  }

  compatible(home: Home, model: string | null): { model: string; changed: boolean } {
    return tolerating(
      () =>
        compatibleFor(home, this.#catalog.defaults(home), model, {
          live: provider => this.#live.cached(home, provider),
          agents: this.#agents(home),
        }),
      { model: model ?? '', changed: false },
    )
  }

  /** `baseUrl` overrides the address; a key is sent there only when it belongs to that host. */
  endpoint(home: Home, model: string, baseUrl?: string): ModelEndpoint {
    return this.windows.apply(
      resolveEndpoint(
        home,
        this.#catalog.defaults(home),
        { ...resolveFor(home, model), ...(baseUrl ? { baseUrl } : {}) },
        this.#catalog.factsIn(home),
        this.#pools.pickerFor(home),
      ),
    )
  }

  /** Key rotation and fallbacks of one turn. */
  recovery(home: Home): ModelRecovery {
    return new ModelRecovery(this.#pools, home, (pair, pick) =>
      this.windows.apply(
        resolveEndpoint(
          home,
          this.#catalog.defaults(home),
          pair,
          this.#catalog.factsIn(home),
          pick,
        ),
      ),
    )
  }

  /** For display; empty while the home's files cannot be read. */
  async list({ strict }: Home): Promise<ModelList> {
    try {
      return await this.#catalog.list(strict)
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      return { active_provider: null, default_model: '', groups: [] }
    }
  }

  /** The models of one provider. */
  of(home: ModelHome, provider: string): Promise<ProviderModels> {
    return this.#catalog.of(home, provider)
  }

  /** Drops the cached model lists of a home. */
  forget(home: ModelHome, provider?: string): void {
    this.#live.forget(home, provider)
  }

  /** Resolves when all key statuses are written. */
  flush(): Promise<void> {
    return this.#pools.flush()
  }

  local(home: Home): Promise<LocalServer[]> {
    return findLocalServers(this.#ask, home)
  }

  /** Null or blank removes the key. Drops cached model lists, because another key may list other models. */
  async setKey(home: Home, provider: string, key: string | null): Promise<KeyChange> {
    const change = keyChange(home, provider, key)
    const own = change.action === 'removed' ? ownKeyRemoval(home, provider) : null
    if (own === null) await this.#writeEnv(home, change.values)
    else await this.#changeOwnKey(home, own)
    this.#live.forget(home)
    return change
  }

  async moveEndpoint(home: Home, to: Parameters<typeof moveEndpoint>[1]): Promise<void> {
    await this.#changeOwnKey(home, moveEndpoint(home, to))
    this.#live.forget(home)
  }

  async #changeOwnKey(home: Home, { inBoth, key, apply }: OwnKeyChange): Promise<void> {
    if (inBoth) await this.#writeEnv(home, { [OWN_KEY]: null })
    apply()
    if (inBoth && key !== null) await this.#writeEnv(home, { [OWN_KEY]: key })
  }
}
