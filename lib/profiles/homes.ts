/** Resolves profile names to homes, and the active profile of a process or request. */
import { rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isDirectory, namesIn } from '../base/directories.ts'
import type { Clock } from '../base/clock.ts'
import type { AcceptedSettings } from '../commands/guards/accepted-settings.ts'
import { conflict, invalid, missing, type UserError } from '../errors.ts'
import { PROFILE_NAME } from '../schema/ids.ts'
import { CachedFile } from '../store/cached-file.ts'
import { replaceText } from '../store/atomic-write.ts'
import { DEFAULT_PROFILE_CONFIG } from './config.ts'
import { type Home, openHome, withLenient } from './home.ts'
import { reportWrite } from '../store/write-reports.ts'

export const DEFAULT_PROFILE = 'default'
/** Session cookie with the profile of a browser; set for `default` as well. */
export const PROFILE_COOKIE = 'agent_profile'

export const BAD_NAME =
  'Invalid profile name: lowercase letters, numbers, hyphens, underscores only'

/** Blank when the file is missing or not a text file. */
const markerFile = (path: string) =>
  new CachedFile(path, ({ text }) => text?.trim() ?? '', { maxBytes: 1_024 })

const markerPath = (baseHome: string): string => join(baseHome, 'active_profile')

/** The profile that is to be active and does not exist; null otherwise. */
export const missingActiveProfile = (baseHome: string): string | null => {
  const name = markerFile(markerPath(baseHome)).read()
  if (name === '' || name === DEFAULT_PROFILE) return null
  return PROFILE_NAME.test(name) && isDirectory(join(baseHome, 'profiles', name)) ? null : name
}

const NOTHING = Object.freeze({})

/** The home of a deleted profile: its sessions can be read, but nothing can run or be sent. `.missing` is not a valid profile name, so nothing is ever found there. */
const deletedHome = (name: string, profilesDir: string, clock: Clock): Home => {
  const dir = join(profilesDir, '.missing')
  const refusal = (): UserError =>
    conflict(
      `This conversation’s profile, '${name}', no longer exists. Choose another profile to continue.`,
      { code: 'profile_deleted', values: { name }, config_problem: true, missing_profile: name },
    )
  const refuse = (): never => {
    throw refusal()
  }
  const home: Parameters<typeof withLenient>[0] = {
    name,
    dir,
    clock,
    configFile: {
      path: join(dir, 'config.yaml'),
      read: refuse,
      peek: () => NOTHING,
      problem: () => null,
      isLost: () => true,
      edit: refuse,
      editAll: refuse,
    },
    values: refuse,
    peek: () => NOTHING,
    config: refuse,
    configProblems: () => [],
    dotenv: refuse,
    env: refuse,
    authJson: refuse,
    authProblem: () => null,
    problems: () => [],
    childEnv: refuse,
    sourceInitFiles: async () => refuse(),
  }
  // Code that only displays a session gets the defaults.
  return withLenient(home, { ...home, config: () => DEFAULT_PROFILE_CONFIG })
}

/** Where the homes are, and the environment of the process. */
type HomesConfig = {
  baseHome: string
  agentHome: string
  configPath: string | null
  env: Readonly<Record<string, string>>
}

export class Homes {
  readonly #config: HomesConfig
  readonly #clock: Clock
  readonly #accepted: AcceptedSettings | undefined
  /** `<base>/profiles`. */
  readonly dir: string
  readonly #marker: string
  readonly #active: CachedFile<string>
  readonly base: Home
  readonly #byName = new Map<string, Home>()
  /** The profile AGENT_HOME pointed at, if it is a direct child of the profiles directory. */
  #started: string

  constructor(config: HomesConfig, clock: Clock, accepted?: AcceptedSettings) {
    const { baseHome, configPath } = config
    this.#config = config
    this.#clock = clock
    this.#accepted = accepted
    this.dir = join(baseHome, 'profiles')
    this.#marker = markerPath(baseHome)
    this.#active = markerFile(this.#marker)
    this.base = this.#open(DEFAULT_PROFILE, baseHome, configPath)
    const agentHome = resolve(config.agentHome)
    this.#started = dirname(agentHome) === resolve(this.dir) ? basename(agentHome) : ''
  }

  #open(name: string, dir: string, configPath?: string | null): Home {
    const { env } = this.#config
    return openHome({ name, dir, configPath, env, clock: this.#clock, accepted: this.#accepted })
  }

  /** The name of the process-level profile: the marker's, else the one AGENT_HOME pointed at, else `default`. */
  active(): string {
    const name = this.#active.read() || this.#started
    return name && this.#find(name) ? name : DEFAULT_PROFILE
  }

  /**
   * The home of a session's profile; the base home when it names none. For a deleted profile: a read-only home, because
   * another home's keys must not be used in its place.
   */
  of(name: string | null | undefined): Home {
    return name ? (this.#find(name) ?? deletedHome(name, this.dir, this.#clock)) : this.base
  }

  /** Whether a profile of this name exists. */
  has(name: string): boolean {
    return this.#find(name) !== undefined
  }

  /** The base home first, then the others by name. */
  list(): Home[] {
    return [
      this.base,
      ...namesIn(this.dir)
        .filter(name => name !== DEFAULT_PROFILE)
        .toSorted()
        .flatMap(name => this.#find(name) ?? []),
    ]
  }

  /** Makes a profile the active one for requests without a cookie, now and after a restart. */
  activate(home: Home): void {
    // The marker first: the next start and the command line read it.
    if (home.name === DEFAULT_PROFILE) rmSync(this.#marker, { force: true })
    else replaceText(this.#marker, `${home.name}\n`)
    reportWrite(this.#marker)
    // Forget the initial AGENT_HOME, or the base home could never become active again.
    this.#started = ''
    process.env.AGENT_HOME = home.dir
  }

  /** Drops the cached home of a deleted profile, so that a later profile of that name starts clean. */
  forget(name: string): void {
    void this.#byName.delete(name)
  }

  /** The home of an existing profile; throws a UserError for an invalid name or a missing directory. */
  open(name: string): Home {
    if (!PROFILE_NAME.test(name)) throw invalid(BAD_NAME, { code: 'invalid_profile_name' })
    const home = this.#find(name)
    if (!home)
      throw missing(`Profile '${name}' does not exist.`, {
        code: 'profile_not_found',
        values: { name },
      })
    return home
  }

  /** The profile of a request: its cookie's when that is a valid name, else the active one. */
  forCookie(cookie: string | undefined): Home {
    return cookie !== undefined && (cookie === DEFAULT_PROFILE || PROFILE_NAME.test(cookie))
      ? this.#orBase(cookie)
      : this.#orBase(this.active())
  }

  #find(name: string): Home | undefined {
    if (name === DEFAULT_PROFILE) return this.base
    const path = join(this.dir, name)
    if (!PROFILE_NAME.test(name) || !isDirectory(path)) {
      this.#byName.delete(name)
      return undefined
    }
    const home = this.#byName.get(name) ?? this.#open(name, path)
    this.#byName.set(name, home)
    return home
  }

  #orBase(name: string): Home {
    return this.#find(name) ?? this.base
  }
}
