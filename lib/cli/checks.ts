/** The checks of `doctor`. They change nothing. */
import { chmodSync, existsSync } from 'node:fs'
import { CLOCK } from '../app/start-checks.ts'
import { agentChecks } from './check-external-agents.ts'
import { packedHere } from '../store/packed.ts'
import { findRipgrep } from '../agent/search/ripgrep.ts'
import { findProgram } from '../base/find-program.ts'
import { columnsOf, readState, stateDbPath } from '../sessions/host-db/state-db.ts'
import { SetupError, UserError, messageOf } from '../errors.ts'
import { unusableKeys } from '../models/credentials.ts'
import { readSetup } from '../models/provider-config.ts'
import { listProviders } from '../models/provider-keys.ts'
import { findExposed } from '../profiles/file-permissions.ts'
import { emptyIfUnreadable, fileChecks, guardChecks, homeChecks, taskChecks } from './check-home.ts'
import { errorCode, fileReason, sentenceOf } from '../store/file-error.ts'
import { type Check, type CheckContext, fail, ok, warn } from './check.ts'
import { modelServerChecks } from './check-model-server.ts'
import { mcpChecks } from './check-mcp.ts'
import { signInChecks } from './check-sign-in.ts'
import { serverChecks } from './check-start.ts'
import { clusterUrl, readClusterKey } from '../app/cell.ts'
import { describeNetworkError } from '../http/network-error.ts'
import { inspectContainer } from '../app/command-place.ts'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { programOf, scriptsOf } from '../profiles/hooks/scripts.ts'
import { hooksOf } from '../turns/context/turn-hooks.ts'
import { fromSeconds, systemClock } from '../base/clock.ts'
import { NOTIFICATION_PROBLEMS } from '../base/notification-problems.ts'
import { Outbox, OUTBOX } from '../notifications/outbox.ts'
import type { Receiver } from '../notifications/receivers.ts'
import { NotificationStore, SETTINGS } from '../notifications/store.ts'
import { checkSandbox } from '../commands/sandbox/availability.ts'
import { initFilePaths } from '../profiles/init-files.ts'
import { missingToolDirectories } from '../profiles/tool-directories.ts'

const initFileChecks = async ({ home }: CheckContext): Promise<Check[]> => {
  const about = 'shell init files'
  const { terminal } = home.settings()
  const files = initFilePaths(terminal, home.env().HOME)
  const missing =
    terminal.shell_init_files.length > 0 ? files.filter(file => !existsSync(file)) : []
  const problem = await home.sourceInitFiles()
  const found = files.filter(file => existsSync(file))
  return [
    ...missing.map(file =>
      warn('init_file_missing', about, `${file} does not exist`, 'Fix terminal.shell_init_files.'),
    ),
    ...(problem === null
      ? []
      : [warn('init_file_fails', about, problem, 'Source it in a new bash to see why.')]),
    ...(problem === null && found.length > 0 ? [ok(about, found.join(', '))] : []),
  ]
}

const shellChecks = async (looked: CheckContext): Promise<Check[]> => {
  const added = missingToolDirectories(looked.config.env)
  const said = added.length === 0 ? 'complete' : `commands also get ${added.join(', ')}`
  try {
    return [ok('PATH', said), ...(await initFileChecks(looked))]
  } catch (error) {
    // An unreadable configuration has a check of its own.
    if (error instanceof UserError) return [ok('PATH', said)]
    throw error
  }
}

const sandboxChecks = async ({ config, home }: CheckContext): Promise<Check[]> => {
  try {
    const { enabled, network } = home.settings().sandbox
    const { problem } = await checkSandbox(config.env)
    const isOff = enabled === false || (enabled === 'auto' && !config.looksForSandbox)
    if (isOff)
      return [ok('sandbox', `off: ${DIRECT}${problem === null ? '; it would work here' : ''}`)]
    if (problem === null) return [ok('sandbox', `on: commands run in it, ${toWords(network)}`)]
    if (enabled === 'auto') return [warn('sandbox_off', 'sandbox', `off: ${DIRECT}`, problem.text)]
    return [
      fail(
        'sandbox_unusable',
        'sandbox',
        problem.text,
        'Until then commands are refused. docs/sandbox.md has more.',
      ),
    ]
  } catch (error) {
    // An unreadable configuration has a check of its own.
    if (error instanceof UserError) return []
    throw error
  }
}

const DIRECT = 'commands run directly on this computer, with your rights'

