/** Onboarding: reports what is set up, and sets up one provider with a key. */
import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { isPrivateAddress } from '../base/local-network.ts'
import { redact, unredact } from '../base/redact/redact.ts'
import type { Config } from '../config.ts'
import { forbidden, invalid } from '../errors.ts'
import { parseModelId } from '../models/default-model.ts'
import type { ModelServices } from '../models/models.ts'
import { parseApiKey } from '../models/provider-keys.ts'
import { hasKeyFor, quickProviders, readinessOf } from '../models/readiness.ts'
import {
  configureProvider,
  parseBaseUrl,
  type ProviderChoice,
  withProvider,
} from '../models/set-provider.ts'
import type { Auth } from '../people/auth.ts'
import type { Home } from '../profiles/home.ts'
import type { SettingsStore } from '../profiles/settings.ts'
import { writeEnv } from '../profiles/write-env.ts'
import type { QuickProvider } from '../schema/provider.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'

export type SetupInput = {
  provider: string
  model: string
  apiKey: string
  baseUrl: string
  confirmOverwrite: boolean
}

const NOTE = 'For other providers, add a key under Models & keys, or sign in with the command line.'

const addressOf = (provider: QuickProvider, raw: string): string | null => {
  if (!provider.requires_base_url) return provider.default_base_url || null
  if (!raw.trim())
    throw invalid('base_url is required for custom endpoints', { code: 'missing_fields' })
  return parseBaseUrl(raw)
}

/**
 * The key first: a crash in between leaves an unused key, never a model without a key. That of a server of one's own is written
 * beside its address, by which it is known not to be one of OpenAI, and only then to the variable where the command line looks for both.
 */
const write = async (home: Home, choice: ProviderChoice, variable: string, key: string) => {
  const isOwnServer = choice.provider === 'custom'
  const isWritten = key !== '' && !(isOwnServer && Object.hasOwn(home.dotenv(), variable))
  if (isWritten && !isOwnServer) await writeEnv(home, { [variable]: key })
  configureProvider(home, { ...choice, ...(key && isOwnServer ? { apiKey: key } : {}) })
  if (isWritten && isOwnServer) await writeEnv(home, { [variable]: key })
}

export class Onboarding {
  readonly #config: Config
  readonly #settings: SettingsStore
  readonly #auth: Auth
  readonly #workspaces: Workspaces
  readonly #models: ModelServices

  constructor(
    config: Config,
    settings: SettingsStore,
    auth: Auth,
    workspaces: Workspaces,
    models: ModelServices,
  ) {
    this.#config = config
    this.#settings = settings
    this.#auth = auth
    this.#workspaces = workspaces
    this.#models = models
  }

  async status(home: Home) {
    const readiness = this.#readinessOf(home)
    const baseUrl = readiness.baseUrl === null ? null : redact(readiness.baseUrl)
    const settings = this.#settings.get()
    const configExists = existsSync(home.configFile.path)
    const quick = quickProviders()
    const isQuick = quick.some(({ id }) => id === readiness.provider)
    return {
      completed:
        settings.onboarding_completed ||
        this.#config.skipOnboarding ||
        (configExists && readiness.isReady),
      settings: {
        default_model: this.#models.default(home),
        default_workspace: settings.default_workspace,
        password_enabled: this.#auth.enabled(),
        bot_name: settings.bot_name,
      },
      system: {
        // The engine is part of the service, so these are constant.
        agent_found: true,
        hermes_found: true,
        imports_ok: true,
        missing_modules: [],
        import_errors: {},
        config_path: home.configFile.path,
        config_exists: configExists,
        provider_configured: readiness.isConfigured,
        provider_ready: readiness.isReady,
        chat_ready: readiness.isReady,
        setup_state: readiness.state,
        provider_note: readiness.note,
        current_provider: readiness.provider,
        current_model: readiness.model || null,
        current_base_url: baseUrl,
        env_path: `${home.dir}/.env`,
      },
      setup: {
        providers: quick,
        unsupported_note: NOTE,
        current_is_oauth: readiness.provider !== null && !isQuick,
        current: {
          provider: readiness.provider ?? 'openrouter',
          model: readiness.model || 'anthropic/claude-sonnet-4.6',
          base_url: baseUrl ?? '',
        },
      },
      workspaces: { items: this.#workspaces.list(home), last: this.#workspaces.last(home) },
      models: await this.#models.list(home),
    }
  }

  complete(): void {
    this.#settings.save({ onboarding_completed: true })
  }

  /** Without sign-in, only clients on the local network may choose a provider. */
  requireLocalClient(address: string): void {
    if (this.#auth.enabled() || this.#config.onboardingOpen) return
    if (isIP(address) !== 0 && isPrivateAddress(address)) return
    throw forbidden(
      'Onboarding setup is only available from local networks when auth is not enabled. To bypass this on a remote server, set AGENT_WEBUI_ONBOARDING_OPEN=1.',
      { code: 'onboarding_local_only' },
    )
  }

  /** Undefined when done; otherwise what must be confirmed first. */
  async setup(home: Home, input: SetupInput): Promise<'config_exists' | undefined> {
    const provider = quickProviders().find(({ id }) => id === input.provider.trim().toLowerCase())
    if (this.#config.skipOnboarding || !provider) {
      this.complete()
      return undefined
    }
    if (!input.model.trim()) throw invalid('model is required', { code: 'missing_fields' })
    const model = parseModelId(input.model)
    // The client may send back the redacted address it was shown.
    const currentUrl = this.#readinessOf(home).baseUrl ?? ''
    const baseUrl = addressOf(provider, unredact(input.baseUrl, currentUrl))
    const choice = { provider: provider.id, model, baseUrl }
    if (existsSync(home.configFile.path) && !input.confirmOverwrite) return 'config_exists'
    const key = input.apiKey.trim() ? parseApiKey(input.apiKey) : ''
    if (!key && !hasKeyFor(withProvider(home, choice, {}), choice.provider))
      throw invalid(`${provider.env_var} is required`, { code: 'missing_fields' })
    await write(home, choice, provider.env_var, key)
    return undefined
  }

  #readinessOf(home: Home) {
    return readinessOf(home, this.#models.defaults(home))
  }
}
