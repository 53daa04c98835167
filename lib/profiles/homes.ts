/** All profiles of this machine: names to homes, and which one is meant when nobody says. */
import { readdirSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import { invalid, missing } from '../errors.ts'
import { PROFILE_NAME } from '../schema/ids.ts'
import { readText } from '../store/read-text.ts'
import { replaceText } from '../store/atomic-write.ts'
import { deletedHome } from './deleted-home.ts'
import { type Home, openHome } from './home.ts'

export const DEFAULT_PROFILE = 'default'
/** Names a browser's profile. It ends with the browser, and is set for `default` too. */
export const PROFILE_COOKIE = 'agent_profile'

export const BAD_NAME =
  'Invalid profile name: lowercase letters, numbers, hyphens, underscores only'

export type Homes = {
  /** The base home first, then the named ones by name. */
  list(): Home[]
  /** The home of a profile that has to exist; refuses a bad name and an absent directory. */
  open(name: string): Home
  /**
   * The home a conversation belongs to: the base home where none was named. For a profile that is gone one that refuses
   * everything but to be looked at: another home's keys are never used in its place.
   */
  of(name: string | null | undefined): Home
  /** Is there a profile of this name? */
  has(name: string): boolean
  /** The name of the process-level profile: the marker's, else the one AGENT_HOME pointed at, else `default`. */
  active(): string
  /** The profile of a request: its cookie's when that is a valid name, else the active one. */
  forCookie(cookie: string | undefined): Home
  /** Makes a profile the process-level one: it serves the requests that name none, here and after a restart. */
  activate(home: Home): void
  /** Drops what is remembered of a home whose directory has gone, so that a later one of that name inherits nothing. */
  forget(name: string): void
  readonly base: Home
  /** `<base>/profiles`. */
  readonly dir: string
}

const isDirectory = (path: string): boolean => {
  try {
    return statSync(path).isDirectory()
  } catch {
    // Absent or out of reach: no profile either way.
    return false
  }
}

const namesIn = (dir: string): string[] => {
  try {
    return readdirSync(dir)
  } catch {
    // No directory yet: there is only the base home.
    return []
  }
}

/** Absent means that nothing was switched; so does what is no file of text. */
const readMarker = (path: string): string => readText(path, { maxBytes: 1_024 }).text?.trim() ?? ''

export const createHomes = (
  config: Pick<Config, 'baseHome' | 'agentHome' | 'configPath' | 'env'>,
): Homes => {
  const dir = join(config.baseHome, 'profiles')
  const marker = join(config.baseHome, 'active_profile')
  const base = openHome({
    name: DEFAULT_PROFILE,
    dir: config.baseHome,
    configPath: config.configPath,
    env: config.env,
  })
  const named = new Map<string, Home>()

  const find = (name: string): Home | undefined => {
    if (name === DEFAULT_PROFILE) return base
    const path = join(dir, name)
    if (!PROFILE_NAME.test(name) || !isDirectory(path)) {
      named.delete(name)
      return undefined
    }
    const home = named.get(name) ?? openHome({ name, dir: path, env: config.env })
    named.set(name, home)
    return home
  }

  /** Where the process was started: a direct child of the profiles directory, or nothing. */
  let started =
    dirname(resolve(config.agentHome)) === resolve(dir) ? basename(resolve(config.agentHome)) : ''

  const active = (): string => {
    const wanted = readMarker(marker) || started
    return wanted && find(wanted) ? wanted : DEFAULT_PROFILE
  }

  const gone = new Map<string, Home>()
  const goneOf = (name: string): Home => {
    const home = gone.get(name) ?? deletedHome(name, dir)
    gone.set(name, home)
    return home
  }
  const of = (name: string | null | undefined): Home => (name ? (find(name) ?? goneOf(name)) : base)
  const orBase = (name: string): Home => find(name) ?? base

  return {
    base,
    dir,
    active,
    of,
    has: name => find(name) !== undefined,
    list: () => [
      base,
      ...namesIn(dir)
        .filter(name => name !== DEFAULT_PROFILE)
        .toSorted()
        .flatMap(name => find(name) ?? []),
    ],
    activate(home) {
      // The marker first: it is what the next start and the command line read.
      if (home.name === DEFAULT_PROFILE) rmSync(marker, { force: true })
      else replaceText(marker, `${home.name}\n`)
      // Where the process was started no longer counts, or nobody could go back to the base home.
      started = ''
      process.env.AGENT_HOME = home.dir
    },
    forget: name => void named.delete(name),
    open(name) {
      if (!PROFILE_NAME.test(name)) throw invalid(BAD_NAME)
      const home = find(name)
      if (!home) throw missing(`Profile '${name}' does not exist.`, { code: 'profile_not_found' })
      return home
    },
    forCookie: cookie =>
      cookie !== undefined && (cookie === DEFAULT_PROFILE || PROFILE_NAME.test(cookie))
        ? orBase(cookie)
        : orBase(active()),
  }
}
