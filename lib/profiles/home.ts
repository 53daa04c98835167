/** The home of a profile: configuration, variables and credentials, always read from the current files. */
import type { Words } from '../base/sentences.ts'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { isObject } from '../base/json.ts'
import { CachedFile } from '../store/cached-file.ts'
import { JsonFile } from '../store/json-file.ts'
import type { AcceptedSettings } from '../commands/guards/accepted-settings.ts'
import { unreadableError, withEdits, type YamlFile, yamlFile } from '../store/yaml-file.ts'
import { childEnvironment } from './child-env.ts'
import { parseEnv } from './env-format.ts'
import { type ProfileConfig, parseProfileConfig } from './config.ts'
import type { ConfigProblem } from './config-schema-helpers.ts'
import { expandVariables } from '../base/expand-variables.ts'
import { InitFiles, initFilePaths } from './init-files.ts'
import { withToolDirectories } from './tool-directories.ts'

type Variables = Readonly<Record<string, string>>

/** A file of a home that cannot be read in its current state. */
export type HomeProblem = {
  file: string
  /** What is wrong, with the line if known. */
  reason: Words
  /** True: the last readable version stays in force. False: what depends on the file is refused. */
  in_force: boolean
}

export type Home = {
  /** By which keys cool down and sign-ins expire. */
  readonly clock: Clock
  /** `default` for the base home. */
  readonly name: string
  readonly dir: string
  /** config.yaml as written. Edits go here: they confirm what they change. */
  readonly configFile: YamlFile
  /**
   * config.yaml with `${NAME}` expanded, and with the last confirmed values of guarded settings (lib/commands/guards). Never write it back; treat it as frozen. Like `dotenv`, `env` and `authJson` it
   * throws a UserError with file and reason while the file cannot be read and no earlier version was readable.
   */
  values(): Readonly<Record<string, unknown>>
  /** For display only: an unreadable file counts as empty. Never run or decide anything based on it. */
  peek(): Readonly<Record<string, unknown>>
  /** `values()` in typed form with defaults. The same object until the file changes; throws when `values` does. */
  config(): ProfileConfig
  /** Values of config.yaml that were dropped because they are invalid. Empty while the file cannot be read. */
  configProblems(): readonly ConfigProblem[]
  /** The same home for display: unreadable files count as empty instead of throwing. */
  readonly lenient: Home
  /** The form that throws. */
  readonly strict: Home
  /** The home's .env alone. */
  dotenv(): Variables
  /** The process environment at the start, overridden by the home's .env, with the directories of tool managers in PATH. */
  env(): Variables
  /** auth.json; an empty object when missing. */
  authJson(): unknown
  /** Why auth.json cannot be read, or null. */
  authProblem(): Words | null
  /** Unreadable files of this home, with reasons. */
  problems(): HomeProblem[]
  /**
   * The environment for a child process: no secrets except `terminal.env_passthrough`, AGENT_HOME set, and what the shell
   * init files set when they were last sourced.
   */
  childEnv(extra?: Variables): Record<string, string>
  /** Sources the shell init files if they have changed. Resolves to what is wrong with them, or null. Takes 5 s at most. */
  sourceInitFiles(): Promise<string | null>
}

/** A managed home is administered elsewhere: its settings and keys are never changed here. */
export const isManaged = (dir: string, env: Variables): boolean =>
  existsSync(join(dir, '.managed')) ||
  ['AGENT_MANAGED', 'HERMES_MANAGED'].some(name =>
    /^(?:1|true|yes|on)$/i.test(env[name]?.trim() ?? ''),
  )

/** Far above any real .env. */
const MAX_ENV_BYTES = 1024 * 1024

type Env = { value: Variables | null; problem: Words | null }

/** The current .env, else its last readable version. */
const envFile = (path: string, outer: Variables) => {
  const file = new CachedFile<Env>(
    path,
    ({ text, problem }) => ({
      value: problem === null ? parseEnv(text ?? '', outer) : null,
      problem,
    }),
    { maxBytes: MAX_ENV_BYTES, looks: 'once' },
  )
  let good: Variables | null = null
  return (): Env => {
    const { value, problem } = file.read()
    if (value) good = value
    return { value: good, problem }
  }
}

/** Recomputes only when the identity of an argument changes. */
export const memoized = <A extends readonly unknown[], T>(make: (...args: A) => T) => {
  let last: { args: A; value: T } | undefined
  return (...args: A): T => {
    const isSame =
      last?.args.length === args.length && last.args.every((each, at) => each === args[at])
    if (!last || !isSame) last = { args, value: make(...args) }
    return last.value
  }
}

/** Directories that appear later, with a new version of Node for example, are found after this time. */
const PATH_CACHE_MS = 5_000

/** Adds the directories of tool managers to PATH. The same object again while nothing changes. */
class ExtendedPath {
  readonly #clock: Clock
  #last: { env: Variables; at: number; result: Variables } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  of(env: Variables): Variables {
    const last = this.#last
    const now = this.#clock.monotonic()
    if (last?.env === env && now - last.at < PATH_CACHE_MS) return last.result
    const result = withToolDirectories(env)
    const isSame = last?.env === env && last.result.PATH === result.PATH
    this.#last = { env, at: now, result: isSame && last ? last.result : result }
    return this.#last.result
  }
}

