/** One profile's home: its configuration, variables and credentials, each as it stands on disk right now. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileView } from '../store/file-view.ts'
import { jsonFile } from '../store/json-file.ts'
import { type YamlFile, yamlFile } from '../store/yaml-file.ts'
import { childEnvironment } from './child-env.ts'
import { parseEnv } from './env-file.ts'
import { expandVariables } from './expand.ts'

type Variables = Readonly<Record<string, string>>

export type Home = {
  /** `default` for the base home. */
  readonly name: string
  readonly dir: string
  /** config.yaml as written: the only form that may be edited. */
  readonly config: YamlFile
  /** config.yaml with `${NAME}` expanded: the form to act on, never to write back. Frozen by agreement. */
  values(): Readonly<Record<string, unknown>>
  /** The home's .env alone. */
  dotenv(): Variables
  /** The process environment of the start, overlaid by the home's .env. */
  env(): Variables
  /** auth.json; an empty object when missing or broken. */
  authJson(): unknown
  /** Why auth.json cannot be read, or null: what `authJson` then gives is the last good one. */
  authProblem(): string | null
  /** A complete environment for a child process: no secrets but `terminal.env_passthrough`, AGENT_HOME set. */
  childEnv(extra?: Variables): Record<string, string>
}

/** Recomputes only when what it is made of is another object than last time. */
const derived = <A extends object, B extends object, T>(make: (a: A, b: B) => T) => {
  let last: { a: A; b: B; value: T } | undefined
  return (a: A, b: B): T => {
    if (!last || last.a !== a || last.b !== b) last = { a, b, value: make(a, b) }
    return last.value
  }
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
    existsSync(join(dir, '.managed'))
      ? 'The configuration of this home is managed by the system and cannot be changed here.'
      : undefined,
  )
  const dotenv = fileView<Variables>(join(dir, '.env'), ({ text }) => parseEnv(text ?? ''))
  const auth = jsonFile<unknown>(join(dir, 'auth.json'), value => value ?? {})
  const overlay = derived((base: Variables, own: Variables): Variables => ({ ...base, ...own }))
  const expand = derived(
    (raw: Record<string, unknown>, env: Variables) =>
      expandVariables(raw, env) as Readonly<Record<string, unknown>>,
  )
  const env = () => overlay(given.env, dotenv())
  const values = () => expand(config.read(), env())
  return {
    name,
    dir,
    config,
    values,
    dotenv,
    env,
    authJson: auth.read,
    authProblem: () => {
      auth.read()
      return auth.problem()
    },
    childEnv(extra = {}) {
      const child = childEnvironment({ env: env(), config: values(), extra })
      // It speaks for the base profile only: a child in another home would read the wrong file.
      if (!given.configPath) delete child.AGENT_CONFIG_PATH
      return { ...child, AGENT_HOME: dir }
    },
  }
}
