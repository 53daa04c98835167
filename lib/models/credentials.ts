/** The API keys of a home, and the hosts each of them may be sent to. */
import { isLocalUrl } from '../base/local-network.ts'
import { PROVIDERS } from './providers.ts'
import type { ModelSetup, PoolEntry } from './provider-config.ts'
import { customId } from './provider-ids.ts'
import { isLapsed, type TokenFacts } from './sign-in/stored-token.ts'

export type Credential = {
  key: string
  source: 'env_file' | 'env_var' | 'config_yaml' | 'pool' | 'oauth'
  /** A variable or a key of config.yaml, for messages; never the value. */
  name: string
  /** Set when the key is the token of a sign-in. */
  signIn?: TokenFacts | undefined
}

const PLACEHOLDERS: ReadonlySet<string> = new Set([
  'changeme',
  'change_me',
  'your_api_key',
  'your-api-key',
  'your_api_key_here',
  'your-api-key-here',
  'your_key',
  'your-key',
  'your_key_here',
  'your-key-here',
  'placeholder',
  'dummy',
  'null',
  'none',
  'undefined',
])

/** At least four characters allowed in a header, and not a placeholder from a template. */
export const isUsableSecret = (value: string | null | undefined): value is string => {
  const secret = value?.trim() ?? ''
  const isText = /^[\x21-\x7e]{4,}$/.test(secret) && !/^\*+$/.test(secret)
  const isOther = PLACEHOLDERS.has(secret.toLowerCase()) || secret === REMOVED_KEY
  return isText && !isOther && !UNSET.test(secret)
}

/** A reference that was not replaced: there is no such variable. */
const UNSET = /\$\{([A-Za-z_]\w*)\}/

/** What a backup without keys has in place of a key. A request with it would fail without anyone knowing why. */
export const REMOVED_KEY = 'removed-from-backup'

export type UnusableKey = { name: string; why: 'header' | 'removed' }

/** Why a value that is there is no key; null for one that may be, for none, and for a placeholder from a template. */
const whyUnusable = (value: string | null | undefined): UnusableKey['why'] | null => {
  const secret = value?.trim() ?? ''
  if (secret.includes(REMOVED_KEY)) return 'removed'
  return secret === '' || /^[\x21-\x7e]+$/.test(secret) ? null : 'header'
}

/** OAuth tokens Anthropic issues to its own programs. They are never used here (docs/sign-in.md). */
export const isForeignSignIn = ({ key }: { key: string }): boolean => key.startsWith('sk-ant-oat')

const hostOf = (url: string | null | undefined): string => {
  if (!url || !URL.canParse(url)) return ''
  return new URL(url).hostname.toLowerCase().replace(/^\[|\]$/g, '')
}

const isHostOf = (host: string, owner: string): boolean =>
  owner !== '' && (host === owner || host.endsWith(`.${owner}`))

/** True for the provider's own hosts and for the host its base URL variable names. */
const isOwnHost = (setup: ModelSetup, provider: string, host: string): boolean => {
  const facts = PROVIDERS.get(provider)
  const owned = [hostOf(facts?.baseUrl), ...(facts?.hosts ?? [])]
  if (owned.some(owner => isHostOf(host, owner))) return true
  return facts?.baseUrlEnv !== undefined && host === hostOf(setup.env[facts.baseUrlEnv])
}

/** A host of another provider. Keys are never sent there, whatever the configuration pairs. */
const isForeign = (provider: string, host: string): boolean =>
  [...PROVIDERS].some(
    ([id, facts]) =>
      id !== provider &&
      !facts.keyless &&
      [hostOf(facts.baseUrl), ...(facts.hosts ?? [])].some(owner => isHostOf(host, owner)),
  )

/** Variables that hold keys of `provider`. Unnamed custom endpoints share OPENAI_API_KEY, as in the command line. */
const variablesOf = (provider: string): readonly string[] =>
  provider === 'custom' ? ['OPENAI_API_KEY'] : (PROVIDERS.get(provider)?.keys ?? [])

