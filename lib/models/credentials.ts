/** Which keys a home holds, and to which host each of them may be sent (contract, decisions 5 and 8). */
import { isIP } from 'node:net'
import { PROVIDERS } from './providers.ts'
import type { ModelSetup, PoolEntry } from './provider-config.ts'

export type Credential = {
  key: string
  source: 'env_file' | 'env_var' | 'config_yaml' | 'pool' | 'oauth'
  /** What to call it in a sentence: a variable or a place in config.yaml, never the value. */
  name: string
}

const PLACEHOLDERS: ReadonlySet<string> = new Set([
  'changeme',
  'change_me',
  'your_api_key',
  'your-api-key',
  'your_api_key_here',
  'your-api-key-here',
  'placeholder',
  'dummy',
  'null',
  'none',
  'undefined',
])

/** At least four characters that a header can carry, and not something a template left behind. */
export const isUsableSecret = (value: string | null | undefined): value is string => {
  const secret = value?.trim() ?? ''
  const isText = /^[\x21-\x7e]{4,}$/.test(secret) && !/^\*+$/.test(secret)
  return isText && !PLACEHOLDERS.has(secret.toLowerCase())
}

const hostOf = (url: string | null | undefined): string => {
  if (!url || !URL.canParse(url)) return ''
  return new URL(url).hostname.toLowerCase().replace(/^\[|\]$/g, '')
}

const PRIVATE_V4 = /^(?:127|10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))\./
const PRIVATE_V6 = /^(?:::1$|f[cd][0-9a-f]{2}:|fe[89ab][0-9a-f]:)/
const PRIVATE_NAME = /^[^.]+$|\.(?:localhost|local|internal|lan|home\.arpa)$/

/** This machine or its own network: such servers usually want no key. */
export const isLocalUrl = (url: string): boolean => {
  const host = hostOf(url)
  if (host === '') return false
  // A name may begin like a private address and lead anywhere.
  const family = isIP(host)
  if (family === 4) return PRIVATE_V4.test(host)
  return family === 6 ? PRIVATE_V6.test(host) : PRIVATE_NAME.test(host)
}

const isHostOf = (host: string, owner: string): boolean =>
  owner !== '' && (host === owner || host.endsWith(`.${owner}`))

/** Is this the provider's own address, or one that the environment gave it? */
const isOwnHost = (setup: ModelSetup, provider: string, host: string): boolean => {
  const facts = PROVIDERS.get(provider)
  const owned = [hostOf(facts?.baseUrl), ...(facts?.hosts ?? [])]
  if (owned.some(owner => isHostOf(host, owner))) return true
  return facts?.baseUrlEnv !== undefined && host === hostOf(setup.env[facts.baseUrlEnv])
}

/** Some other provider's address: no pairing in a configuration makes our key welcome there. */
const isForeign = (provider: string, host: string): boolean =>
  [...PROVIDERS].some(
    ([id, facts]) =>
      id !== provider &&
      !facts.keyless &&
      [hostOf(facts.baseUrl), ...(facts.hosts ?? [])].some(owner => isHostOf(host, owner)),
  )

/** Variables that hold keys of `provider`; a nameless endpoint shares OpenAI's, as the command line does. */
const variablesOf = (provider: string): readonly string[] =>
  provider === 'custom' ? ['OPENAI_API_KEY'] : (PROVIDERS.get(provider)?.keys ?? [])

/** The addresses that the home's own configuration gives a provider. */
const configuredHosts = (setup: ModelSetup, provider: string): string[] => [
  hostOf(setup.providers.get(provider)?.baseUrl),
  ...(setup.active === provider ? [hostOf(setup.baseUrl)] : []),
]

/**
 * May a key from the environment or auth.json go to `host`? To the provider's own hosts always; to another one only when
 * the home itself pairs the two: its config.yaml names the address, its own .env the key. The router's key never leaves it.
 */
const canSendKey = (
  setup: ModelSetup,
  provider: string,
  url: string,
  source: Credential['source'],
): boolean => {
  const host = hostOf(url)
  if (!host || (url.startsWith('http:') && !isLocalUrl(url))) return false
  if (isOwnHost(setup, provider, host)) return true
  if (provider === 'custom' && source === 'env_var')
    return host === hostOf(setup.env.OPENAI_BASE_URL)
  if (provider === 'openrouter' || source !== 'env_file' || isForeign(provider, host)) return false
  return configuredHosts(setup, provider).includes(host)
}