const toWords = (network: boolean | readonly string[]): string =>
  network === true ? 'with network' : network === false ? 'without network' : 'network by pattern'

const nameOf = (receiver: Receiver): string =>
  'subscription' in receiver ? receiver.name : `${receiver.type} ${new URL(receiver.url).host}`

const notificationChecks = ({ config: { stateDir } }: CheckContext): Check[] => {
  const problems: Check[] = []
  // Files that cannot be read have a check of their own.
  const store = new NotificationStore(join(stateDir, SETTINGS), { clock: systemClock })
  const outbox = new Outbox(join(stateDir, OUTBOX), () => undefined)
  const receivers: Receiver[] = [...store.devices(), ...store.services()]
  if (problems.length === 0 && receivers.length === 0) return [ok('notifications', 'not set up')]
  if (store.services().length > 0 && !store.settings().base_url)
    problems.push(
      warn(
        'page_address_missing',
        'notifications',
        'links and buttons of ntfy, Gotify, and webhooks need the address of the page',
        'Enter it under Settings → Notifications → Address of this page.',
      ),
    )
  return [
    ...problems,
    ...receivers.map(receiver => {
      const about = `notifications to ${nameOf(receiver)}`
      const { problem, problem_code: code, last_sent_at: at } = outbox.statusOf(receiver.id)
      if (problem !== null && code !== null)
        return warn('notification_failed', about, problem, NOTIFICATION_PROBLEMS[code])
      return ok(
        about,
        at === null ? 'nothing sent yet' : `last sent ${new Date(fromSeconds(at)).toISOString()}`,
      )
    }),
  ]
}

const hookChecks = ({ home }: CheckContext): Check[] =>
  emptyIfUnreadable(() => {
    // Relative names belong to the workspace, which differs from chat to chat.
    const elsewhere = join(home.dir, randomUUID())
    const place = { cwd: elsewhere, env: home.env() }
    const isKnown = (path: string) => !path.startsWith(elsewhere)
    return hooksOf(home).hooks.map(({ name, command, failClosed }) => {
      const program = programOf(command, place)
      const isMissing =
        program !== null && isKnown(program) && !findProgram(place.env.PATH ?? '', program)
      const missing = isMissing
        ? program
        : scriptsOf(command, place).find(path => isKnown(path) && !existsSync(path))
      const about = `hook ${name}`
      if (missing === undefined) return ok(about, command)
      const effect = failClosed
        ? 'Until then it blocks every call.'
        : 'Until then it has no effect.'
      return warn(
        'hook_missing',
        about,
        `${command}: ${missing} does not exist or is not executable`,
        `Fix it, or its command in ${home.config.path}. ${effect}`,
      )
    })
  })

const containerChecks = async ({ home, config }: CheckContext): Promise<Check[]> => {
  const about = 'container'
  try {
    const found = await inspectContainer(home, config.userHome)
    if (found === null) return []
    const { image, engine, program, isDownloaded } = found
    return isDownloaded
      ? [ok(about, `commands run in ${image} (${engine}, ${program})`)]
      : [
          warn(
            'image_missing',
            about,
            `the image ${image} is not here`,
            `The first command downloads it; or run: ${engine} pull ${image}`,
          ),
        ]
  } catch (error) {
    // An unreadable configuration has a check of its own.
    if (error instanceof UserError && error.extra.config_problem === true) return []
    return [
      fail('container_unusable', about, messageOf(error), 'No command runs until this is solved.'),
    ]
  }
}

const ABOUT = 'cluster'

const clusterChecks = async ({
  config: { cluster },
}: Pick<CheckContext, 'config'>): Promise<Check[]> => {
  if (cluster === null) return []
  let given: { url: string; key: string }
  try {
    given = { url: clusterUrl(cluster), key: readClusterKey(cluster) }
  } catch (error) {
    const advice = 'Correct the file, or the variable. It does not start without it.'
    return [fail('cluster_unusable', ABOUT, messageOf(error), advice)]
  }
  try {
    const { checkCluster } = await import('../cluster/postgres.ts')
    await checkCluster(given, cluster.cell)
    return [ok(ABOUT, 'the database answers, and its tables are known')]
  } catch (error) {
    const advice =
      error instanceof SetupError
        ? 'A start ends with exit code 78 until this is corrected.'
        : 'Start the database, or correct AGENT_WEBUI_CLUSTER_URL. A start waits until it answers.'
    // The text of the system has codes and calls.
    const isOfSystem = error instanceof Error && 'syscall' in error
    const said = isOfSystem ? `the database: ${describeNetworkError(error)}` : messageOf(error)
    return [fail('cluster_unusable', ABOUT, said, advice)]
  }
}