/** Hosts that config.yaml assigns to a provider. */
const configuredHosts = (setup: ModelSetup, provider: string): string[] => [
  hostOf(setup.providers.get(provider)?.baseUrl),
  ...(setup.active === provider ? [hostOf(setup.baseUrl)] : []),
]

/**
 * Whether a key from the environment or auth.json may be sent to `url`. Always to the provider's own hosts. To another host
 * only when the home pairs the two: config.yaml names the address and its .env holds the key. OpenRouter's key is never
 * sent elsewhere.
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

const sourceOf = (setup: ModelSetup, variable: string): 'env_file' | 'env_var' =>
  Object.hasOwn(setup.dotenv, variable) ? 'env_file' : 'env_var'

/** Whether a key is written beside the address of a server of one's own. */
const isKeyOfServer = ({ active, apiKey, providers, custom }: ModelSetup, key: string): boolean =>
  [
    active === 'custom' ? apiKey : null,
    providers.get('custom')?.apiKey,
    ...custom.map(entry => entry.apiKey),
  ].some(each => each?.trim() === key)

/** Keys from .env come before keys from the process environment, whatever the variables are called. */
const fromEnvironment = (setup: ModelSetup, provider: string): Credential[] => {
  const credentials = variablesOf(provider).flatMap(name => {
    const key = setup.env[name]
    if (!isUsableSecret(key)) return []
    if (provider === 'openai' && isKeyOfServer(setup, key.trim())) return []
    return [{ key: key.trim(), name, source: sourceOf(setup, name) }]
  })
  return [
    ...credentials.filter(({ source }) => source === 'env_file'),
    ...credentials.filter(({ source }) => source === 'env_var'),
  ]
}

/** What config.yaml has as a key of `provider`, usable or not, and where. */
const writtenKeys = (
  setup: ModelSetup,
  provider: string,
): [name: string, value: string | null | undefined][] => [
  ...setup.custom
    .filter(entry => provider === customId(entry))
    .map(({ apiKey }): [string, string | null] => ['custom_providers', apiKey]),
  ...(setup.active === provider
    ? [['model.api_key', setup.apiKey] as [string, string | null]]
    : []),
  [`providers.${provider}.api_key`, setup.providers.get(provider)?.apiKey],
]

/** Keys written beside an address in config.yaml. */
const fromConfig = (setup: ModelSetup, provider: string): Credential[] =>
  writtenKeys(setup, provider).flatMap(([name, key]): Credential[] =>
    isUsableSecret(key) ? [{ key: key.trim(), source: 'config_yaml', name }] : [],
  )

/**
 * Where a key of `provider` is written that cannot be sent: nobody meant that the request goes out without it. `url`: a variable
 * that would not be sent there does not matter.
 */
export const unusableKey = (
  setup: ModelSetup,
  provider: string,
  url?: string,
): UnusableKey | null => {
  const variables = variablesOf(provider).filter(
    name => url === undefined || canSendKey(setup, provider, url, sourceOf(setup, name)),
  )
  const keys = [
    ...variables.map((name): [string, string | undefined] => [name, setup.env[name]]),
    ...writtenKeys(setup, provider),
  ]
  for (const [name, value] of keys) {
    const why = whyUnusable(value)
    if (why) return { name, why }
  }
  return null
}

/** The variable that the key of `provider` should be in and that has no value; null when there is none. */
export const unsetKeyVariable = (setup: ModelSetup, provider: string): string | null => {
  for (const [, value] of writtenKeys(setup, provider)) {
    const name = UNSET.exec(value ?? '')?.[1]
    if (name !== undefined) return name
  }
  return null
}

/** Those of all providers, each once. */
export const unusableKeys = (setup: ModelSetup): UnusableKey[] => {
  const ids = new Set([
    ...(setup.active ? [setup.active] : []),
    ...PROVIDERS.keys(),
    ...setup.providers.keys(),
    ...setup.custom.map(customId),
  ])
  const keys = [...ids].flatMap(id => unusableKey(setup, id) ?? [])
  return keys.filter(({ name }, at) => keys.findIndex(other => other.name === name) === at)
}

