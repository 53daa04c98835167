/** Reads the model settings of a home (config.yaml, auth.json, environment) into one plain record. */
import { isAbsolute } from 'node:path'
import { type Clock, fromSeconds } from '../base/clock.ts'
import type { ProfileConfig } from '../profiles/config.ts'
import { isAlias, toProviderId, toSlug } from './provider-ids.ts'
import { asObject, isObjectOrArray, type JsonObject } from '../base/json.ts'
import type { ExternalAgentSettings } from '../agent/external-agent.ts'
import { yamlFlag } from '../store/yaml-file.ts'
import { PROVIDERS } from './providers.ts'
import type { RequestSettings } from '../agent/types.ts'
import { readRequestOptions } from './request-options.ts'
import { inferenceToken, timeMs, tokenFacts, type TokenFacts } from './sign-in/stored-token.ts'

/** The part of a home that model modules read. */
export type ModelHome = {
  /** The profile's name; absent in tests. */
  readonly name?: string
  /** Absent in tests. */
  readonly dir?: string
  readonly clock: Clock
  values(): Readonly<Record<string, unknown>>
  config(): ProfileConfig
  env(): Readonly<Record<string, string>>
  dotenv(): Readonly<Record<string, string>>
  authJson(): unknown
}

/** Model ids listed in config.yaml with their context length (0 when not given), and whether they accept images. */
export type ListedModels = ReadonlyMap<string, { contextLength: number; vision?: boolean }>

/** An entry of `custom_providers` or `providers`. */
export type ProviderEntry = {
  /** Display name, or null. */
  name: string | null
  baseUrl: string | null
  apiKey: string | null
  apiMode: string | null
  models: ListedModels
  /** Headers and time limits of its requests. */
  request: RequestSettings
}

/** Settings of an external agent, from `providers`, `custom_providers` or `model`. */
export type AgentEntry = {
  /** As written: an agent's id may be an alias of a provider. */
  id: string
  name: string | null
  /** Empty when the entry only configures an installed agent. */
  command: readonly string[]
  settings: ExternalAgentSettings
}

export type CustomProvider = ProviderEntry & {
  /** The `<slug>` of `custom:<slug>`; null for an unnamed entry. */
  slug: string | null
  model: string | null
}

export type PoolEntry = {
  id: string
  /** `manual`, `env:NAME`, `device_code`, … */
  source: string
  token: string
  baseUrl: string | null
  priority: number
  /** When the key may be used again, in milliseconds since 1970: 0 now, Infinity unknown. */
  cooldownUntilMs: number
  /** Number of requests. */
  requests: number
  ambient: boolean
  /** Set when the key is the token of a sign-in. */
  signIn?: TokenFacts | undefined
}

/** A sign-in outside the pool: the key to use, or ''. */
export type SignedIn = { key: string; signIn: TokenFacts | undefined }

export type ModelSetup = {
  /** When it was read: milliseconds since 1970. */
  now: number
  /** The configured provider as written (`auto` and blank are null). Model resolution compares this form. */
  provider: string | null
  /** Its canonical id, or `custom:<slug>`. */
  active: string | null
  baseUrl: string | null
  apiKey: string | null
  apiMode: string | null
  /** As in `ProviderEntry`, beside `model.base_url`. */
  request: RequestSettings
  /** In order of precedence. */
  agents: readonly AgentEntry[]
  /** `model.default`, as written. */
  model: string
  /** Tokens; 0 when not configured. */
  contextLength: number
  /** `model.ollama_num_ctx`; 0 when not configured. */
  ollamaContext: number
  /** `model.supports_vision`. */
  vision?: boolean
  maxTokens: number
  effort: string
  /** `prompt_caching.cache_ttl`, as written. */
  cacheTtl: string
  custom: readonly CustomProvider[]
  /** By canonical id. */
  providers: ReadonlyMap<string, ProviderEntry>
  /** By canonical id or `custom:<slug>`, lowest priority number first. */
  pool: ReadonlyMap<string, readonly PoolEntry[]>
  /** Sign-ins of auth.json by canonical id. */
  signedIn: ReadonlyMap<string, SignedIn>
  /** The directory of the home; null for a home without files. */
  dir: string | null
  env: Readonly<Record<string, string>>
  dotenv: Readonly<Record<string, string>>
}