const secretChecks = ({ config }: CheckContext): Check[] => {
  const open = findExposed(config)
  if (open.length === 0) return [ok('secrets', 'no file with secrets is open to other users')]
  return open.map(({ path, said, mode }) => {
    if (mode === null)
      return warn(
        'file_exposed',
        'secrets',
        `${path} ${said}`,
        'Whoever owns or manages it can change its mode.',
      )
    const octal = mode.toString(8)
    return warn('file_exposed', 'secrets', `${path} ${said}`, `chmod ${octal} "${path}"`, {
      does: `set the mode of ${path} to ${octal}`,
      apply: () => chmodSync(path, mode),
    })
  })
}

const providerChecks = ({ home }: CheckContext): Check[] => {
  const rows = emptyIfUnreadable(() => listProviders(home).providers).filter(
    row => row.alias_of === null,
  )
  const expired = rows
    .filter(row => row.needs_sign_in)
    .map(({ display_name: name }) =>
      warn(
        'sign_in_expired',
        'sign-in',
        `the sign-in of ${name} has expired`,
        'Sign in again with the command line (hermes model).',
      ),
    )
  const unusable = emptyIfUnreadable(() => unusableKeys(readSetup(home))).map(({ name, why }) =>
    why === 'removed'
      ? fail(
          'key_placeholder',
          'providers',
          `${name} was removed from the backup that was restored`,
          'Enter the key again.',
        )
      : fail(
          'key_invalid',
          'providers',
          `the value of ${name} cannot be sent as a key: it has spaces or other characters that keys do not have`,
          'Correct it.',
        ),
  )
  const held = rows.filter(row => row.has_key)
  // Not a problem by itself: self-hosted servers need no key. The model check reports a missing one.
  if (held.length === 0)
    return [
      ...(unusable.length > 0 ? [] : [ok('providers', 'no provider has a key')]),
      ...unusable,
      ...expired,
    ]
  const names = held.map(({ display_name: name, key_name, env_var }) => {
    const variable = key_name ?? env_var
    return variable ? `${name} (${variable})` : name
  })
  return [ok('providers', `keys for ${names.join(', ')}`), ...unusable, ...expired]
}

const MODEL_ADVICE: Readonly<Record<string, string>> = {
  key_missing: 'Add the key, or choose another default model.',
  provider_no_address: 'Set model.base_url in config.yaml, such as http://127.0.0.1:11434/v1.',
  provider_address_invalid:
    'Correct model.base_url in config.yaml, such as http://127.0.0.1:11434/v1.',
  provider_missing: 'Set model.provider in config.yaml, or choose a model on the page.',
  model_missing: 'Set model.default in config.yaml, or choose a model on the page.',
  provider_misspelled: 'Correct config.yaml.',
  provider_setting_invalid: 'Correct config.yaml.',
}

const modelCheck = async ({ home, models }: CheckContext): Promise<Check[]> => {
  // A file that cannot be read has a check of its own, which says the same.
  if (home.problems().length > 0) return []
  try {
    await models.ready(home)
    const { model } = models.compatible(home, null)
    const endpoint = models.endpoint(home, model)
    if (endpoint.apiMode === 'demo')
      return [
        warn(
          'model_demo',
          'model',
          'demo model (scripted, offline)',
          'Add an API key to .env, or choose a provider in the settings.',
        ),
      ]
    return [ok('model', `${endpoint.model} (${endpoint.provider})`)]
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    const advice = MODEL_ADVICE[String(error.code)] ?? 'Choose another default model.'
    return [fail('model_unusable', 'model', error.message, advice)]
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
    return path ? ok(name, path) : warn('program_missing', name, 'was not found', advice)
  })

const searchChecks = async ({ config }: CheckContext): Promise<Check[]> => {
  if (packedHere()?.ripgrep) return [ok('search', 'ripgrep is in this program')]
  const found = await findRipgrep(config.env.PATH ?? '')
  return [
    found
      ? ok('search', `${found.path}, ripgrep ${found.version}`)
      : warn(
          'ripgrep_missing',
          'search',
          'ripgrep 14 or newer was not found',
          'Install ripgrep (rg). Without it, the agent finds files by name only.',
        ),
  ]
}