/** The home's own .env goes before the process environment, whatever the variables are called (decision 8). */
const fromEnvironment = (setup: ModelSetup, provider: string): Credential[] => {
  const found = variablesOf(provider).flatMap(name => {
    const key = setup.env[name]
    if (!isUsableSecret(key)) return []
    const source = Object.hasOwn(setup.dotenv, name) ? 'env_file' : 'env_var'
    return [{ key: key.trim(), name, source } as const]
  })
  return [
    ...found.filter(({ source }) => source === 'env_file'),
    ...found.filter(({ source }) => source === 'env_var'),
  ]
}

/** Keys written beside an address in config.yaml: their owner has said where they go. */
const fromConfig = (setup: ModelSetup, provider: string): Credential[] => {
  const written = (key: string | null | undefined, name: string): Credential[] =>
    isUsableSecret(key) ? [{ key: key.trim(), source: 'config_yaml', name }] : []
  const entries = setup.custom.filter(({ slug }) =>
    slug ? provider === `custom:${slug}` : provider === 'custom',
  )
  return [
    ...entries.flatMap(entry => written(entry.apiKey, 'custom_providers')),
    ...(setup.active === provider ? written(setup.apiKey, 'model.api_key') : []),
    ...written(setup.providers.get(provider)?.apiKey, `providers.${provider}.api_key`),
  ]
}

/** A configured key is for the address configured with it, which may be the provider's own. */
const canSendConfiguredKey = (setup: ModelSetup, provider: string, url: string): boolean => {
  const host = hostOf(url)
  const entries = setup.custom.filter(({ slug }) => provider === `custom${slug ? `:${slug}` : ''}`)
  return (
    isOwnHost(setup, provider, host) ||
    [
      ...configuredHosts(setup, provider),
      ...entries.map(({ baseUrl }) => hostOf(baseUrl)),
    ].includes(host)
  )
}

/** A key with what is known of how it fared. */
export type Candidate = Credential & {
  /** The same as long as it is the same key in the same place. */
  id: string
  /** Milliseconds since 1970; 0 when it does not rest. */
  cooldownUntilMs: number
  requests: number
  /** It stands in the pool of auth.json, where notes of it are kept. */
  isPooled: boolean
}

const NO_STATUS = { cooldownUntilMs: 0, requests: 0, isPooled: false }

const statusOf = ({ id, cooldownUntilMs, requests }: PoolEntry) => ({
  id,
  cooldownUntilMs: cooldownUntilMs,
  requests,
  isPooled: true,
})

/** A variable's entry in the pool holds the notes of it, not another key. */
const variableEntry = (setup: ModelSetup, provider: string, name: string): PoolEntry | undefined =>
  setup.pool.get(provider)?.find(({ source }) => source === `env:${name}`)

const fromAuthFile = (
  setup: ModelSetup,
  provider: string,
): (Candidate & { baseUrl: string | null })[] => {
  const own = variablesOf(provider).map(name => `env:${name}`)
  const pool = (setup.pool.get(provider) ?? []).flatMap(entry =>
    !entry.ambient && !own.includes(entry.source) && isUsableSecret(entry.token)
      ? [
          {
            key: entry.token,
            source: 'pool' as const,
            name: 'the credential pool',
            baseUrl: entry.baseUrl,
            ...statusOf(entry),
          },
        ]
      : [],
  )
  const token = setup.signedIn.get(provider)
  if (!isUsableSecret(token)) return pool
  const signedIn = { key: token, source: 'oauth', name: 'the sign-in', baseUrl: null } as const
  return [...pool, { ...signedIn, ...NO_STATUS, id: 'sign-in' }]
}

/** Every key of a provider, best first: its variables (.env before the process), config.yaml, pool, sign-in. */
export const credentialsOf = (setup: ModelSetup, provider: string): Credential[] => [
  ...fromEnvironment(setup, provider),
  ...fromConfig(setup, provider),
  ...fromAuthFile(setup, provider),
]

/**
 * The key that config.yaml itself gives a provider: `providers.<id>.api_key`, else `model.api_key` of the configured one
 * (spec.md, Models: only a provider-scoped key or model.api_key, no top-level one).
 */
export const configuredKey = (setup: ModelSetup, provider: string): string | null => {
  const scoped = setup.providers.get(provider)?.apiKey
  if (isUsableSecret(scoped)) return scoped.trim()
  const own = setup.active === provider ? setup.apiKey : null
  return isUsableSecret(own) ? own.trim() : null
}

