/** URL rules of a home: its blocklist, and URLs that would leak one of its secrets. */
import { homedir } from 'node:os'
import { isAbsolute, resolve } from 'node:path'
import { asObject } from '../base/json.ts'
import { forbidden } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import { redact } from '../base/redact/redact.ts'
import { readText } from '../store/read-text.ts'
import { yamlFlag } from '../store/yaml-file.ts'

/** A list, or one comma-separated string. */
const texts = (value: unknown): string[] =>
  (Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [])
    .filter(each => typeof each === 'string')
    .map(each => each.trim())
    .filter(each => each !== '')
const isTexts = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  typeof value === 'string' ||
  (Array.isArray(value) && value.every(each => typeof each === 'string'))

/** Shared lists have one domain per line; `#` starts a comment. */
const readShared = (home: Home, path: string): string[] => {
  const expanded = path.replace(/^~(?=$|[/\\])/, () => homedir())
  const place = isAbsolute(expanded) ? expanded : resolve(home.dir, expanded)
  const { text, problem } = readText(place)
  // Fail closed: the user wants domains blocked, and without the list we don't know which.
  if (text === null)
    throw forbidden(
      `The blocklist ${place} cannot be read (${problem ?? 'it is not there'}), so no address is fetched.`,
    )
  return text.split('\n').map(line => line.replace(/#.*$/, '').trim())
}

/** `example.org` includes its subdomains, `*.example.org` only those. */
const toMatcher = (pattern: string): ((host: string) => boolean) | null => {
  const bare = pattern
    .trim()
    .toLowerCase()
    .replace(/^[a-z]+:\/\//, '')
    .replace(/[/:?].*$/, '')
    .replace(/^www\./, '')
  const domain = bare.replace(/^\*\./, '')
  if (!domain) return null
  if (domain.includes('*')) {
    // A dot is literal, a star matches anything.
    const pieces = domain.split(/\*+/).map(part => part.replace(/[^a-z0-9-]/g, '\\$&'))
    const whole = new RegExp(`(?:^|\\.)${pieces.join('.*')}$`)
    return host => whole.test(host)
  }
  const isBelow = (host: string) => host.endsWith(`.${domain}`)
  return bare.startsWith('*.') ? isBelow : host => host === domain || isBelow(host)
}

const blockedBy = (home: Home): ((host: string) => boolean) => {
  const { website_blocklist: list } = home.config().security
  if (list === undefined || list === null || list === false) return () => false
  const { enabled, domains, shared_files } = asObject(list)
  const isMapping = typeof list === 'object' && !Array.isArray(list)
  // Only clear words for "off" disable it; a misspelled "true" still enables it.
  if (isMapping && (enabled === undefined || enabled === null || yamlFlag(enabled) === false))
    return () => false
  if (!isMapping || !isTexts(domains) || !isTexts(shared_files))
    throw forbidden(
      'security.website_blocklist in config.yaml cannot be understood, so no address is fetched.',
    )
  const shared = texts(shared_files).flatMap(path => readShared(home, path))
  const matchers = [...texts(domains), ...shared].flatMap(each => toMatcher(each) ?? [])
  return host => matchers.some(matches => matches(host))
}

/** OPENAI_API_KEY, access_token, Authorization; not GIT_AUTHOR_NAME. */
const SECRET_NAME =
  /API_?KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|^AUTHORIZATION$|(?:^|_)(?:KEY|TOKEN|CREDENTIALS?|PAT)$/i
const MIN_SECRET_CHARS = 8

/** Every string in auth.json under a secret's name. */
const secretsIn = (value: unknown, name = ''): string[] =>
  typeof value === 'string'
    ? SECRET_NAME.test(name)
      ? [value]
      : []
    : Array.isArray(value)
      ? value.flatMap(each => secretsIn(each, name))
      : Object.entries(asObject(value)).flatMap(([key, inner]) => secretsIn(inner, key))

const secretsOf = (home: Home): string[] => {
  const variables = Object.entries(home.env()).filter(([name]) => SECRET_NAME.test(name))
  const all = [
    ...variables.map(([, value]) => value),
    ...Object.values(home.dotenv()).filter(value => redact(value) !== value),
    ...secretsIn(home.authJson()),
    ...secretsIn(home.values()),
  ]
  return [...new Set(all.map(value => value.trim()))].filter(
    value => value.length >= MIN_SECRET_CHARS && !/^https?:/.test(value),
  )
}

/** Encodings in which a model could hide it in a URL. */
const spellings = (secret: string): string[] => {
  const bytes = Buffer.from(secret)
  return [
    secret,
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    [...secret].reverse().join(''),
  ]
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    // Not an encoding: checked as is.
    return text
  }
}

/** As they are now. */
export class UrlRules {
  readonly #isBlocked: (host: string) => boolean
  readonly #secrets: readonly string[]

  constructor(home: Home) {
    this.#isBlocked = blockedBy(home)
    this.#secrets = secretsOf(home)
      .flatMap(spellings)
      .map(secret => secret.toLowerCase())
  }

  /** Throws a UserError for a forbidden URL. */
  readonly check = (url: URL): void => {
    const host = url.hostname
      .toLowerCase()
      .replace(/\.$/, '')
      .replace(/^www\./, '')
    if (this.#isBlocked(host)) throw forbidden(`${host} is on the blocklist of this profile.`)
    const once = decoded(url.href)
    const hasSecret = [url.href, once, decoded(once)].some(
      form =>
        redact(form) !== form || this.#secrets.some(secret => form.toLowerCase().includes(secret)),
    )
    if (hasSecret)
      throw forbidden('The address holds a secret of this profile, so it is not fetched.')
  }
}