const DATABASE_PROBLEMS: Readonly<Record<string, string>> = {
  SQLITE_NOTADB: 'is not an SQLite database',
  SQLITE_CORRUPT: 'is damaged',
  SQLITE_CANTOPEN: 'cannot be opened',
  SQLITE_BUSY: 'is in use by another program',
  SQLITE_ERROR: 'has no tables of sessions',
}

const OPENABLE = 'Make it a file that this user may read and write.'
/** Nothing is wrong with what is in the file. */
const DATABASE_ADVICE: Readonly<Record<string, string>> = {
  SQLITE_BUSY: 'Run doctor again when that has finished.',
  SQLITE_CANTOPEN: OPENABLE,
  EACCES: OPENABLE,
}

const databaseProblem = (error: unknown): string =>
  DATABASE_PROBLEMS[errorCode(error)] ?? `cannot be read: ${fileReason(error)}`

const databaseCheck = ({ home, addon }: CheckContext): Check => {
  const file = stateDbPath(home)
  try {
    const found = readState(file, addon, db => {
      const version = db
        .prepare<[], { version: number }>('select version from schema_version limit 1')
        .get()?.version
      if (!columnsOf(db, 'sessions').has('id')) throw new Error('it has no table of sessions')
      const { n } = db.prepare('select count(*) as n from sessions').get() as { n: number }
      return { version, n }
    })
    if (!found) return ok('state.db', 'not found; created with the first session')
    return ok('state.db', `schema ${found.version ?? '?'}, ${found.n} sessions`)
  } catch (error) {
    const advice =
      DATABASE_ADVICE[errorCode(error)] ??
      `Move ${file} away. Command-line sessions cannot be read from it.`
    return fail('database_unusable', 'state.db', `${file} ${databaseProblem(error)}`, advice)
  }
}

const rootCheck = ({ machine }: CheckContext): Check[] =>
  machine.uid !== 0 || machine.isContainer()
    ? []
    : [
        warn(
          'runs_as_root',
          'user',
          'runs as root, so commands of the agent can change everything on this machine',
          'Run agent-webui as a user of its own.',
        ),
      ]

/** One sentence about the clock is enough. */
const withoutClock = (found: readonly Check[], earlier: readonly Check[]): Check[] => {
  const isSaid = earlier.some(({ about, level }) => about === CLOCK && level !== 'ok')
  return found.filter(({ about }) => !(isSaid && about === CLOCK))
}

/** What one check may not look at is a finding, and takes no other check away. */
const tried = async (look: () => Check[] | Promise<Check[]>): Promise<Check[]> => {
  try {
    return await look()
  } catch (error) {
    if (errorCode(error) === '') throw error
    const advice = 'Make it usable for this user.'
    return [fail('file_unreadable', 'file', sentenceOf(error), advice)]
  }
}

const isUsable = (checks: readonly Check[]): boolean =>
  checks.every(({ level }) => level !== 'fail')

/** In the order of the report. */
export const runChecks = async (looked: CheckContext, version: string): Promise<Check[]> => {
  const server = await serverChecks(looked)
  const ofHome = homeChecks(looked)
  const ifHome = (look: () => Check[]) => (isUsable(ofHome) ? look() : [])
  const ifState = (look: () => Check[]) => (server.isStateUsable ? look() : [])
  const groups: (() => Check[] | Promise<Check[]>)[] = [
    () => ofHome,
    () => ifHome(() => fileChecks(looked, server.isStateUsable)),
    () => taskChecks(looked),
    () => ifState(() => guardChecks(looked)),
    () => hookChecks(looked),
    () => secretChecks(looked),
    () => providerChecks(looked),
    () => modelCheck(looked),
    async () => withoutClock(await modelServerChecks(looked), server.checks),
    () => rootCheck(looked),
    () => server.checks,
    () => clusterChecks(looked),
    () => signInChecks(looked),
    () => programChecks(looked),
    () => shellChecks(looked),
    () => containerChecks(looked),
    () => sandboxChecks(looked),
    () => searchChecks(looked),
    () => ifHome(() => [databaseCheck(looked)]),
    () => mcpChecks(looked),
    () => ifState(() => notificationChecks(looked)),
    () => agentChecks(looked, version),
  ]
  const found: Check[] = []
  for (const look of groups) found.push(...(await tried(look)))
  return found
}