/** Is this the provider's own address rather than one the home chose for it? */
export const isOwnAddress = (setup: ModelSetup, provider: string, url: string): boolean =>
  isOwnHost(setup, provider, hostOf(url))

/** The same key from two places is one: known by the first, with the notes of the one in the pool. */
const withoutDuplicates = (candidates: readonly Candidate[]): Candidate[] =>
  candidates
    .filter(({ key }, at) => candidates.findIndex(other => other.key === key) === at)
    .map(first => {
      const twin = candidates.find(({ key, isPooled }) => isPooled && key === first.key)
      if (!twin || first.isPooled) return first
      const { id, cooldownUntilMs, requests } = twin
      return { ...first, id, cooldownUntilMs: cooldownUntilMs, requests, isPooled: true }
    })

/** Every key of `provider` that may go to `url`, in the order in which they are meant. */
export const candidatesFor = (setup: ModelSetup, provider: string, url: string): Candidate[] => {
  const host = hostOf(url)
  // At an address the home chose itself, the key written beside it is meant; elsewhere the variables come first.
  const written = (
    canSendConfiguredKey(setup, provider, url) ? fromConfig(setup, provider) : []
  ).map(credential => ({ ...credential, ...NO_STATUS, id: `config:${credential.name}` }))
  const variables = fromEnvironment(setup, provider)
    .filter(({ source }) => canSendKey(setup, provider, url, source))
    .map(credential => {
      const entry = variableEntry(setup, provider, credential.name)
      return {
        ...credential,
        ...NO_STATUS,
        ...(entry && statusOf(entry)),
        id: `env:${credential.name}`,
      }
    })
  const others = fromAuthFile(setup, provider)
    .filter(({ source, baseUrl }) =>
      baseUrl === null && provider.startsWith('custom:')
        ? // A pool of that name is of that endpoint's keys, and it has one address.
          canSendConfiguredKey(setup, provider, url)
        : (host !== '' && host === hostOf(baseUrl)) || canSendKey(setup, provider, url, source),
    )
    .map(({ baseUrl: _, ...candidate }) => candidate)
  return withoutDuplicates(
    isOwnHost(setup, provider, host)
      ? [...variables, ...written, ...others]
      : [...written, ...variables, ...others],
  )
}

/** The first that does not rest; when all do, the one that comes back first: the person may have paid meanwhile. */
export const firstAvailable = <C extends Pick<Candidate, 'cooldownUntilMs'>>(
  candidates: readonly C[],
  nowMs: number,
): C | undefined =>
  candidates.find(({ cooldownUntilMs }) => cooldownUntilMs <= nowMs) ??
  candidates.reduce<C | undefined>(
    (best, one) => (best && best.cooldownUntilMs <= one.cooldownUntilMs ? best : one),
    undefined,
  )

/** The key to send to `url` for `provider`; null when the home holds none that may go there. */
export const credentialFor = (
  setup: ModelSetup,
  provider: string,
  url: string,
  nowMs = Date.now(),
): Credential | null => {
  const best = firstAvailable(candidatesFor(setup, provider, url), nowMs)
  return best ? { key: best.key, source: best.source, name: best.name } : null
}

/**
 * Providers a home is set up for (decision 5): the active one, the pool's, those with a key variable, those with models
 * in config.yaml, and the custom ones. A token that happens to lie around does not count.
 */
export const configuredProviders = (setup: ModelSetup): Set<string> => {
  const found = new Set<string>()
  if (setup.active) found.add(setup.active)
  for (const [id, entries] of setup.pool) if (entries.some(({ ambient }) => !ambient)) found.add(id)
  for (const [id, { keys, ambient = [] }] of [...PROVIDERS])
    if (keys.some(name => !ambient.includes(name) && isUsableSecret(setup.env[name]))) found.add(id)
  for (const [id, { models }] of setup.providers) if (models.size > 0) found.add(id)
  for (const { slug, models } of setup.custom)
    if (models.size > 0) found.add(slug ? `custom:${slug}` : 'custom')
  return found
}

/** Nothing at all: no provider, no address, no key. Then, and only then, the demo model steps in. */
export const isUnconfigured = (setup: ModelSetup): boolean =>
  setup.active === null &&
  setup.baseUrl === null &&
  !isUsableSecret(setup.apiKey) &&
  configuredProviders(setup).size === 0 &&
  setup.custom.length === 0 &&
  ![...setup.providers].some(([, { apiKey }]) => isUsableSecret(apiKey)) &&
  !setup.env.OPENAI_BASE_URL?.trim()
