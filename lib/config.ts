/** Parses environment variables and command-line arguments into a frozen value. No other code reads `process.env`. */
import { isIP } from 'node:net'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { closest } from 'fastest-levenshtein'
import { parseBasePath } from './base/base-path.ts'
import { CLUSTER_VARIABLES, type ClusterSettings, parseCluster } from './base/cluster-settings.ts'
import { commaList } from './base/comma-list.ts'
import { isLoopbackHost } from './base/local-network.ts'
import { readProxies } from './base/proxy-variables.ts'
import { readLogSettings, rejectLogSettings } from './base/read-log-settings.ts'
import type { LogSettings } from './schema/log-settings.ts'

export type Config = Readonly<{
  host: string
  /** Reachable from other machines. */
  isExposed: boolean
  /** 0 lets the system choose. */
  port: number
  tlsCert: string | null
  tlsKey: string | null
  /** Home of the profile `default`; the other profiles live below it. */
  baseHome: string
  /** AGENT_HOME at the start: the base home, or that of a profile. */
  agentHome: string
  stateDir: string
  /** Trimmed and not empty, or null. */
  password: string | null
  defaultWorkspace: string | null
  defaultModel: string
  /** The first non-blank of AGENT_MODEL, OPENAI_MODEL, LLM_MODEL. */
  modelOverride: string
  botName: string
  /** Normalized: `https://host[:port]`. */
  allowedOrigins: readonly string[]
  /** Addresses and CIDR blocks. */
  trustedProxies: readonly string[]
  /** AGENT_WEBUI_TRUSTED_PROXIES was set, so an administrator trusts these proxies' headers. */
  hasTrustedProxies: boolean
  /** Path below which a reverse proxy serves the page, such as `/agent`; empty at the root (AGENT_WEBUI_BASE_PATH). */
  basePath: string
  /** Sign-in with OpenID Connect (AGENT_WEBUI_OIDC_…). */
  oidc: OidcConfig | null
  /** Lower-case name of the header in which trusted proxies name the signed-in user (AGENT_WEBUI_AUTH_HEADER). */
  authHeader: string | null
  /** A database keeps a copy of the state directory (AGENT_WEBUI_CLUSTER_…). */
  cluster: ClusterSettings | null
  /** A worker runs this, and only who may use it gets past the forwarder. */
  isVouched: boolean
  /** `approvals.outside_sandbox` where a profile says nothing (AGENT_WEBUI_OUTSIDE_SANDBOX). The image sets it. */
  outsideSandbox: 'changes' | 'dangerous'
  /** The page may open terminals (AGENT_WEBUI_TERMINAL). */
  hasTerminal: boolean
  /** Whether `sandbox.enabled: auto` looks for a sandbox at all (AGENT_WEBUI_SANDBOX). */
  looksForSandbox: boolean
  skipOnboarding: boolean
  onboardingOpen: boolean
  autoInstall: boolean
  agentDir: string | null
  /** config.yaml of the base profile, when it is elsewhere (AGENT_CONFIG_PATH). */
  configPath: string | null
  userHome: string
  openBrowser: boolean
  /** The whole environment as it was at the start. */
  env: Readonly<Record<string, string>>
  log: LogSettings
  /** Of those who may read the metrics (AGENT_WEBUI_METRICS_TOKEN); null: there are none. */
  metricsToken: string | null
  /** Ignored values, as sentences for the log. */
  warnings: readonly string[]
}>

export type OidcConfig = Readonly<{
  /** https, or http on this machine. */
  issuer: string
  clientId: string
  /** Null: in the file, or none (a public client). */
  clientSecret: string | null
  clientSecretFile: string | null
  /** Separated by spaces; contains `openid`. */
  scopes: string
  /** Of the provider, for the button. */
  name: string
}>

/** Default directory of the agent home, in the user's home. */
const AGENT_DIRECTORY = '.agent'

