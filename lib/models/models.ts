/** Wires the model modules together: catalog, prices, connection tests, credential pools, local servers. */
import type { Words } from '../base/sentences.ts'
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import type { Providers } from '../agent/types.ts'
import type { Config } from '../config.ts'
import { UserError } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { FailureType } from '../schema/failure-type.ts'
import type { ModelList } from '../schema/model.ts'
import { createInstalledAgentCache } from './external-agents.ts'
import { createModelListFetcher } from './fetch-model-list.ts'
import { createModelCatalog } from './model-catalog.ts'
import { compatibleFor } from './compat.ts'
import { addEndpoint, type Endpoint } from './set-provider.ts'
import { createCredentialPools } from './credential-pool/credential-pools.ts'
import { keyChange } from './provider-keys.ts'
import { createRemoteModels } from './remote-models.ts'
import { findLocalServers } from './local-servers.ts'
import { createPrices } from './prices.ts'
import { createServedWindows } from './served-windows.ts'
import { createRecovery } from './recovery.ts'
import type { ModelHome } from './provider-config.ts'
import { resolveFor } from './resolve.ts'
import { resolveEndpoint } from './endpoint.ts'
import { createConnectionTests } from './connection-test.ts'
import type { SignIns } from './sign-in/sign-ins.ts'
import { createTestCall } from './test-call.ts'

export type ModelServicesOptions = {
  clock: Clock
  config: Config
  providers: Providers
  dispatcher: Dispatcher | undefined
  hintFor: (type: FailureType) => Words | undefined
  writeEnv: (home: Home, values: Record<string, string | null>) => Promise<void>
  log: (line: string, extra?: Record<string, unknown>) => void
  redact: (text: string) => string
  /** Models an external agent reported, for a home. */
  agentModels: (home: string, agent: string) => readonly { id: string; label: string }[]
  /** Renews the token of a sign-in; absent: it is used as it is stored. */
  keyFor?: SignIns['keyFor']
}

export type ModelServices = ReturnType<typeof createModelServices>

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

export const createModelServices = ({
  clock,
  config,
  providers,
  dispatcher,
  hintFor,
  writeEnv,
  log,
  redact,
  agentModels,
  keyFor,
}: ModelServicesOptions) => {
  const ask = createModelListFetcher({ dispatcher })
  const programs = createInstalledAgentCache()
  const agents = (home: ModelHome) => ({
    programs,
    models: (id: string) => agentModels(home.name ?? '', id),
  })
  const live = createRemoteModels(ask, clock, keyFor)
  const windows = createServedWindows({ clock, dispatcher })
  const catalog = createModelCatalog({
    ...{ clock, live, config, agents, windows },
    prices: createPrices(),
  })
  const trial = createTestCall({ providers, hintFor })
  const pools = createCredentialPools({ clock, log, redact })
  return {
    /** For display; blank while the home's files cannot be read. */
    default: ({ strict }: Home) => tolerating(() => catalog.defaultModel(strict), ''),
    defaults: ({ strict }: Home) => tolerating(() => catalog.defaults(strict), config),
    /** Await before a turn: loads what `endpoint` looks up. */
    async ready(home: Home): Promise<void> {
      try {
        await catalog.ready(home)
      } catch (error) {
        // `endpoint` throws the reason once the turn has started.
        if (!(error instanceof UserError)) throw error
      }
    },
    compatible: (home: Home, model: string | null) =>
      tolerating(
        () =>
          compatibleFor(home, catalog.defaults(home), model, {
            live: provider => live.cached(home, provider),
            agents: agents(home),
          }),
        { model: model ?? '', changed: false },
      ),
    /** `baseUrl` overrides the address; a key is sent there only when it belongs to that host. */
    endpoint: (home: Home, model: string, baseUrl?: string) =>
      windows.apply(
        resolveEndpoint(
          home,
          catalog.defaults(home),
          { ...resolveFor(home, model), ...(baseUrl ? { baseUrl } : {}) },
          catalog.factsIn(home),
          pools.pickerFor(home),
        ),
      ),
    /** The context windows that servers really use. */
    windows,
    /** Key rotation and fallbacks of one turn. */
    recovery: (home: Home) =>
      createRecovery({
        pools,
        home,
        endpointOf: (pair, pick) =>
          windows.apply(
            resolveEndpoint(home, catalog.defaults(home), pair, catalog.factsIn(home), pick),
          ),
      }),
    /** Resolves when all key statuses are written. */
    flush: pools.flush,
    /** For display; empty while the home's files cannot be read. */
    async list({ strict }: Home): Promise<ModelList> {
      try {
        return await catalog.list(strict)
      } catch (error) {
        if (!(error instanceof UserError)) throw error
        return { active_provider: null, default_model: '', groups: [] }
      }
    },
    of: catalog.of,
    forget: live.forget,
    local: (home: Home) => findLocalServers(ask, home),
    testing: createConnectionTests({ live, catalog, trial }),
    addEndpoint: (home: Home, endpoint: Endpoint) => addEndpoint(home, endpoint),
    /** Null or blank removes the key. Drops cached model lists, because another key may list other models. */
    async setKey(home: Home, provider: string, key: string | null) {
      const change = keyChange(home, provider, key)
      await writeEnv(home, change.values)
      live.forget(home)
      return change
    },
  }
}