/** A key from config.yaml goes to the address configured with it, or to the provider's own hosts. */
export const mayReceiveConfigured = (setup: ModelSetup, provider: string, url: string): boolean => {
  const host = hostOf(url)
  const entries = setup.custom.filter(entry => provider === customId(entry))
  return (
    isOwnHost(setup, provider, host) ||
    [
      ...configuredHosts(setup, provider),
      ...entries.map(({ baseUrl }) => hostOf(baseUrl)),
    ].includes(host)
  )
}

/** A key with its status. */
export type Candidate = Credential & {
  /** Stable while the same key is stored in the same place. */
  id: string
  /** Milliseconds since 1970; 0 when the key is usable. */
  cooldownUntilMs: number
  requests: number
  /** Stored in the pool of auth.json, together with its status. */
  isPooled: boolean
}

/** The id of the sign-in outside the pool. */
export const SIGN_IN_ID = 'sign-in'

const NO_STATUS = { cooldownUntilMs: 0, requests: 0, isPooled: false }

const statusOf = ({ id, cooldownUntilMs, requests }: PoolEntry) => ({
  id,
  cooldownUntilMs: cooldownUntilMs,
  requests,
  isPooled: true,
})

/** The pool entry with the status of a variable's key; it is not another key. */
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
            signIn: entry.signIn,
            ...statusOf(entry),
          },
        ]
      : [],
  )
  const { key = '', signIn } = setup.signedIn.get(provider) ?? {}
  if (!isUsableSecret(key)) return pool
  const signedIn = { key, signIn, source: 'oauth', name: 'the sign-in', baseUrl: null } as const
  return [...pool, { ...signedIn, ...NO_STATUS, id: SIGN_IN_ID }]
}

/** Every key of a provider in order of precedence: variables (.env before the process), config.yaml, pool, sign-in. */
export const credentialsOf = (setup: ModelSetup, provider: string): Credential[] => [
  ...fromEnvironment(setup, provider),
  ...fromConfig(setup, provider),
  ...fromAuthFile(setup, provider),
]

/**
 * The key config.yaml gives a provider: `providers.<id>.api_key`, else `model.api_key` of the active provider. A top-level
 * `api_key` belongs to no provider.
 */
export const configuredKey = (setup: ModelSetup, provider: string): string | null => {
  const scoped = setup.providers.get(provider)?.apiKey
  if (isUsableSecret(scoped)) return scoped.trim()
  const own = setup.active === provider ? setup.apiKey : null
  return isUsableSecret(own) ? own.trim() : null
}

/** True for the provider's own address, false for one the home chose. */
export const isOwnAddress = (setup: ModelSetup, provider: string, url: string): boolean =>
  isOwnHost(setup, provider, hostOf(url))

/** One candidate per key: the first source wins and takes the status of the pool entry. */
const withoutDuplicates = (candidates: readonly Candidate[]): Candidate[] =>
  candidates
    .filter(({ key }, at) => candidates.findIndex(other => other.key === key) === at)
    .map(first => {
      const twin = candidates.find(({ key, isPooled }) => isPooled && key === first.key)
      if (!twin || first.isPooled) return first
      const { id, cooldownUntilMs, requests } = twin
      return { ...first, id, cooldownUntilMs: cooldownUntilMs, requests, isPooled: true }
    })

/** True when a sign-in of the provider has expired and no other key is left: only a new sign-in helps. */
export const needsSignIn = (setup: ModelSetup, provider: string): boolean => {
  const all = credentialsOf(setup, provider)
  return all.length > 0 && all.every(({ signIn }) => isLapsed(signIn, setup.now))
}

