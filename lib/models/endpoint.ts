/** Turns a resolved {provider, model} pair into a callable endpoint: address, key, wire format, limits. */
import type { HttpApiMode, ModelEndpoint } from '../agent/types.ts'
import { type Effort, isEffort } from '../base/efforts.ts'
import { invalid, unavailable } from '../errors.ts'
import { agentEndpoint } from './external-agents.ts'
import { customEntry, customId, toProviderId } from './provider-ids.ts'
import { builtinModels } from './builtin-models.ts'
import { credentialsOf, isUnconfigured } from './credentials.ts'
import { type DefaultConfig, defaultModelOf } from './default-model.ts'
import { resolveKey, type PickKey, pickFirst } from './endpoint-key.ts'
import type { ModelFacts } from './prices.ts'
import { displayName, PROVIDERS, type WireMode } from './providers.ts'
import { type Resolved, resolveModel } from './resolve.ts'
import { requestOptionsFor } from './request-options.ts'
import { routingOf } from './routing.ts'
import { type ModelHome, type ModelSetup, readSetup } from './provider-config.ts'
import { rejectConfigTypos } from './config-typos.ts'
import { endpointName } from './local-servers.ts'
import { contextLengthOf } from './context-windows.ts'
import { familyAcceptsImages } from './vision.ts'

/** The scripted offline model of a new installation. */
const DEMO: ModelEndpoint = {
  provider: 'demo',
  model: 'demo',
  apiMode: 'demo',
  baseUrl: '',
  apiKey: null,
  // As large as that of a usual model: in a small window tools are left out, and its scripts use them.
  contextLength: 131_072,
}

/** Effort levels of newer command lines; they count as `xhigh`. */
const HIGHER: ReadonlySet<string> = new Set(['max', 'ultra'])

const effortOf = ({ effort }: ModelSetup): Effort | undefined =>
  HIGHER.has(effort) ? 'xhigh' : isEffort(effort) ? effort : undefined

/**
 * The provider of a model when none is configured: the first with a key, preferring one that lists the
 * model, because the model menu shows it there. Ambient tokens do not count.
 */
const chooseProvider = (setup: ModelSetup, model: string): string | null => {
  const provider = setup.env.AGENT_INFERENCE_PROVIDER?.trim()
  if (provider && provider.toLowerCase() !== 'auto') return provider
  const hasAddress = Boolean(setup.env.OPENAI_BASE_URL?.trim())
  const [custom] = setup.custom
  const usable = [...PROVIDERS.keys(), ...setup.providers.keys()].filter(
    id => id !== 'copilot' && credentialsOf(setup, id).length > 0,
  )
  const lists = (id: string): boolean =>
    setup.providers.get(id)?.models.has(model) === true ||
    builtinModels(id)?.some(option => option.id === model) === true
  return (
    usable.find(lists) ??
    (hasAddress ? 'openai' : (usable[0] ?? (custom ? customId(custom) : null)))
  )
}

/** The base URL, in order: custom provider, resolved pair, config.yaml, environment, provider table. */
export const baseUrlOf = (
  setup: ModelSetup,
  provider: string,
  address: string | null = null,
): string => {
  const facts = PROVIDERS.get(provider)
  const fromEnv = facts?.baseUrlEnv ? setup.env[facts.baseUrlEnv]?.trim() : ''
  const url =
    customEntry(setup, provider)?.baseUrl ||
    address ||
    (setup.active === provider && setup.baseUrl) ||
    setup.providers.get(provider)?.baseUrl ||
    fromEnv ||
    (provider === 'custom' && setup.env.OPENAI_BASE_URL?.trim()) ||
    facts?.baseUrl ||
    ''
  return url.replace(/\/+$/, '')
}

const validateBaseUrl = (name: string, url: string): void => {
  if (!url)
    throw unavailable(
      `${name} has no address. Set base_url for it in config.yaml, or pick another model.`,
      { code: 'provider_no_address', values: { name } },
    )
  const address = URL.parse(url)
  if (!address || !/^https?:$/.test(address.protocol) || address.username || address.password)
    throw invalid(
      `The address of ${name} in config.yaml is not a plain http:// or https:// address.`,
      { code: 'provider_address_invalid', values: { name } },
    )
}

/** A record, so that the compiler asks for an entry when a wire format is added. */
const SUPPORTED: Readonly<Record<HttpApiMode, true>> = {
  chat_completions: true,
  anthropic_messages: true,
  codex_responses: true,
  ollama_chat: true,
}

const isSupported = (wire: string | null): wire is HttpApiMode => wire !== null && wire in SUPPORTED

/** For aggregators that serve each model in its maker's wire format. */
const wireByModel = (model: string): HttpApiMode => {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  if (name.startsWith('gpt-5')) return 'codex_responses'
  return name.startsWith('claude') ? 'anthropic_messages' : 'chat_completions'
}

/** `api_mode` from config.yaml, else derived from the provider and its address. */
const wireOf = (setup: ModelSetup, provider: string, model: string, url: string): WireMode => {
  const configured =
    customEntry(setup, provider)?.apiMode ??
    setup.providers.get(provider)?.apiMode ??
    (setup.active === provider ? setup.apiMode : null)
  if (isSupported(configured)) return configured
  if (/\/anthropic(?:\/v1)?$/.test(url)) return 'anthropic_messages'
  if (URL.canParse(url) && new URL(url).hostname === 'api.openai.com') return 'codex_responses'
  const wire = PROVIDERS.get(provider)?.wire ?? 'chat_completions'
  return wire === 'per_model' ? wireByModel(model) : wire
}

