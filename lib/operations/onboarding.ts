/** Onboarding: reports what is set up, and sets up one provider with a key. */
import { isIP } from 'node:net'
import type { Config } from '../config.ts'
import { forbidden, invalid } from '../errors.ts'
import type { ProviderChoice } from '../models/set-provider.ts'
import type { QuickProvider, Readiness } from '../models/readiness.ts'
import type { Home } from '../profiles/home.ts'
import { redact, unredact } from '../base/redact/redact.ts'
import type { ModelList } from '../schema/model.ts'
import type { Workspace } from '../schema/workspace.ts'
import type { SettingsStore } from '../profiles/settings.ts'

export type SetupInput = {
  provider: string
  model: string
  apiKey: string
  baseUrl: string
  confirmOverwrite: boolean
}

export type OnboardingOptions = {
  config: Pick<Config, 'skipOnboarding' | 'onboardingOpen'>
  settings: SettingsStore
  authEnabled: () => boolean
  exists: (path: string) => boolean
  isPrivateAddress: (address: string) => boolean
  workspaces: { list: (home: Home) => Workspace[]; last: (home: Home) => string }
  models: {
    list: (home: Home) => Promise<ModelList>
    default: (home: Home) => string
    readiness: (home: Home) => Readiness
    quick: () => QuickProvider[]
    /** Whether the home already has a key for a provider at this address. */
    holdsKey: (home: Home, chosen: ProviderChoice) => boolean
    isAnotherKey: (home: Home, name: string, key: string) => boolean
    checkedKey: (raw: string) => string
    checkedModel: (raw: string) => string
    checkedBaseUrl: (raw: string) => string
    configure: (home: Home, chosen: ProviderChoice) => void
  }
  writeEnv: (home: Home, values: Record<string, string>) => Promise<void>
}

export type Onboarding = ReturnType<typeof createOnboarding>

const NOTE = 'For other providers, add a key under Models & keys, or sign in with the command line.'

export const createOnboarding = (deps: OnboardingOptions) => {
  const { config, settings, models, workspaces } = deps

  const status = async (home: Home) => {
    const found = models.readiness(home)
    const baseUrl = found.baseUrl === null ? null : redact(found.baseUrl)
    const saved = settings.get()
    const configExists = deps.exists(home.config.path)
    const quick = models.quick()
    const isQuick = quick.some(({ id }) => id === found.provider)
    return {
      completed:
        saved.onboarding_completed || config.skipOnboarding || (configExists && found.isReady),
      settings: {
        default_model: models.default(home),
        default_workspace: saved.default_workspace,
        password_enabled: deps.authEnabled(),
        bot_name: saved.bot_name,
      },
      system: {
        // The engine is part of the service, so these are constant.
        agent_found: true,
        hermes_found: true,
        imports_ok: true,
        missing_modules: [],
        import_errors: {},
        config_path: home.config.path,
        config_exists: configExists,
        provider_configured: found.isConfigured,
        provider_ready: found.isReady,
        chat_ready: found.isReady,
        setup_state: found.state,
        provider_note: found.note,
        current_provider: found.provider,
        current_model: found.model || null,
        current_base_url: baseUrl,
        env_path: `${home.dir}/.env`,
      },
      setup: {
        providers: quick,
        unsupported_note: NOTE,
        current_is_oauth: found.provider !== null && !isQuick,
        current: {
          provider: found.provider ?? 'openrouter',
          model: found.model || 'anthropic/claude-sonnet-4.6',
          base_url: baseUrl ?? '',
        },
      },
      workspaces: { items: workspaces.list(home), last: workspaces.last(home) },
      models: await models.list(home),
    }
  }

  const complete = (): void => {
    settings.save({ onboarding_completed: true })
  }

  /** Without sign-in, only clients on the local network may choose a provider. */
  const requireLocalClient = (address: string): void => {
    if (deps.authEnabled() || config.onboardingOpen) return
    if (isIP(address) !== 0 && deps.isPrivateAddress(address)) return
    throw forbidden(
      'Onboarding setup is only available from local networks when auth is not enabled. To bypass this on a remote server, set AGENT_WEBUI_ONBOARDING_OPEN=1.',
      { code: 'onboarding_local_only' },
    )
  }

  const addressOf = (provider: QuickProvider, raw: string): string | null => {
    if (!provider.requires_base_url) return provider.default_base_url || null
    if (!raw.trim())
      throw invalid('base_url is required for custom endpoints', { code: 'missing_fields' })
    return models.checkedBaseUrl(raw)
  }

  /** The key first: a crash in between leaves an unused key, never a model without a key. */
  const write = async (home: Home, chosen: ProviderChoice, variable: string, key: string) => {
    // Custom endpoints share OPENAI_API_KEY with the command line. A different key there is not overwritten.
    const isElsewhere = chosen.provider === 'custom' && models.isAnotherKey(home, variable, key)
    if (key && !isElsewhere) await deps.writeEnv(home, { [variable]: key })
    models.configure(home, { ...chosen, ...(key && isElsewhere ? { apiKey: key } : {}) })
  }

  return {
    status,
    complete,
    requireLocalClient: requireLocalClient,

    /** Undefined when done; otherwise what must be confirmed first. */
    async setup(home: Home, input: SetupInput): Promise<'config_exists' | undefined> {
      const provider = models.quick().find(({ id }) => id === input.provider.trim().toLowerCase())
      if (config.skipOnboarding || !provider) {
        complete()
        return undefined
      }
      if (!input.model.trim()) throw invalid('model is required', { code: 'missing_fields' })
      const model = models.checkedModel(input.model)
      // The client may send back the redacted address it was shown.
      const stored = models.readiness(home).baseUrl ?? ''
      const baseUrl = addressOf(provider, unredact(input.baseUrl, stored))
      const chosen = { provider: provider.id, model, baseUrl }
      if (deps.exists(home.config.path) && !input.confirmOverwrite) return 'config_exists'
      const key = input.apiKey.trim() ? models.checkedKey(input.apiKey) : ''
      if (!key && !models.holdsKey(home, chosen))
        throw invalid(`${provider.env_var} is required`, { code: 'missing_fields' })
      await write(home, chosen, provider.env_var, key)
      return undefined
    },
  }
}