const entries = (value: unknown): [string, unknown][] => Object.entries(asObject(value))

const rows = (value: unknown): Readonly<JsonObject>[] =>
  Array.isArray(value) ? value.map(asObject) : Object.values(asObject(value)).map(asObject)

/** Trimmed text. Numbers count as text, because YAML reads `4.20` as a number. */
export const firstTrimmed = (...values: unknown[]): string => {
  for (const value of values) {
    const text = typeof value === 'number' ? String(value) : value
    if (typeof text === 'string' && text.trim()) return text.trim()
  }
  return ''
}

const textOrNull = (...values: unknown[]): string | null => firstTrimmed(...values) || null

const address = (...values: unknown[]): string | null =>
  firstTrimmed(...values).replace(/\/+$/, '') || null

/** A positive integer, with or without underscores; else 0. */
const tokens = (value: unknown): number => {
  const number = Number(typeof value === 'string' ? value.replaceAll('_', '') : value)
  return Number.isSafeInteger(number) && number > 0 ? number : 0
}

/** `vision` is the host agent's other name for it. */
const visionOf = (raw: Readonly<JsonObject>): { vision?: boolean } => {
  const vision = yamlFlag(raw.supports_vision) ?? yamlFlag(raw.vision)
  return vision === undefined ? {} : { vision }
}

/** A mapping `id: {context_length, supports_vision}`, a list of ids, or a list of records with an `id`. */
const readModels = (value: unknown): ListedModels => {
  const pairs: [string, unknown][] = Array.isArray(value)
    ? value.map(item => [firstTrimmed(item, asObject(item).id, asObject(item).name), item])
    : entries(value)
  return new Map(
    pairs
      .filter(([id]) => id.trim())
      .map(([id, item]) => {
        const raw = asObject(item)
        return [id.trim(), { contextLength: tokens(raw.context_length), ...visionOf(raw) }]
      }),
  )
}

/** Arguments are a list, or text split at white space. */
const commandLine = (raw: Readonly<JsonObject>): string[] => {
  const command = firstTrimmed(raw.acp_command)
  const args = Array.isArray(raw.acp_args)
    ? raw.acp_args.map(String)
    : firstTrimmed(raw.acp_args)
        .split(/\s+/)
        .filter(word => word !== '')
  return command === '' ? [] : [command, ...args]
}

/** Seconds to milliseconds; undefined for anything but a positive number. */
const seconds = (value: unknown): number | undefined => {
  const number = Number(value)
  return value != null && Number.isFinite(number) && number > 0 ? fromSeconds(number) : undefined
}

const readAgent = (id: string, raw: Readonly<JsonObject>): AgentEntry => {
  const [startMs, idleMs] = [seconds(raw.acp_start_timeout), seconds(raw.acp_idle_timeout)]
  const maxIdle = tokens(raw.acp_max_idle)
  const isRemote = firstTrimmed(raw.acp_files).trim().toLowerCase() === 'agent'
  const cwd = firstTrimmed(raw.acp_cwd).trim()
  const env = entries(raw.env).flatMap(([key, value]): [string, string][] =>
    isObjectOrArray(value) ? [] : [[key, `${value ?? ''}`]],
  )
  const [mode, model] = [firstTrimmed(raw.acp_mode), firstTrimmed(raw.acp_model)]
  const options = entries(raw.acp_options).flatMap(([key, value]): [string, string | boolean][] =>
    isObjectOrArray(value) || value == null
      ? []
      : [[key, typeof value === 'boolean' ? value : String(value)]],
  )
  return {
    id: id.trim().toLowerCase(),
    name: textOrNull(raw.name),
    command: commandLine(raw),
    settings: {
      env: Object.fromEntries(env),
      // Their commands and keys belong to this machine.
      mcp: yamlFlag(raw.acp_mcp) ?? !isRemote,
      ...(isRemote && { files: 'agent' as const }),
      ...(isRemote && isAbsolute(cwd) && { cwd }),
      ...(mode && { mode }),
      ...(model && { model }),
      ...(options.length > 0 && { options: Object.fromEntries(options) }),
      ...(startMs && { startMs }),
      ...(idleMs && { idleMs }),
      ...(maxIdle && { maxIdle }),
    },
  }
}