export const KNOWN_VARIABLES = [
  'HOST',
  'PORT',
  'STATE_DIR',
  'DEFAULT_WORKSPACE',
  'DEFAULT_MODEL',
  'BOT_NAME',
  'PASSWORD',
  'ALLOWED_ORIGINS',
  'TRUSTED_PROXIES',
  'BASE_PATH',
  'ONBOARDING_OPEN',
  'SKIP_ONBOARDING',
  'AUTO_INSTALL',
  'OUTSIDE_SANDBOX',
  'TERMINAL',
  'SANDBOX',
  'AGENT_DIR',
  'TLS_CERT',
  'TLS_KEY',
  'OIDC_ISSUER',
  'OIDC_CLIENT_ID',
  'OIDC_CLIENT_SECRET',
  'OIDC_CLIENT_SECRET_FILE',
  'OIDC_SCOPES',
  'OIDC_NAME',
  'AUTH_HEADER',
  'BACKUP_PASSPHRASE',
  ...CLUSTER_VARIABLES.map(name => `CLUSTER_${name}`),
  'LOG',
  'LOG_LEVEL',
  'METRICS_TOKEN',
  // Of earlier versions: a file that still sets it must not stop the start.
  'RELEASES',
  // Set by setup.mjs.
  'PARENT',
].map(name => `AGENT_WEBUI_${name}`)

/** Wrong arguments of the program: exit code 2. */
export class UsageError extends Error {}

const USAGE = 'Usage: agent-webui [port] [--host address] [--no-browser]'

/** The only reference to `process.env`. */
export const processEnvironment = (): Record<string, string | undefined> => process.env

/** A misspelled variable stops the start: ignoring it silently would be worse. */
const rejectUnknown = (env: Readonly<Record<string, string>>) => {
  for (const name of Object.keys(env)) {
    if (!name.startsWith('AGENT_WEBUI_') || KNOWN_VARIABLES.includes(name)) continue
    throw new Error(
      `${name} is not a setting of agent-webui; did you mean ${closest(name, KNOWN_VARIABLES)}?`,
    )
  }
}

const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) <= 65_535

const parsePort = (text: string, name: string): number => {
  if (!isPort(text)) throw new Error(`${name} must be a port from 0 to 65535, not "${text}"`)
  return Number(text)
}

type Arguments = { port?: number; host?: string; openBrowser: boolean }

const parseArguments = (argv: readonly string[]): Arguments => {
  const parsed: Arguments = { openBrowser: true }
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!
    if (word === '--no-browser') parsed.openBrowser = false
    else if (word === '--host' || word.startsWith('--host=')) {
      const host = word === '--host' ? argv[++i] : word.slice('--host='.length)
      if (!host) throw new UsageError(`--host needs an address. ${USAGE}`)
      parsed.host = host
    } else if (!word.startsWith('-') && parsed.port === undefined) {
      if (!isPort(word))
        throw new UsageError(`"${word}" is no port: it must be a number from 0 to 65535. ${USAGE}`)
      parsed.port = Number(word)
    } else {
      throw new UsageError(`"${word}" is not an option. ${USAGE}`)
    }
  }
  return parsed
}

/** Entries without a scheme cannot match an Origin header; they are reported in `warnings`. */
const parseOrigins = (text: string, warnings: string[]): string[] =>
  commaList(text).flatMap(entry => {
    if (/^https?:\/\/[^/]+\/?$/i.test(entry) && URL.canParse(entry)) return [new URL(entry).origin]
    warnings.push(`AGENT_WEBUI_ALLOWED_ORIGINS: "${entry}" is ignored, write it as https://host`)
    return []
  })

const isAddressOrBlock = (entry: string): boolean => {
  const [address = '', bits, more] = entry.split('/')
  const family = isIP(address)
  if (family === 0 || more !== undefined) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32))
}

const parseProxies = (text: string): string[] => {
  const entries = commaList(text)
  for (const entry of entries) {
    if (!isAddressOrBlock(entry)) {
      throw new Error(
        `AGENT_WEBUI_TRUSTED_PROXIES must hold addresses or blocks like 10.0.0.0/8, not "${entry}"`,
      )
    }
  }
  return entries
}

const readBasePath = (text: string): string => {
  const path = parseBasePath(text)
  if (path === undefined)
    throw new Error(`AGENT_WEBUI_BASE_PATH must be a path like /agent, not "${text}"`)
  return path
}

/**
 * AGENT_BASE_HOME, else AGENT_HOME (two levels up when it is a profile), else the agent directory in the user's home.
 */
const findBaseHome = (base: string, home: string, userHome: string): string => {
  if (base !== '') return base
  if (home === '') return join(userHome, AGENT_DIRECTORY)
  return basename(dirname(home)) === 'profiles' ? dirname(dirname(home)) : home
}