/** Throws for wire formats only external agents implement. */
const requireSupportedWire = (name: string, model: string, wire: WireMode): HttpApiMode => {
  if (isSupported(wire)) return wire
  throw unavailable(
    `${name} serves ${model} only through an external agent program. Pick another model, or that program itself.`,
    { code: 'model_needs_agent', values: { name, model } },
  )
}

/** Looks up price and context length of a model. */
export type FactsOf = (provider: string, model: string) => ModelFacts | null

/** Context length from config.yaml: listed beside the model, or `model.context_length` of the default model; 0 if absent. */
export const configuredContextLength = (
  setup: ModelSetup,
  provider: string,
  model: string,
): number => {
  const contextLength =
    customEntry(setup, provider)?.models.get(model)?.contextLength ||
    setup.providers.get(provider)?.models.get(model)?.contextLength
  if (contextLength) return contextLength
  return isDefaultModel(setup, provider, model) ? setup.contextLength : 0
}

/** Whether the keys beside `model.default` are about this model. */
const isDefaultModel = (setup: ModelSetup, provider: string, model: string): boolean => {
  return (
    setup.active === provider &&
    (!setup.model || [setup.model, resolveModel(setup.model, setup).model].includes(model))
  )
}

/** Whether the model accepts images: config.yaml, else the provider's list, else its family. */
const visionOf = (
  setup: ModelSetup,
  provider: string,
  model: string,
  facts: ModelFacts | null,
): { vision?: boolean; hasConfiguredVision?: true } => {
  const configured =
    customEntry(setup, provider)?.models.get(model)?.vision ??
    setup.providers.get(provider)?.models.get(model)?.vision ??
    (isDefaultModel(setup, provider, model) ? setup.vision : undefined)
  if (configured !== undefined) return { vision: configured, hasConfiguredVision: true }
  const vision = facts?.vision ?? familyAcceptsImages(model)
  return vision === undefined ? {} : { vision }
}

/** What a server of one's own is called until a person names it: after the program that runs there, or its host. */
const endpointTitle = (url: string): string | null =>
  endpointName(url) ?? (URL.canParse(url) ? new URL(url).host : null)

/** As lists, settings and messages call it. */
export const providerName = (
  setup: ModelSetup,
  provider: string,
  url = baseUrlOf(setup, provider),
): string =>
  customEntry(setup, provider)?.name ??
  setup.providers.get(provider)?.name ??
  (provider === 'custom' ? endpointTitle(url) : null) ??
  displayName(provider)

/** Writing to the one-hour cache costs twice the input price; the price table lists the five-minute cache. */
const withHourCache = (
  price: ModelEndpoint['price'],
): { cacheTtl: '1h'; price?: ModelEndpoint['price'] } => ({
  cacheTtl: '1h',
  ...(price?.cacheWrite ? { price: { ...price, cacheWrite: price.input * 2 } } : {}),
})

/**
 * The endpoint of a turn; a blank model means the default. Throws a UserError that names the provider and the fix. Never
 * falls back to another provider.
 */
export const resolveEndpoint = (
  home: ModelHome,
  config: DefaultConfig,
  choice: Resolved,
  factsOf: FactsOf = () => null,
  pick: PickKey = pickFirst,
): ModelEndpoint => {
  rejectConfigTypos(home)
  const setup = readSetup(home)
  const isBlank = !choice.model
  const pair = isBlank ? resolveModel(defaultModelOf(setup, config), setup) : choice
  if (pair.provider === 'demo' || (pair.provider === null && isUnconfigured(setup))) return DEMO
  const chosen = pair.provider ?? chooseProvider(setup, pair.model)
  if (!chosen)
    throw unavailable('No provider selected. Pick a model, or set model.provider in config.yaml.', {
      code: 'provider_missing',
    })
  const provider = toProviderId(chosen)
  const external = agentEndpoint(setup, provider, pair.model)
  if (external) return external
  if (!pair.model)
    throw unavailable('No model selected. Pick one in the model menu.', {
      code: 'model_missing',
    })
  const table = baseUrlOf(setup, provider, pair.baseUrl)
  const name = providerName(setup, provider, table)
  const apiMode = requireSupportedWire(name, pair.model, wireOf(setup, provider, pair.model, table))
  validateBaseUrl(name, table)
  const keyed = resolveKey(setup, provider, name, table, pick)
  const effort = effortOf(setup)
  const isOwn = setup.active === provider
  const facts = factsOf(provider, pair.model)
  const configured = configuredContextLength(setup, provider, pair.model)
  return {
    provider,
    providerName: name,
    model: pair.model,
    apiMode,
    ...keyed,
    ...routingOf(home.config(), provider, keyed.baseUrl),
    ...requestOptionsFor(setup, provider, keyed.baseUrl),
    contextLength: configured || facts?.contextLength || contextLengthOf(pair.model),
    ...(configured > 0 && { hasConfiguredWindow: true as const }),
    ...(isOwn && setup.ollamaContext > 0 && { ollamaContext: setup.ollamaContext }),
    ...(facts?.price ? { price: facts.price } : {}),
    ...visionOf(setup, provider, pair.model, facts),
    ...(setup.cacheTtl === '1h' ? withHourCache(facts?.price) : {}),
    ...(isOwn && setup.maxTokens ? { maxTokens: setup.maxTokens } : {}),
    ...(effort ? { effort } : {}),
  }
}
