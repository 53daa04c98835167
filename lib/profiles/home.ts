/** One profile's home: its configuration, variables and credentials, each as it stands on disk right now. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../base/json.ts'
import { cachedFile } from '../store/cached-file.ts'
import { jsonFile } from '../store/json-file.ts'
import { unreadableError, type YamlFile, yamlFile } from '../store/yaml-file.ts'
import { childEnvironment } from './child-env.ts'
import { parseEnv } from './env-format.ts'
import { type ProfileConfig, parseProfileConfig } from './config.ts'
import type { ConfigProblem } from './config-fields.ts'
import { expandVariables } from './expand-variables.ts'

type Variables = Readonly<Record<string, string>>

/** A file of a home that cannot be read as it stands. */
export type HomeProblem = {
  file: string
  /** The line, where one is known, and what is wrong. */
  reason: string
  /** The last version that could be read stays in force. Otherwise nothing runs that the file decides about. */
  in_force: boolean
}

export type Home = {
  /** `default` for the base home. */
  readonly name: string
  readonly dir: string
  /** config.yaml as written: the only form that may be edited. */
  readonly config: YamlFile
  /**
   * config.yaml with `${NAME}` expanded: the form to act on, never to write back. Frozen by agreement. Like `dotenv`, `env`
   * and `authJson` it refuses with file and reason while its file cannot be read and never could.
   */
  values(): Readonly<Record<string, unknown>>
  /** The same to look at only: what cannot be read counts as empty. Nothing may be run or decided by it. */
  peek(): Readonly<Record<string, unknown>>
  /** The typed form of `values()`, with defaults; the same object until the file changes. Refuses where `values` does. */
  settings(): ProfileConfig
  /** Values of config.yaml that were dropped because they are invalid. Empty while the file cannot be read. */
  configProblems(): readonly ConfigProblem[]
  /** The same home for what only shows something: there, what cannot be read counts as empty instead of refusing. */
  readonly lenient: Home
  /** The form that refuses, of either form. */
  readonly strict: Home
  /** The home's .env alone. */
  dotenv(): Variables
  /** The process environment of the start, overlaid by the home's .env. */
  env(): Variables
  /** auth.json; an empty object when missing. */
  authJson(): unknown
  /** Why auth.json cannot be read as it stands, or null. */
  authProblem(): string | null
  /** Files of this home that are damaged, each with the reason. */
  problems(): HomeProblem[]
  /** A complete environment for a child process: no secrets but `terminal.env_passthrough`, AGENT_HOME set. */
  childEnv(extra?: Variables): Record<string, string>
}

/** A home that somebody else writes: no setting and no key of it is changed here. */
export const isManaged = (dir: string, env: Variables): boolean =>
  existsSync(join(dir, '.managed')) ||
  ['AGENT_MANAGED', 'HERMES_MANAGED'].some(name =>
    /^(?:1|true|yes|on)$/i.test(env[name]?.trim() ?? ''),
  )

/** Variables are few and short. */
const MAX_ENV_BYTES = 1024 * 1024

type Env = { value: Variables | null; problem: string | null }

/** .env as it stands, else as it last could be read. */
const envFile = (path: string) => {
  const parsed = cachedFile<Env>(
    path,
    ({ text, problem }) => ({
      value: problem === null ? parseEnv(text ?? '') : null,
      problem,
    }),
    { maxBytes: MAX_ENV_BYTES },
  )
  let good: Variables | null = null
  return (): Env => {
    const { value, problem } = parsed()
    if (value) good = value
    return { value: good, problem }
  }
}

/** Recomputes only when an argument is another object than last time. */
const memoized = <A extends readonly object[], T>(make: (...args: A) => T) => {
  let last: { args: A; value: T } | undefined
  return (...args: A): T => {
    if (!last?.args.every((each, at) => each === args[at])) last = { args, value: make(...args) }
    return last.value
  }
}

const NO_VARIABLES: Variables = Object.freeze({})

type Form = Omit<Home, 'lenient' | 'strict'>

/** Completes a home by its form for showing. */
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

export const openHome = (given: {
  name: string
  dir: string
  /** Elsewhere than `<dir>/config.yaml` only for the base profile (AGENT_CONFIG_PATH). */
  configPath?: string | null
  env: Variables
}): Home => {
  const { name, dir } = given
  const config = yamlFile(given.configPath ?? join(dir, 'config.yaml'), () =>
    isManaged(dir, given.env)
      ? 'The configuration of this home is managed by the system and cannot be changed here.'
      : undefined,
  )
  const paths = { env: join(dir, '.env'), auth: join(dir, 'auth.json') }
  const variables = envFile(paths.env)
  const auth = jsonFile<unknown>(
    paths.auth,
    value => {
      if (value !== undefined && !isObject(value)) throw new Error('it holds no mapping')
      return value ?? {}
    },
    {},
  )
  const overlay = memoized((base: Variables, own: Variables): Variables => ({ ...base, ...own }))
  const expand = memoized(
    (raw: Record<string, unknown>, env: Variables) =>
      expandVariables(raw, env) as Readonly<Record<string, unknown>>,
  )
  const dotenv = (): Variables => {
    const { value, problem } = variables()
    if (value === null) throw unreadableError(paths.env, problem ?? '')
    return value
  }
  const env = () => overlay(given.env, dotenv())
  const values = () => expand(config.read(), env())
  const seen = memoized(
    (raw: Record<string, unknown>, own: Variables) =>
      expandVariables(raw, own) as Readonly<Record<string, unknown>>,
  )
  const parsed = memoized(parseProfileConfig)
  const parsedLenient = memoized(parseProfileConfig)
  const peek = () =>
    seen(config.peek(), variables().value === null ? given.env : overlay(given.env, dotenv()))
  const home: Form = {
    name,
    dir,
    config,
    values,
    peek,
    settings: () => parsed(values()).value,
    configProblems: () => parsedLenient(peek()).problems,
    dotenv,
    env,
    authJson() {
      const value = auth.read()
      if (auth.isLost()) throw unreadableError(paths.auth, auth.problem() ?? '')
      return value
    },
    authProblem: auth.problem,
    problems() {
      const { value, problem } = variables()
      const all = [
        { file: config.path, reason: config.problem(), in_force: !config.isLost() },
        { file: paths.env, reason: problem, in_force: value !== null },
        { file: paths.auth, reason: auth.problem(), in_force: !auth.isLost() },
      ]
      return all.flatMap(({ reason, ...rest }) => (reason === null ? [] : [{ ...rest, reason }]))
    },
    childEnv(extra = {}) {
      const child = childEnvironment({ env: env(), config: home.settings().terminal, extra, dir })
      // It speaks for the base profile only: a child in another home would read the wrong file.
      if (!given.configPath) delete child.AGENT_CONFIG_PATH
      return { ...child, AGENT_HOME: dir }
    },
  }
  const shownDotenv = (): Variables => variables().value ?? NO_VARIABLES
  const lenient: Form = {
    ...home,
    config: { ...config, read: config.peek },
    values: peek,
    settings: () => parsedLenient(peek()).value,
    dotenv: shownDotenv,
    env: () => overlay(given.env, shownDotenv()),
    authJson: auth.read,
  }
  return withLenient(home, lenient)
}