/** The user's home directory. Throws in a container whose user id has no passwd entry. */
const systemHome = (): string => {
  try {
    const home = homedir()
    if (home !== '') return home
  } catch {
    // Reported below.
  }
  throw new Error('HOME is not set, and the system knows no home of this user; set HOME')
}

const isSecureUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, search, hash } = new URL(text)
  if (username !== '' || search !== '' || hash !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname))
}

/** `get` returns the trimmed value of AGENT_WEBUI_OIDC_<name>, empty when it is not set. */
const parseOidc = (get: (name: string) => string, secretFile: string): OidcConfig | null => {
  const [issuer, clientId, clientSecret] = [get('ISSUER'), get('CLIENT_ID'), get('CLIENT_SECRET')]
  const scopes = get('SCOPES') || 'openid email profile'
  if (issuer === '' && clientId === '' && clientSecret === '' && secretFile === '') return null
  if (issuer === '' || clientId === '')
    throw new Error('AGENT_WEBUI_OIDC_ISSUER and AGENT_WEBUI_OIDC_CLIENT_ID must be set together')
  if (!isSecureUrl(issuer))
    throw new Error(
      `AGENT_WEBUI_OIDC_ISSUER must be a URL like https://login.example.com, not "${issuer}"; http is only allowed on this machine`,
    )
  if (clientSecret !== '' && secretFile !== '')
    throw new Error(
      'AGENT_WEBUI_OIDC_CLIENT_SECRET and AGENT_WEBUI_OIDC_CLIENT_SECRET_FILE cannot both be set',
    )
  if (!scopes.split(/ +/).includes('openid'))
    throw new Error('AGENT_WEBUI_OIDC_SCOPES must contain "openid"; separate scopes with spaces')
  return Object.freeze({
    issuer,
    clientId,
    clientSecret: clientSecret || null,
    clientSecretFile: secretFile || null,
    scopes,
    name: get('NAME') || new URL(issuer).hostname,
  })
}

/** Headers that browsers and proxies set for other purposes, so that their values name no user. */
const NOT_USERS =
  /^(?:authorization|cookie|host|origin|referer|user-agent|forwarded|via|x-real-ip|x-forwarded-(?:for|host|port|prefix|proto))$/

const parseAuthHeader = (text: string, hasTrustedProxies: boolean): string | null => {
  if (text === '') return null
  const name = text.toLowerCase()
  // Servers disagree about underscores: some make X_User and X-User the same header.
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name) || NOT_USERS.test(name))
    throw new Error(
      `AGENT_WEBUI_AUTH_HEADER must name the header in which your proxy sends the user, like Remote-User, not "${text}"`,
    )
  if (!hasTrustedProxies)
    throw new Error(
      'AGENT_WEBUI_AUTH_HEADER needs AGENT_WEBUI_TRUSTED_PROXIES: the addresses of the proxies that may send it',
    )
  return name
}

/** For what protects something: any other word stops the start. */
const parseSwitch = (text: string, name: string): boolean => {
  if (/^(?:on|1|true|yes)$/i.test(text)) return true
  if (/^(?:off|0|false|no)$/i.test(text)) return false
  throw new Error(`${name} must be on or off, not "${text}"`)
}

const isOn = (text: string): boolean => ['1', 'true', 'yes'].includes(text.toLowerCase())

/** Long enough that it cannot be guessed. */
const MIN_TOKEN_CHARS = 16

const parseMetricsToken = (text: string): string | null => {
  if (text === '') return null
  if (!/^[\x21-\x7e]+$/.test(text) || text.length < MIN_TOKEN_CHARS)
    throw new Error(
      `AGENT_WEBUI_METRICS_TOKEN must have at least ${MIN_TOKEN_CHARS} letters, digits, or signs; make one with: openssl rand -hex 24`,
    )
  return text
}

