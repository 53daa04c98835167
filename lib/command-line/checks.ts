/** What `doctor` looks at: each check is a sentence about one thing, and what to do when it is not well. Nothing is changed. */
import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { columnsOf, readState, stateFile } from '../cli/state-db.ts'
import type { Config } from '../config.ts'
import { messageOf, Refusal } from '../errors.ts'
import { isBad, parseServers } from '../mcp/config.ts'
import { listProviders } from '../models/keys.ts'
import type { Models } from '../models/models.ts'
import type { Home } from '../profiles/home.ts'
import { openSecrets } from '../profiles/secrets.ts'

export type Level = 'ok' | 'warn' | 'fail'
export type Check = {
  about: string
  level: Level
  said: string
  /** What to do; only when it is not well. */
  advice?: string
}

export type Looked = {
  config: Config
  home: Home
  models: Pick<Models, 'ready' | 'compatible' | 'endpoint'>
  addon: string | undefined
}

const ok = (about: string, said: string): Check => ({ about, level: 'ok', said })
const warn = (about: string, said: string, advice: string): Check => ({
  about,
  level: 'warn',
  said,
  advice,
})
const fail = (about: string, said: string, advice: string): Check => ({
  about,
  level: 'fail',
  said,
  advice,
})

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    // Not there, or not ours to run.
    return false
  }
}

const onPath = (name: string, path = ''): string | undefined =>
  name.includes('/')
    ? isExecutable(name)
      ? name
      : undefined
    : path
        .split(delimiter)
        .filter(Boolean)
        .map(dir => join(dir, name))
        .find(isExecutable)

const homeChecks = ({ home }: Looked): Check[] => {
  if (!existsSync(home.dir))
    return [
      warn('home', `${home.dir} does not exist yet`, 'It is made when the service starts first.'),
    ]
  const problem = home.config.problem()
  const auth = home.authProblem()
  const file = existsSync(home.config.path)
  return [
    ok('home', `${home.dir}, profile ${home.name}`),
    problem
      ? fail('config.yaml', problem, `Mend ${home.config.path}; until then it counts as empty.`)
      : ok('config.yaml', file ? 'is there and can be read' : 'is not there; defaults are used'),
    ...(auth ? [fail('auth.json', auth, 'Mend or remove the file, then sign in again.')] : []),
  ]
}

const secretChecks = ({ home, config }: Looked): Check[] => {
  const open = [...new Set([home.dir, config.baseHome, config.stateDir])].flatMap(openSecrets)
  if (open.length === 0) return [ok('secrets', 'no file with secrets can be read by others')]
  return open.map(path => warn('secrets', `${path} can be read by others`, `chmod 600 "${path}"`))
}

const providerChecks = ({ home }: Looked): Check[] => {
  const held = listProviders(home).providers.filter(row => row.has_key && row.alias_of === null)
  // No fault by itself: a server of one's own wants none. The model says whether something is missing.
  if (held.length === 0) return [ok('providers', 'no provider has a key')]
  const names = held.map(({ display_name: name, key_name, env_var }) => {
    const variable = key_name ?? env_var
    return variable ? `${name} (${variable})` : name
  })
  return [ok('providers', `keys for ${names.join(', ')}`)]
}

const modelCheck = async ({ home, models }: Looked): Promise<Check> => {
  try {
    await models.ready(home)
    const { model } = models.compatible(home, null)
    const endpoint = models.endpoint(home, model)
    if (endpoint.apiMode === 'demo')
      return warn(
        'model',
        'the demo model: scripted, offline',
        'Put a key into .env, or choose a provider in the settings of the page.',
      )
    return ok('model', `${endpoint.model} of ${endpoint.provider}`)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return fail('model', error.message, 'Choose another default model, or add the key it needs.')
  }
}

const MB = 1024 * 1024
const LITTLE_MB = 1_024
const NONE_MB = 100

/** The directory itself, or the nearest one above it that exists. */
const nearest = (dir: string): string =>
  existsSync(dir) || dirname(dir) === dir ? dir : nearest(dirname(dir))