const NO_VARIABLES: Variables = Object.freeze({})

type Form = Omit<Home, 'lenient' | 'strict'>

/** Connects the strict and the lenient form of a home. */
export const withLenient = (strictForm: Form, lenientForm: Form): Home => {
  const home: Home = {
    ...strictForm,
    get lenient() {
      return lenient
    },
    get strict() {
      return home
    },
  }
  const lenient: Home = {
    ...lenientForm,
    get lenient() {
      return lenient
    },
    get strict() {
      return home
    },
  }
  return home
}

export const openHome = (options: {
  name: string
  dir: string
  /** Set for the base profile only (AGENT_CONFIG_PATH). */
  configPath?: string | null | undefined
  env: Variables
  clock: Clock
  /** Absent: config.yaml applies as written. */
  accepted?: AcceptedSettings | undefined
}): Home => {
  const { name, dir, clock, accepted } = options
  const asWritten = yamlFile(options.configPath ?? join(dir, 'config.yaml'), () =>
    isManaged(dir, options.env)
      ? 'This home is managed by the system. Its configuration can’t be changed here.'
      : undefined,
  )
  const editAll: YamlFile['editAll'] = edits => {
    const before = asWritten.peek()
    asWritten.editAll(edits)
    accepted?.edited(name, before, withEdits(before, edits))
  }
  const configFile: YamlFile = {
    ...asWritten,
    editAll,
    edit: (at, value) => editAll([[at, value]]),
  }
  const inForce = (values: Record<string, unknown>) =>
    accepted ? accepted.look(name, configFile.path, values).inForce : values
  const paths = { env: join(dir, '.env'), auth: join(dir, 'auth.json') }
  const variables = envFile(paths.env, options.env)
  const auth = new JsonFile<unknown>(
    paths.auth,
    value => {
      if (value !== undefined && !isObject(value)) throw new Error('it holds no mapping')
      return value ?? {}
    },
    {},
  )
  const overlay = memoized((base: Variables, own: Variables): Variables => ({ ...base, ...own }))
  const expand = memoized(
    (raw: Readonly<Record<string, unknown>>, env: Variables) =>
      expandVariables(raw, env) as Readonly<Record<string, unknown>>,
  )
  const dotenv = (): Variables => {
    const { value, problem } = variables()
    if (value === null) throw unreadableError(paths.env, problem ?? '')
    return value
  }
  const extended = new ExtendedPath(clock)
  const env = () => extended.of(overlay(options.env, dotenv()))
  const values = () => expand(inForce(configFile.read()), env())
  const initFiles = new InitFiles(clock)
  const parse = memoized(parseProfileConfig)
  const peek = () =>
    expand(inForce(configFile.peek()), variables().value === null ? options.env : env())
  const childEnvOf = (form: Form, extra: Variables): Record<string, string> => {
    const config = form.config().terminal
    const changes = initFiles.changes()
    const child = childEnvironment({ env: form.env(), changes, config, extra, dir })
    // It applies to the base profile only: a child in another home would read the wrong file.
    if (!options.configPath) delete child.AGENT_CONFIG_PATH
    return { ...child, AGENT_HOME: dir }
  }
  const home: Form = {
    name,
    dir,
    clock,
    configFile,
    values,
    peek,
    config: () => parse(values()).value,
    configProblems: () => parse(peek()).problems,
    dotenv,
    env,
    authJson() {
      const value = auth.read()
      if (auth.isLost()) throw unreadableError(paths.auth, auth.problem() ?? '')
      return value
    },
    authProblem: () => auth.problem(),
    problems() {
      const { value, problem } = variables()
      const all = [
        { file: configFile.path, reason: configFile.problem(), in_force: !configFile.isLost() },
        { file: paths.env, reason: problem, in_force: value !== null },
        { file: paths.auth, reason: auth.problem(), in_force: !auth.isLost() },
      ]
      return all.flatMap(({ reason, ...rest }) => (reason === null ? [] : [{ ...rest, reason }]))
    },
    childEnv: (extra = {}) => childEnvOf(home, extra),
    async sourceInitFiles() {
      const config = home.config().terminal
      // HOME of the user, not of `home_mode: profile`: these paths are also what needs approval to be changed.
      const files = initFilePaths(config, env().HOME)
      return initFiles.refresh(files, childEnvironment({ env: env(), config, extra: {}, dir }))
    },
  }
  const shownDotenv = (): Variables => variables().value ?? NO_VARIABLES
  const lenient: Form = {
    ...home,
    configFile: { ...configFile, read: configFile.peek },
    values: peek,
    config: () => parse(peek()).value,
    dotenv: shownDotenv,
    env: () => extended.of(overlay(options.env, shownDotenv())),
    childEnv: (extra = {}) => childEnvOf(lenient, extra),
    authJson: () => auth.read(),
  }
  return withLenient(home, lenient)
}