/** Throws an Error with one sentence for the user who starts the program. */
export const readConfig = (
  environment: Readonly<Record<string, string | undefined>>,
  argv: readonly string[],
): Config => {
  const env = Object.freeze(
    Object.fromEntries(
      Object.entries(environment).filter((pair): pair is [string, string] => pair[1] !== undefined),
    ),
  )
  rejectUnknown(env)
  const parsed = parseArguments(argv)
  rejectLogSettings(name => env[name]?.trim() ?? '')
  const warnings: string[] = []
  readProxies(env)
  /** Blank is the same as not set. */
  const get = (name: string) => env[name]?.trim() ?? ''
  if (get('AGENT_WEBUI_RELEASES'))
    warnings.push('AGENT_WEBUI_RELEASES is ignored: see "Upgrade" in docs/install.md')
  const userHome = get('HOME') || get('USERPROFILE') || systemHome()
  const path = (name: string) => {
    const text = get(name)
    return text === '' ? '' : resolve(text.replace(/^~(?=$|[/\\])/, () => userHome))
  }

  const tlsCert = path('AGENT_WEBUI_TLS_CERT') || null
  const tlsKey = path('AGENT_WEBUI_TLS_KEY') || null
  if ((tlsCert === null) !== (tlsKey === null)) {
    throw new Error('AGENT_WEBUI_TLS_CERT and AGENT_WEBUI_TLS_KEY must be set together')
  }
  const agentHome = path('AGENT_HOME')
  const baseHome = findBaseHome(path('AGENT_BASE_HOME'), agentHome, userHome)
  const proxies = get('AGENT_WEBUI_TRUSTED_PROXIES')
  const host = parsed.host ?? (get('AGENT_WEBUI_HOST') || '127.0.0.1')
  const authHeader = parseAuthHeader(get('AGENT_WEBUI_AUTH_HEADER'), proxies !== '')
  const cluster = parseCluster(name => get(`AGENT_WEBUI_CLUSTER_${name}`), path)

  return Object.freeze({
    host,
    isExposed: !isLoopbackHost(host),
    port: parsed.port ?? parsePort(get('AGENT_WEBUI_PORT') || '8787', 'AGENT_WEBUI_PORT'),
    tlsCert,
    tlsKey,
    baseHome,
    agentHome: agentHome || baseHome,
    stateDir: path('AGENT_WEBUI_STATE_DIR') || join(baseHome, 'webui'),
    password: get('AGENT_WEBUI_PASSWORD') || null,
    defaultWorkspace: path('AGENT_WEBUI_DEFAULT_WORKSPACE') || null,
    defaultModel: get('AGENT_WEBUI_DEFAULT_MODEL'),
    modelOverride: get('AGENT_MODEL') || get('OPENAI_MODEL') || get('LLM_MODEL'),
    botName: get('AGENT_WEBUI_BOT_NAME') || 'Agent',
    allowedOrigins: Object.freeze(parseOrigins(get('AGENT_WEBUI_ALLOWED_ORIGINS'), warnings)),
    trustedProxies: Object.freeze(proxies === '' ? ['127.0.0.0/8', '::1'] : parseProxies(proxies)),
    hasTrustedProxies: proxies !== '',
    basePath: readBasePath(get('AGENT_WEBUI_BASE_PATH')),
    oidc: parseOidc(
      name => get(`AGENT_WEBUI_OIDC_${name}`),
      path('AGENT_WEBUI_OIDC_CLIENT_SECRET_FILE'),
    ),
    authHeader,
    cluster,
    isVouched: authHeader !== null && cluster !== null && cluster.runBy !== null,
    outsideSandbox: get('AGENT_WEBUI_OUTSIDE_SANDBOX') === 'dangerous' ? 'dangerous' : 'changes',
    hasTerminal: parseSwitch(get('AGENT_WEBUI_TERMINAL') || 'on', 'AGENT_WEBUI_TERMINAL'),
    looksForSandbox: parseSwitch(get('AGENT_WEBUI_SANDBOX') || 'on', 'AGENT_WEBUI_SANDBOX'),
    skipOnboarding: isOn(get('SKIP_ONBOARDING')) || isOn(get('AGENT_WEBUI_SKIP_ONBOARDING')),
    onboardingOpen: get('AGENT_WEBUI_ONBOARDING_OPEN') !== '',
    autoInstall: isOn(get('AGENT_WEBUI_AUTO_INSTALL')),
    agentDir: path('AGENT_WEBUI_AGENT_DIR') || null,
    configPath: path('AGENT_CONFIG_PATH') || null,
    userHome,
    openBrowser: parsed.openBrowser,
    log: readLogSettings(env),
    metricsToken: parseMetricsToken(get('AGENT_WEBUI_METRICS_TOKEN')),
    env,
    warnings: Object.freeze(warnings),
  })
}
