/** The checks of `doctor`. They change nothing. */
import { agentChecks } from './check-external-agents.ts'
import { findRipgrep } from '../agent/search/ripgrep.ts'
import { findProgram } from '../base/find-program.ts'
import { columnsOf, readState, stateDbPath } from '../host-db/state-db.ts'
import { messageOf, UserError } from '../errors.ts'
import { type HttpServer, isInvalid, parseServers } from '../mcp/config.ts'
import { signInState } from '../mcp/oauth/token-source.ts'
import { listProviders } from '../models/provider-keys.ts'
import { findExposedSecrets } from '../profiles/file-permissions.ts'
import { guardChecks, homeChecks, listChecks, emptyIfUnreadable } from './check-home.ts'
import { type Check, fail, type CheckContext, ok, warn } from './check.ts'
import { containerChecks } from './check-container.ts'
import { hookChecks } from './check-hooks.ts'
import { notificationChecks } from './check-notifications.ts'
import { sandboxChecks } from './check-sandbox.ts'
import { shellChecks } from './check-shell.ts'
import { signInChecks } from './check-sign-in.ts'
import { startChecks } from './check-start.ts'

const secretChecks = ({ home, config }: CheckContext): Check[] => {
  const open = [...new Set([home.dir, config.baseHome, config.stateDir])].flatMap(
    findExposedSecrets,
  )
  if (open.length === 0) return [ok('secrets', 'no file with secrets is readable by other users')]
  return open.map(path =>
    warn('secrets', `${path} is readable by other users`, `chmod 600 "${path}"`),
  )
}

const providerChecks = ({ home }: CheckContext): Check[] => {
  const rows = emptyIfUnreadable(() => listProviders(home).providers).filter(
    row => row.alias_of === null,
  )
  const expired = rows
    .filter(row => row.needs_sign_in)
    .map(({ display_name: name }) =>
      warn(
        'sign-in',
        `the sign-in of ${name} has expired`,
        'Sign in again with the command line (hermes model).',
      ),
    )
  const held = rows.filter(row => row.has_key)
  // Not a problem by itself: self-hosted servers need no key. The model check reports a missing one.
  if (held.length === 0) return [ok('providers', 'no provider has a key'), ...expired]
  const names = held.map(({ display_name: name, key_name, env_var }) => {
    const variable = key_name ?? env_var
    return variable ? `${name} (${variable})` : name
  })
  return [ok('providers', `keys for ${names.join(', ')}`), ...expired]
}

const modelCheck = async ({ home, models }: CheckContext): Promise<Check> => {
  try {
    await models.ready(home)
    const { model } = models.compatible(home, null)
    const endpoint = models.endpoint(home, model)
    if (endpoint.apiMode === 'demo')
      return warn(
        'model',
        'demo model (scripted, offline)',
        'Add an API key to .env, or choose a provider in the settings.',
      )
    return ok('model', `${endpoint.model} (${endpoint.provider})`)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return fail('model', error.message, 'Choose another default model, or add the missing key.')
  }
}

const TOOLS: readonly [name: string, without: string][] = [
  ['git', 'Install git. File changes, checkpoints and updates need it.'],
  ['python3', 'Install Python 3. The agent often writes and runs Python scripts.'],
  ['flock', 'Install util-linux. It locks files shared with the command-line client.'],
]

const programChecks = ({ config }: CheckContext): Check[] =>
  TOOLS.map(([name, advice]) => {
    const path = findProgram(config.env.PATH ?? '', name)
    return path ? ok(name, path) : warn(name, 'was not found', advice)
  })

const searchCheck = async ({ config }: CheckContext): Promise<Check> => {
  const found = await findRipgrep(config.env.PATH ?? '')
  return ok(
    'search',
    found
      ? `${found.path}, ripgrep ${found.version}`
      : 'built-in; ripgrep was not found, so large folders take longer',
  )
}

const databaseCheck = ({ home, addon }: CheckContext): Check => {
  const file = stateDbPath(home)
  try {
    const found = readState(file, addon, db => {
      const version = db
        .prepare<[], { version: number }>('select version from schema_version limit 1')
        .get()?.version
      if (!columnsOf(db, 'sessions').has('source')) throw new Error('it has no sessions table')
      const { n } = db.prepare('select count(*) as n from sessions').get() as { n: number }
      return { version, n }
    })
    if (!found) return ok('state.db', 'not found; created with the first session')
    return ok('state.db', `schema ${found.version ?? '?'}, ${found.n} sessions`)
  } catch (error) {
    const advice = `Move ${file} away. Command-line sessions cannot be read from it.`
    return fail('state.db', messageOf(error), advice)
  }
}

/** Only the state of the files: nothing is sent. */
const signInCheck = (
  about: string,
  { url }: HttpServer,
  state: ReturnType<typeof signInState>,
): Check => {
  const { origin } = new URL(url)
  if (state === 'none') return ok(about, origin)
  if (state === 'signed_in') return ok(about, `${origin}, signed in`)
  return warn(about, `${origin}: nobody is signed in`, 'Sign in under Settings → MCP servers.')
}

const mcpChecks = ({ home }: CheckContext): Check[] =>
  emptyIfUnreadable(() => parseServers(home.settings())).map(server => {
    const about = `mcp ${server.name}`
    if (isInvalid(server)) return fail(about, server.problem, 'Fix its entry in mcp_servers.')
    if (!server.enabled) return ok(about, 'disabled')
    if (server.kind === 'http') return signInCheck(about, server, signInState(home.dir, server))
    return findProgram(server.env.PATH ?? home.lenient.env().PATH ?? '', server.command)
      ? ok(about, server.command)
      : fail(
          about,
          `the program "${server.command}" was not found`,
          'Install it, or fix the command.',
        )
  })

/** In the order of the report. */
export const runChecks = async (looked: CheckContext, version: string): Promise<Check[]> => [
  ...homeChecks(looked),
  ...listChecks(looked),
  ...guardChecks(looked),
  ...hookChecks(looked),
  ...secretChecks(looked),
  ...providerChecks(looked),
  await modelCheck(looked),
  ...(await startChecks(looked)),
  ...(await signInChecks(looked)),
  ...programChecks(looked),
  ...(await shellChecks(looked)),
  ...(await containerChecks(looked)),
  ...(await sandboxChecks(looked)),
  await searchCheck(looked),
  databaseCheck(looked),
  ...mcpChecks(looked),
  ...notificationChecks(looked),
  ...(await agentChecks(looked, version)),
]