const readAgents = (
  config: Readonly<JsonObject>,
  model: Readonly<JsonObject>,
  provider: string | null,
): AgentEntry[] => [
  ...(provider ? [readAgent(toProviderId(provider), model)] : []),
  ...entries(config.providers).map(([id, raw]) => readAgent(id, asObject(raw))),
  ...rows(config.custom_providers).map(raw =>
    readAgent(toSlug(firstTrimmed(raw.name)) || 'custom', raw),
  ),
]

const readEntry = (raw: Readonly<JsonObject>, env: ModelSetup['env']): ProviderEntry => {
  const variable = firstTrimmed(raw.key_env, raw.api_key_env)
  return {
    name: textOrNull(raw.name),
    baseUrl: address(raw.base_url, raw.url, raw.api),
    // A variable without a value is not as if none were named: the key is missing.
    apiKey: textOrNull(
      raw.api_key,
      Object.hasOwn(env, variable) && env[variable],
      variable && `\${${variable}}`,
    ),
    apiMode: textOrNull(raw.api_mode),
    models: readModels(raw.models),
    request: readRequestOptions(raw),
  }
}

const readCustom = (raw: Readonly<JsonObject>, env: ModelSetup['env']): CustomProvider => {
  const entry = readEntry(raw, env)
  const model = textOrNull(raw.model)
  const models = new Map(entry.models)
  if (model && !models.has(model))
    models.set(model, { contextLength: tokens(raw.context_length), ...visionOf(raw) })
  return { ...entry, models, model, slug: entry.name && toSlug(entry.name) }
}

/** A token that was created for other purposes, such as the GitHub CLI's. */
const isAmbient = (raw: Readonly<JsonObject>): boolean => {
  const says = (value: unknown, ...words: string[]) =>
    words.includes(firstTrimmed(value).toLowerCase())
  return (
    says(raw.source, 'gh_cli', 'gh auth token') ||
    says(raw.label, 'gh auth token') ||
    says(raw.key_source, 'gh auth token')
  )
}

/** Cooldown of a key after a rate limit or quota error without a reset time. */
export const COOLDOWN_MS = 60 * 60_000

const cooldownOf = (raw: Readonly<JsonObject>): number => {
  if (raw.last_status !== 'exhausted') return 0
  const since = timeMs(raw.last_status_at)
  return timeMs(raw.last_error_reset_at) ?? (since === undefined ? Infinity : since + COOLDOWN_MS)
}

export const tokenOf = (raw: Readonly<JsonObject>): string =>
  firstTrimmed(inferenceToken(raw), raw.agent_key, raw.access_token, raw.api_key)

/** Entries without an id are identified by their index. */
export const entryId = (raw: Readonly<JsonObject>, at: number): string =>
  firstTrimmed(raw.id) || `#${at}`

const readPoolEntry = (
  provider: string,
  raw: Readonly<JsonObject>,
  at: number,
  env: ModelSetup['env'],
): PoolEntry[] => {
  const token = tokenOf(raw)
  const entry = {
    id: entryId(raw, at),
    source: firstTrimmed(raw.source),
    token,
    baseUrl: address(raw.inference_base_url, raw.base_url),
    priority: Number(raw.priority) || 0,
    cooldownUntilMs: cooldownOf(raw),
    requests: tokens(raw.request_count),
    ambient: isAmbient(raw),
    signIn: tokenFacts(provider, raw, token),
  }
  if (!entry.source.startsWith('env:')) return [entry]
  // A copy of a variable's value: ignored when the variable is unset; its status is void when the value has changed.
  const name = entry.source.slice('env:'.length)
  const key = Object.hasOwn(env, name) ? firstTrimmed(env[name]) : ''
  if (!key) return []
  return [key === entry.token ? entry : { ...entry, token: key, cooldownUntilMs: 0 }]
}

