/** All profiles of this machine: names to homes, and which one is meant when nobody says. */
import { readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import { invalid, missing } from '../errors.ts'
import { PROFILE_NAME } from '../schema/ids.ts'
import { type Home, openHome } from './home.ts'

export const DEFAULT_PROFILE = 'default'

export type Homes = {
  /** The home of a profile that has to exist; refuses a bad name and an absent directory. */
  open(name: string): Home
  /** The home of a profile that may be gone or never named: then the base home. */
  of(name: string | null | undefined): Home
  /** The name of the process-level profile: the marker's, else the one AGENT_HOME pointed at, else `default`. */
  active(): string
  /** The profile of a request: its cookie's when that is a valid name, else the active one. */
  forCookie(cookie: string | undefined): Home
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

const readMarker = (path: string): string => {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    // Absent means nobody switched.
    return ''
  }
}

export const createHomes = (
  config: Pick<Config, 'baseHome' | 'agentHome' | 'configPath' | 'env'>,
): Homes => {
  const dir = join(config.baseHome, 'profiles')
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
  const started =
    dirname(resolve(config.agentHome)) === resolve(dir) ? basename(resolve(config.agentHome)) : ''

  const active = (): string => {
    const wanted = readMarker(join(config.baseHome, 'active_profile')) || started
    return wanted && find(wanted) ? wanted : DEFAULT_PROFILE
  }

  const of = (name: string | null | undefined): Home => (name && find(name)) || base

  return {
    base,
    dir,
    active,
    of,
    open(name) {
      if (name !== DEFAULT_PROFILE && !PROFILE_NAME.test(name))
        throw invalid('Invalid profile name: lowercase letters, numbers, hyphens, underscores only')
      const home = find(name)
      if (!home) throw missing(`Profile '${name}' does not exist.`)
      return home
    },
    forCookie: cookie =>
      cookie !== undefined && (cookie === DEFAULT_PROFILE || PROFILE_NAME.test(cookie))
        ? of(cookie)
        : of(active()),
  }
}