const stateChecks = ({ config: { stateDir } }: Looked): Check[] => {
  const place = nearest(stateDir)
  const found: Check[] = []
  try {
    accessSync(place, constants.R_OK | constants.W_OK | constants.X_OK)
    found.push(ok('state', `${stateDir}${place === stateDir ? '' : ' can be made'}`))
  } catch (error) {
    found.push(fail('state', messageOf(error), `Make ${place} writable for this user.`))
  }
  const { bavail, bsize } = statfsSync(place)
  const free = Math.floor((bavail * bsize) / MB)
  const said = `${free >= LITTLE_MB ? `${Math.floor(free / 1_024)} GB` : `${free} MB`} free`
  if (free < NONE_MB) found.push(fail('disk', said, 'Free some space: nothing can be kept.'))
  else if (free < LITTLE_MB) found.push(warn('disk', said, 'Free some space soon.'))
  else found.push(ok('disk', said))
  return found
}

const TOOLS: readonly [name: string, without: string][] = [
  ['git', 'Install git: changes, checkpoints and updates need it.'],
  ['python3', 'Install Python 3: the agent often writes and runs scripts with it.'],
  ['flock', 'Install util-linux: files shared with the command-line client are locked with it.'],
]

const programChecks = ({ config }: Looked): Check[] =>
  TOOLS.map(([name, advice]) => {
    const path = onPath(name, config.env.PATH)
    return path ? ok(name, path) : warn(name, 'was not found', advice)
  })

const databaseCheck = ({ home, addon }: Looked): Check => {
  const file = stateFile(home)
  try {
    const found = readState(file, addon, db => {
      const version = db
        .prepare<[], { version: number }>('select version from schema_version limit 1')
        .get()?.version
      if (!columnsOf(db, 'sessions').has('source')) throw new Error('it has no table of sessions')
      const { n } = db.prepare('select count(*) as n from sessions').get() as { n: number }
      return { version, n }
    })
    if (!found) return ok('state.db', 'is not there; the first conversation makes it')
    return ok('state.db', `schema ${found.version ?? '?'}, ${found.n} conversations`)
  } catch (error) {
    const advice = `Move ${file} away: conversations of the command line cannot be read from it.`
    return fail('state.db', messageOf(error), advice)
  }
}

const mcpChecks = ({ home, config }: Looked): Check[] =>
  parseServers(home.values()).map(server => {
    const about = `mcp ${server.name}`
    if (isBad(server)) return fail(about, server.problem, 'Mend its entry below mcp_servers.')
    if (!server.enabled) return ok(about, 'is switched off')
    if (server.kind === 'http') return ok(about, new URL(server.url).origin)
    return onPath(server.command, server.env.PATH ?? config.env.PATH)
      ? ok(about, server.command)
      : fail(about, `the program "${server.command}" was not found`, 'Install it, or correct it.')
  })

const HEALTH_MS = 2_000

const serviceCheck = async ({ config }: Looked): Promise<Check> => {
  const about = 'service'
  let address: unknown
  try {
    const note: unknown = JSON.parse(readFileSync(join(config.stateDir, 'instance.json'), 'utf8'))
    address = note !== null && typeof note === 'object' && 'address' in note ? note.address : null
  } catch {
    // It has never run here, or was shut down in order.
    return ok(about, 'is not running')
  }
  if (typeof address !== 'string' || !URL.canParse(address)) return ok(about, 'is not running')
  try {
    const answer = await fetch(`${address}/health`, { signal: AbortSignal.timeout(HEALTH_MS) })
    await answer.body?.cancel()
    return answer.ok
      ? ok(about, `answers at ${address}`)
      : warn(about, `${address} answers ${answer.status}`, 'Look into its log.')
  } catch {
    // Killed, or bound to an address that is not reached from here.
    return warn(about, `${address} does not answer`, 'Start it: agent-webui')
  }
}

/** In the order a person would look. */
export const runChecks = async (looked: Looked): Promise<Check[]> => [
  ...homeChecks(looked),
  ...secretChecks(looked),
  ...providerChecks(looked),
  await modelCheck(looked),
  ...stateChecks(looked),
  ...programChecks(looked),
  databaseCheck(looked),
  ...mcpChecks(looked),
  await serviceCheck(looked),
]