/** Every usable key of `provider` that may be sent to `url`, in order of precedence: keys before tokens of sign-ins. */
export const candidatesFor = (setup: ModelSetup, provider: string, url: string): Candidate[] => {
  const host = hostOf(url)
  // At an address the home chose, the key written beside it comes first; at the provider's own, the variables.
  const configKeys = (
    mayReceiveConfigured(setup, provider, url) ? fromConfig(setup, provider) : []
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
    .filter(({ signIn }) => !isLapsed(signIn, setup.now))
    .filter(({ source, baseUrl }) =>
      baseUrl === null && provider.startsWith('custom:')
        ? // The pool of a custom provider holds keys of that endpoint, which has one address.
          mayReceiveConfigured(setup, provider, url)
        : (host !== '' && host === hostOf(baseUrl)) || canSendKey(setup, provider, url, source),
    )
    .map(({ baseUrl: _, ...candidate }) => candidate)
  return withoutDuplicates(
    isOwnHost(setup, provider, host)
      ? [...variables, ...configKeys, ...others]
      : [...configKeys, ...variables, ...others],
  ).filter(candidate => !isForeignSignIn(candidate))
}

/** The first usable key at `now`, in milliseconds since 1970. If all are cooling down, the one whose cooldown ends first: the quota may have been raised. */
export const firstAvailable = <C extends { cooldownUntilMs: number }>(
  candidates: readonly C[],
  now: number,
): C | undefined =>
  candidates.find(({ cooldownUntilMs }) => cooldownUntilMs <= now) ??
  candidates.reduce<C | undefined>(
    (best, one) => (best && best.cooldownUntilMs <= one.cooldownUntilMs ? best : one),
    undefined,
  )

/** The key to send to `url` for `provider`; null when no key may be sent there. */
export const credentialFor = (
  setup: ModelSetup,
  provider: string,
  url: string,
): Credential | null => {
  const best = firstAvailable(candidatesFor(setup, provider, url), setup.now)
  return best ? { key: best.key, source: best.source, name: best.name } : null
}

/**
 * The key in OPENAI_API_KEY was typed for the server of one's own that is in use: another program, or an earlier version, put
 * it there, and nothing else could be its key. It is then not offered for OpenAI.
 */
export const isKeyOfOwnServer = (setup: ModelSetup): boolean => {
  const { baseUrl } = setup
  return (
    setup.active === 'custom' &&
    baseUrl !== null &&
    !isLocalUrl(baseUrl) &&
    !isOwnHost(setup, 'openai', hostOf(baseUrl)) &&
    Object.hasOwn(setup.dotenv, 'OPENAI_API_KEY') &&
    fromConfig(setup, 'custom').length === 0
  )
}

/**
 * Providers a home is set up for: the active one, those with pooled keys, with a key variable or with models
 * in config.yaml, and custom ones. Ambient tokens such as GH_TOKEN do not count.
 */
export const configuredProviders = (setup: ModelSetup): Set<string> => {
  const ids = new Set<string>()
  if (setup.active) ids.add(setup.active)
  for (const [id, entries] of setup.pool) if (entries.some(({ ambient }) => !ambient)) ids.add(id)
  for (const [id, { keys, ambient = [] }] of [...PROVIDERS])
    if (
      fromEnvironment(setup, id).some(({ name }) => keys.includes(name) && !ambient.includes(name))
    )
      ids.add(id)
  for (const [id, { models }] of setup.providers) if (models.size > 0) ids.add(id)
  for (const entry of setup.custom) if (entry.models.size > 0) ids.add(customId(entry))
  return ids
}

/** No provider, no address and no key. Only then is the demo model used. */
export const isUnconfigured = (setup: ModelSetup): boolean =>
  setup.active === null &&
  setup.baseUrl === null &&
  !isUsableSecret(setup.apiKey) &&
  configuredProviders(setup).size === 0 &&
  setup.custom.length === 0 &&
  ![...setup.providers].some(([, { apiKey }]) => isUsableSecret(apiKey)) &&
  !setup.env.OPENAI_BASE_URL?.trim()