/** At the same priority a key comes before the token of a sign-in. */
const byPriority = (a: PoolEntry, b: PoolEntry): number =>
  a.priority - b.priority || Number(a.signIn !== undefined) - Number(b.signIn !== undefined)

const readPool = (auth: Readonly<JsonObject>, env: ModelSetup['env']): ModelSetup['pool'] => {
  const pools = entries(auth.credential_pool).map(([name, list]): [string, PoolEntry[]] => {
    const id = toProviderId(name)
    const pool = rows(list).flatMap((raw, at) => readPoolEntry(id, raw, at, env))
    return [id, pool.toSorted(byPriority)]
  })
  return new Map(pools)
}

/** Nous Portal: `agent_key` is the API key of older sign-ins; their access token only creates such keys. */
export const signInKey = (provider: string, raw: Readonly<JsonObject>): string =>
  provider === 'nous'
    ? firstTrimmed(inferenceToken(raw), raw.agent_key)
    : firstTrimmed(raw.api_key, raw.access_token, asObject(raw.tokens).access_token)

const readSignedIn = (auth: Readonly<JsonObject>): ModelSetup['signedIn'] =>
  new Map(
    entries(auth.providers).map(([name, state]): [string, SignedIn] => {
      const raw = asObject(state)
      const id = toProviderId(name)
      const key = signInKey(id, raw)
      return [id, { key, signIn: tokenFacts(id, { ...raw, auth_type: 'oauth' }, key) }]
    }),
  )

/** `auto` counts as absent. */
const explicitProvider = (value: unknown): string | null => {
  const name = firstTrimmed(value)
  return name.toLowerCase() === 'auto' ? null : name || null
}

/** A custom provider may be named without `custom:`, unless the name is that of a known provider. */
export const asCustom = (name: string, custom: readonly CustomProvider[]): string => {
  const slug = toSlug(name)
  if (slug.startsWith('custom:')) return slug
  const isKnown = PROVIDERS.has(slug) || slug === 'custom' || slug === 'demo' || isAlias(slug)
  return !isKnown && custom.some(entry => entry.slug === slug) ? `custom:${slug}` : name
}

export const readSetup = (home: ModelHome): ModelSetup => {
  const config = home.config()
  const env = home.env()
  const auth = asObject(home.authJson())
  const raw = typeof config.model === 'object' ? asObject(config.model) : {}
  const custom = rows(config.custom_providers).map(entry => readCustom(entry, env))
  const baseUrl = address(raw.base_url, config.base_url)
  const name =
    explicitProvider(raw.provider) ??
    explicitProvider(config.provider) ??
    (baseUrl ? 'custom' : null) ??
    explicitProvider(auth.active_provider)
  const provider = name && asCustom(name, custom)
  return {
    provider,
    active: provider && toProviderId(provider),
    baseUrl,
    apiKey: textOrNull(raw.api_key, raw.api),
    apiMode: textOrNull(raw.api_mode),
    request: readRequestOptions(raw),
    agents: readAgents(config, raw, provider),
    model:
      typeof config.model === 'object'
        ? firstTrimmed(raw.default, raw.model)
        : firstTrimmed(config.model),
    contextLength: tokens(raw.context_length),
    ollamaContext: tokens(raw.ollama_num_ctx),
    ...visionOf(raw),
    maxTokens: tokens(raw.max_tokens),
    effort: config.agent.reasoning_effort,
    cacheTtl: config.prompt_caching.cache_ttl,
    custom,
    providers: new Map(
      entries(config.providers).map(([id, entry]) => [
        toProviderId(id),
        readEntry(asObject(entry), env),
      ]),
    ),
    pool: readPool(auth, env),
    signedIn: readSignedIn(auth),
    dir: home.dir ?? null,
    env,
    dotenv: home.dotenv(),
    now: home.clock.now(),
  }
}
