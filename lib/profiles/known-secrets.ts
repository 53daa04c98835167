import { join } from 'node:path'
import { namesIn } from '../base/directories.ts'
import { isObject } from '../base/json.ts'
import { UserError } from '../errors.ts'
import { JsonFile } from '../store/json-file.ts'
import { type Home, memoized } from './home.ts'
import { CREDENTIAL_FILES, TOKEN_DIRS } from './secret-files.ts'

const NAME =
  /API_?KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|(?:^|_)(?:KEY|KEY_ID|API|TOKEN|CREDENTIALS?|PAT|PWD|AUTH|AUTHORIZATION|COOKIE|BEARER|WEBHOOK|WEBHOOK_URL)$/

/** Names about a secret rather than of one: its variable, its file, its lifetime. */
const ABOUT =
  /_(?:ENV|ENVS|VAR|NAME|NAMES|FILE|PATH|DIR|TYPE|METHOD|URI|TTL|EXPIRY|EXPIRES(?:_(?:AT|IN))?)$/

/** Normalizes accessToken, access-token and ACCESS_TOKEN to the same name. */
const isSecretName = (name: string): boolean => {
  const usual = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[-.\s]/g, '_')
    .toUpperCase()
  return NAME.test(usual) && !ABOUT.test(usual)
}

/** At least 16 letters, digits and URL characters: probably a token in a header or variable of an MCP server. */
const looksRandom = (value: string): boolean =>
  value.length >= 16 && /\d/.test(value) && /[A-Za-z]/.test(value) && /^[\w+/=.~:-]+$/.test(value)

const FLAG = /^--?[\w-]*(?:key|token|secret|password)$/i
const FLAG_WITH_VALUE = /^--?[\w-]*(?:key|token|secret|password)=(.+)$/is

/** Secrets in a URL: a password, and query parameters with names of secrets. */
const inAddress = (value: string): string[] => {
  if (!/^[a-z][\w+.-]*:\/\//i.test(value) || !URL.canParse(value)) return []
  const { searchParams, password } = new URL(value)
  const parameters = [...searchParams].filter(([name]) => isSecretName(name) || /^sig$/i.test(name))
  return [...(password === '' ? [] : [value]), ...parameters.map(([, parameter]) => parameter)]
}

const inArguments = (args: readonly unknown[]): unknown[] =>
  args.filter(
    (arg, at) =>
      typeof arg === 'string' && !arg.startsWith('-') && FLAG.test(String(args[at - 1] ?? '')),
  )

/**
 * Strings whose key is the name of a secret. `isEnvOrHeader`: the value is in `env` or `headers`, where names say less, so anything
 * that looks random counts as well.
 */
const secretsIn = (value: unknown, name = '', isEnvOrHeader = false): string[] => {
  if (typeof value === 'string') {
    const pair = FLAG_WITH_VALUE.exec(value)?.[1]
    const isOne = isSecretName(name) || (isEnvOrHeader && looksRandom(value))
    return [...(isOne ? [value] : []), ...inAddress(value), ...(pair === undefined ? [] : [pair])]
  }
  if (Array.isArray(value)) {
    const flagged = inArguments(value).map(String)
    return [...flagged, ...value.flatMap(each => secretsIn(each, name, isEnvOrHeader))]
  }
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    secretsIn(
      inner,
      // In `tokens: {main: …}` the parent's name decides, because the key itself says nothing.
      isSecretName(key) || !/^tokens$/i.test(name) ? key : 'token',
      isEnvOrHeader || /^(?:env|(?:\w+_)?headers)$/i.test(key),
    ),
  )
}

const NOTHING = Object.freeze({})

/** An empty object for an unreadable file. */
const orEmpty = (read: () => unknown): unknown => {
  try {
    return read()
  } catch (error) {
    if (error instanceof UserError) return NOTHING
    throw error
  }
}

const jsonFilesIn = (dir: string): string[] =>
  namesIn(dir)
    .filter(name => name.endsWith('.json'))
    .map(name => join(dir, name))

class HomeSecrets {
  readonly #home: Home
  readonly #files = new Map<string, JsonFile<unknown>>()
  readonly #collect = memoized((...values: readonly unknown[]) => [
    ...new Set(values.flatMap(value => secretsIn(value))),
  ])

  constructor(home: Home) {
    this.#home = home
  }

  /** The same array until one of the files changes. */
  read(): readonly string[] {
    const { env, values, authJson, dir } = this.#home
    return this.#collect(
      orEmpty(env),
      this.#home.peek(),
      // A file that an editor has renamed for a moment.
      orEmpty(values),
      orEmpty(authJson),
      ...[
        ...CREDENTIAL_FILES.map(name => join(dir, name)),
        ...TOKEN_DIRS.flatMap(name => jsonFilesIn(join(dir, name))),
      ].map(path => this.#fileAt(path).read()),
    )
  }

  #fileAt(path: string): JsonFile<unknown> {
    const file = this.#files.get(path) ?? new JsonFile<unknown>(path, value => value ?? {})
    this.#files.set(path, file)
    return file
  }
}

/** The secrets of all homes. */
export class KnownSecrets {
  readonly #homes: () => readonly Home[]
  readonly #byHome = new WeakMap<Home, HomeSecrets>()
  readonly #join = memoized((...values: readonly (readonly string[])[]) => [
    ...new Set(values.flat()),
  ])

  constructor(homes: () => readonly Home[]) {
    this.#homes = homes
  }

  /** The same array until one of their files changes. */
  list(): readonly string[] {
    return this.#join(
      ...this.#homes().map(home => {
        const secrets = this.#byHome.get(home) ?? new HomeSecrets(home)
        this.#byHome.set(home, secrets)
        return secrets.read()
      }),
    )
  }
}
