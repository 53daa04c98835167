/** Whether a home is ready to chat: provider, model and key, judged from its files only. */
import type { Words } from '../base/sentences.ts'
import { isLocalUrl } from '../base/local-network.ts'
import { asObject } from '../base/json.ts'
import { UserError } from '../errors.ts'
import type { QuickProvider } from '../schema/provider.ts'
import { builtinModels } from './builtin-models.ts'
import { credentialFor, needsSignIn } from './credentials.ts'
import { type DefaultConfig, defaultModelOf } from './default-model.ts'
import { isAgentReady } from './external-agents.ts'
import { displayName, PROVIDERS } from './providers.ts'
import { baseUrlOf, providerName } from './endpoint.ts'
import { type ModelHome, type ModelSetup, readSetup } from './provider-config.ts'
import { rejectConfigTypos } from './config-typos.ts'
import { signInExpired } from './sign-in/stored-token.ts'

/** A home that reports whether its auth.json can be read. */
export type ReadinessHome = ModelHome & { authProblem(): Words | null }

const quick = (id: string): QuickProvider => {
  const { keys = [], baseUrl = '', firstModel = '' } = PROVIDERS.get(id) ?? {}
  return {
    id,
    label: displayName(id),
    env_var: keys[0] ?? '',
    default_model: firstModel,
    default_base_url: id === 'openai' ? baseUrl : '',
    requires_base_url: false,
    models: [...(builtinModels(id) ?? [])],
    quick: id === 'openrouter',
  }
}

/** Providers offered in onboarding. */
export const quickProviders = (): QuickProvider[] => [
  ...['openrouter', 'anthropic', 'openai'].map(quick),
  {
    ...quick('custom'),
    label: 'Custom OpenAI-compatible',
    env_var: 'OPENAI_API_KEY',
    default_model: 'gpt-4o-mini',
    requires_base_url: true,
  },
]

const hasToken = (value: unknown): boolean => {
  const raw = asObject(value)
  return [raw, asObject(raw.tokens)].some(source =>
    [source.access_token, source.refresh_token, source.api_key].some(
      token => typeof token === 'string' && token.trim() !== '',
    ),
  )
}

/** Checks `providers` and the credential pool. An unreadable file counts as not signed in, as does an expired sign-in. */
const isSignedIn = (home: ReadinessHome, setup: ModelSetup, provider: string): boolean => {
  if (home.authProblem() !== null || needsSignIn(setup, provider)) return false
  const auth = asObject(home.authJson())
  const pool = asObject(auth.credential_pool)[provider]
  return (
    hasToken(asObject(auth.providers)[provider]) || (Array.isArray(pool) && pool.some(hasToken))
  )
}

/** True when a key may be sent to the provider's address, or when a local server needs none. */
const hasKey = (setup: ModelSetup, provider: string): boolean => {
  const url = baseUrlOf(setup, provider)
  if (!url) return false
  return (
    credentialFor(setup, provider, url) !== null ||
    PROVIDERS.get(provider)?.keyless === true ||
    isLocalUrl(url)
  )
}

export type Readiness = {
  provider: string | null
  model: string
  baseUrl: string | null
  isConfigured: boolean
  isReady: boolean
  state: 'ready' | 'provider_incomplete' | 'needs_provider'
  note: string
}

export const readinessOf = (home: ReadinessHome, config: DefaultConfig): Readiness => {
  try {
    return assess(home, config)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    // Something is configured but unreadable. Report it as configured, so that onboarding does not overwrite it.
    return {
      provider: null,
      model: '',
      baseUrl: null,
      isConfigured: true,
      isReady: false,
      state: 'provider_incomplete',
      note: error.message,
    }
  }
}

const assess = (home: ReadinessHome, config: DefaultConfig): Readiness => {
  rejectConfigTypos(home)
  const setup = readSetup(home)
  const provider = setup.active
  const model = defaultModelOf(setup, config)
  const isConfigured = provider !== null && provider !== 'demo' && model !== ''
  const isReady =
    isConfigured &&
    (isAgentReady(setup, provider, model) ||
      (PROVIDERS.get(provider)?.oauth
        ? isSignedIn(home, setup, provider)
        : hasKey(setup, provider)))
  const name = provider ? providerName(setup, provider) : ''
  const facts = { provider, model, baseUrl: setup.baseUrl, isConfigured, isReady }
  if (isReady) return { ...facts, state: 'ready', note: `${name} is ready with ${model}.` }
  if (isConfigured && needsSignIn(setup, provider))
    return { ...facts, state: 'provider_incomplete', note: signInExpired(name) }
  if (isConfigured)
    return {
      ...facts,
      state: 'provider_incomplete',
      note: `${name} is selected, but has no API key yet.`,
    }
  return { ...facts, state: 'needs_provider', note: 'No provider is set up yet.' }
}

/** Whether the home has the key an onboarding provider needs. */
export const hasKeyFor = (home: ModelHome, provider: string): boolean =>
  hasKey(readSetup(home), provider)
