/** Resolves profile names to homes, and the active profile of a process or request. */
import { rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isDirectory, namesIn } from '../base/directories.ts'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config.ts'
import type { AcceptedSettings } from '../commands/guards/accepted-settings.ts'
import { invalid, missing } from '../errors.ts'
import { PROFILE_NAME } from '../schema/ids.ts'
import { cachedFile } from '../store/cached-file.ts'
import { replaceText } from '../store/atomic-write.ts'
import { deletedHome } from './deleted-home.ts'
import { type Home, openHome } from './home.ts'
import { reportWrite } from '../store/write-reports.ts'

export const DEFAULT_PROFILE = 'default'
/** Session cookie with the profile of a browser; set for `default` as well. */
export const PROFILE_COOKIE = 'agent_profile'

export const BAD_NAME =
  'Invalid profile name: lowercase letters, numbers, hyphens, underscores only'

export type Homes = {
  /** The base home first, then the others by name. */
  list(): Home[]
  /** The home of an existing profile; throws a UserError for an invalid name or a missing directory. */
  open(name: string): Home
  /**
   * The home of a session's profile; the base home when it names none. For a deleted profile: a read-only home, because
   * another home's keys must not be used in its place.
   */
  of(name: string | null | undefined): Home
  /** Whether a profile of this name exists. */
  has(name: string): boolean
  /** The name of the process-level profile: the marker's, else the one AGENT_HOME pointed at, else `default`. */
  active(): string
  /** The profile of a request: its cookie's when that is a valid name, else the active one. */
  forCookie(cookie: string | undefined): Home
  /** Makes a profile the active one for requests without a cookie, now and after a restart. */
  activate(home: Home): void
  /** Drops the cached home of a deleted profile, so that a later profile of that name starts clean. */
  forget(name: string): void
  readonly base: Home
  /** `<base>/profiles`. */
  readonly dir: string
}

/** Blank when the file is missing or not a text file. */
const openMarker = (path: string): (() => string) =>
  cachedFile(path, ({ text }) => text?.trim() ?? '', { maxBytes: 1_024 })

const markerPath = (baseHome: string): string => join(baseHome, 'active_profile')

/** The profile that is to be active and does not exist; null otherwise. */
export const missingActiveProfile = (baseHome: string): string | null => {
  const name = openMarker(markerPath(baseHome))()
  if (name === '' || name === DEFAULT_PROFILE) return null
  return PROFILE_NAME.test(name) && isDirectory(join(baseHome, 'profiles', name)) ? null : name
}

export const createHomes = (
  config: Pick<Config, 'baseHome' | 'agentHome' | 'configPath' | 'env'>,
  clock: Clock,
  accepted?: AcceptedSettings,
): Homes => {
  const dir = join(config.baseHome, 'profiles')
  const marker = markerPath(config.baseHome)
  const readMarker = openMarker(marker)
  const base = openHome({
    name: DEFAULT_PROFILE,
    dir: config.baseHome,
    configPath: config.configPath,
    env: config.env,
    clock,
    accepted,
  })
  const named = new Map<string, Home>()

  const find = (name: string): Home | undefined => {
    if (name === DEFAULT_PROFILE) return base
    const path = join(dir, name)
    if (!PROFILE_NAME.test(name) || !isDirectory(path)) {
      named.delete(name)
      return undefined
    }
    const home = named.get(name) ?? openHome({ name, dir: path, env: config.env, clock, accepted })
    named.set(name, home)
    return home
  }

  /** The profile AGENT_HOME pointed at, if it is a direct child of the profiles directory. */
  let started =
    dirname(resolve(config.agentHome)) === resolve(dir) ? basename(resolve(config.agentHome)) : ''

  const active = (): string => {
    const wanted = readMarker() || started
    return wanted && find(wanted) ? wanted : DEFAULT_PROFILE
  }

  const deleted = new Map<string, Home>()
  const deletedOf = (name: string): Home => {
    const home = deleted.get(name) ?? deletedHome(name, dir, clock)
    deleted.set(name, home)
    return home
  }
  const of = (name: string | null | undefined): Home =>
    name ? (find(name) ?? deletedOf(name)) : base
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
      // The marker first: the next start and the command line read it.
      if (home.name === DEFAULT_PROFILE) rmSync(marker, { force: true })
      else replaceText(marker, `${home.name}\n`)
      reportWrite(marker)
      // Forget the initial AGENT_HOME, or the base home could never become active again.
      started = ''
      process.env.AGENT_HOME = home.dir
    },
    forget: name => void named.delete(name),
    open(name) {
      if (!PROFILE_NAME.test(name)) throw invalid(BAD_NAME, { code: 'invalid_profile_name' })
      const home = find(name)
      if (!home)
        throw missing(`Profile '${name}' does not exist.`, {
          code: 'profile_not_found',
          values: { name },
        })
      return home
    },
    forCookie: cookie =>
      cookie !== undefined && (cookie === DEFAULT_PROFILE || PROFILE_NAME.test(cookie))
        ? orBase(cookie)
        : orBase(active()),
  }
}
