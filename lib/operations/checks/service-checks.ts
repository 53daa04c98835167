/** Checks of the running service, its files and workspaces, and the programs that it uses. */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fromSeconds, systemClock } from '../../base/clock.ts'
import { findProgram } from '../../base/find-program.ts'
import { isAlive } from '../../base/is-alive.ts'
import { NOTIFICATION_PROBLEMS } from '../../base/notification-problems.ts'
import type { Config } from '../../config.ts'
import { messageOf, SetupError, UserError } from '../../errors.ts'
import { describeNetworkError } from '../../http/network-error.ts'
import { Outbox, OUTBOX } from '../../notifications/outbox.ts'
import type { Receiver } from '../../notifications/receivers.ts'
import { NotificationStore, SETTINGS } from '../../notifications/store.ts'
import { initFilePaths } from '../../profiles/init-files.ts'
import { parseSettings } from '../../profiles/settings.ts'
import { missingToolDirectories } from '../../profiles/tool-directories.ts'
import { columnsOf, readState, stateDbPath } from '../../sessions/host-db/state-db.ts'
import { unreadableSessions } from '../../sessions/unreadable-files.ts'
import { errorCode, fileReason } from '../../store/file-error.ts'
import { announcedAddress, runningPid } from '../../store/instance-lock.ts'
import { JsonFile } from '../../store/json-file.ts'
import { packedHere } from '../../store/packed.ts'
import { usableForNewChats } from '../../workspaces/default-workspace.ts'
import { BackupsFile, NO_SCHEDULE, SCHEDULE_ADVICE } from '../backups/backups.ts'
import { fetchHealth, StartError, tryListen, urlOf } from '../preflight.ts'
import { type Check, type CheckContext, finding, ok } from './check.ts'
import { firstOf } from './home-checks.ts'
import { createProxyDispatcher } from '../../agent/providers/registry.ts'
import { Oidc, readClientSecret } from '../../people/oidc.ts'
import { hasPassword } from '../../people/password-record.ts'

export const environmentChecks = ({ config }: CheckContext): Check[] =>
  config.warnings.map(message => finding('variable_ignored', 'environment', message))

export const stateFileChecks = ({ above }: CheckContext): Check[] =>
  above.stateFiles().flatMap(({ name, path, until, isReplaced, problem }) => {
    const unreadable = problem()
    if (unreadable === null) return existsSync(path) ? [ok(name, 'OK')] : []
    const code = isReplaced ? 'file_replaced' : 'file_unreadable'
    const action = isReplaced
      ? 'Nothing: the service replaces it.'
      : `Fix ${path}, or restore it from a backup.`
    return [finding(code, name, `${unreadable.reason}`, { advice: `${action} ${until}` })]
  })

/** As the page says it. */
export const backupChecks = ({ config }: CheckContext): Check[] => {
  const file = new JsonFile(join(config.stateDir, 'backups.json'), value =>
    BackupsFile.parse(value ?? {}),
  )
  const { last, settings } = file.read()
  const advice = SCHEDULE_ADVICE
  return [
    ...(settings.enabled ? [finding('backups_stopped', 'backup', NO_SCHEDULE, { advice })] : []),
    ...(last === null || last.ok ? [] : [finding('backup_failed', 'backup', last.error)]),
  ]
}

/** The one of the settings, where new chats begin unless the environment names another. */
export const savedWorkspaceCheck = ({ config }: CheckContext): Check[] => {
  const file = new JsonFile(join(config.stateDir, 'settings.json'), parseSettings)
  const { default_workspace: path } = file.read()
  if (typeof path !== 'string' || path === '' || usableForNewChats(path, config)) return []
  const message = `${path} of the settings does not exist or cannot be used, so new chats begin elsewhere`
  return [finding('workspace_unusable', 'workspace', message)]
}

export const workspaceCheck = ({ config }: CheckContext): Check[] => {
  const path = config.defaultWorkspace
  if (path === null) return []
  if (usableForNewChats(path, config)) return [ok('workspace', path)]
  const advice = 'Create it, or fix AGENT_WEBUI_DEFAULT_WORKSPACE.'
  const message = `${path} does not exist or cannot be used`
  return [finding('workspace_unusable', 'workspace', message, { level: 'fail', advice })]
}

/** Of the agent's commands and of programs that they run. */
export const temporaryCheck = ({ config: { env }, machine }: CheckContext): Check[] => {
  const dir = env.TMPDIR
  const error = dir === undefined ? null : machine.accessError(dir)
  if (error === null) return []
  const message = `${dir} cannot be used (${fileReason(error)})`
  return [finding('temporary_files_unusable', 'temporary files', message)]
}

export const sessionCheck = ({ config }: CheckContext): Check[] => {
  const about = 'sessions'
  const dir = join(config.stateDir, 'sessions')
  if (!existsSync(dir)) return []
  try {
    readdirSync(dir)
  } catch (error) {
    const advice = `Make ${dir} readable for this user.`
    return [finding('sessions_unreadable', about, `${dir}: ${fileReason(error)}`, { advice })]
  }
  const { looked, bad, closed, complete } = unreadableSessions(dir)
  if (bad.length + closed.length === 0)
    return [ok(about, `${looked} readable${complete ? '' : ' (newest only)'}`)]
  const denied = `${closed.length} of ${looked} may not be read by this user: ${firstOf(closed)}`
  const advice = 'Give them to this user with chown. Until then these chats are missing.'
  const damaged = `${bad.length} of ${looked} are empty or have unreadable lines: ${firstOf(bad)}`
  return [
    ...(closed.length > 0 ? [finding('sessions_unreadable', about, denied, { advice })] : []),
    ...(bad.length > 0 ? [finding('session_damaged', about, damaged)] : []),
  ]
}

const HEALTH_MS = 2_000

const stoppedCheck = ({ stateDir }: Config, address: string): Check => {
  const about = 'service'
  const pid = runningPid(stateDir)
  const message = `${address} does not respond`
  if (pid === undefined || pid === process.pid) return finding('service_stopped', about, message)
  if (isAlive(pid)) {
    const advice = `Look at its log. If it hangs, end it: kill ${pid}`
    return finding('service_hangs', about, `${message}, but its process ${pid} runs`, { advice })
  }
  // What a killed server leaves behind. The lock itself ended with the process.
  const note = join(stateDir, 'instance.json')
  const fix = { does: `delete ${note}`, apply: () => rmSync(note, { force: true }) }
  const killed = `not running; process ${pid} of ${address} was killed or crashed`
  return finding('service_killed', about, killed, { fix })
}

export const serviceCheck = async ({ config }: CheckContext): Promise<Check[]> => {
  const about = 'service'
  const address = announcedAddress(config.stateDir)
  const status = address ? await fetchHealth(address, HEALTH_MS).catch(() => null) : null
  if (address && status === 200) return [ok(about, `running at ${address}`)]
  if (address && status !== null)
    return [finding('service_unhealthy', about, `${address} responds with status ${status}`)]
  try {
    await tryListen(config)
    if (address) return [stoppedCheck(config, address)]
    return [ok(about, `not running; ${urlOf(config, config.port)} is free`)]
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return [finding('address_unusable', 'address', error.problem, { advice: error.advice })]
  }
}

export const clusterChecks = async ({ config, above }: CheckContext): Promise<Check[]> => {
  const about = 'cluster'
  if (config.cluster === null) return []
  try {
    await above.cluster(config.cluster)
    return [ok(about, 'the database answers, and its tables are known')]
  } catch (error) {
    // The text of the system has codes and calls.
    const isOfSystem = error instanceof Error && 'syscall' in error
    const message = isOfSystem ? `the database: ${describeNetworkError(error)}` : messageOf(error)
    const advice =
      error instanceof SetupError
        ? 'A start ends with exit code 78 until this is corrected.'
        : 'Start the database, or correct the variable or the file that it names. A start waits until the database answers.'
    return [finding('cluster_unusable', about, message, { advice })]
  }
}

const nameOf = (receiver: Receiver): string =>
  'subscription' in receiver ? receiver.name : `${receiver.type} ${new URL(receiver.url).host}`

/** Files that cannot be read have a check of their own. */
export const notificationChecks = ({ config: { stateDir } }: CheckContext): Check[] => {
  const store = new NotificationStore(join(stateDir, SETTINGS), { clock: systemClock })
  const outbox = new Outbox(join(stateDir, OUTBOX), () => undefined)
  const receivers: Receiver[] = [...store.devices(), ...store.services()]
  if (receivers.length === 0) return [ok('notifications', 'not set up')]
  const needsAddress = store.services().length > 0 && !store.settings().base_url
  const message = 'links and buttons of ntfy, Gotify, and webhooks need the address of the page'
  return [
    ...(needsAddress ? [finding('page_address_missing', 'notifications', message)] : []),
    ...receivers.map(receiver => {
      const about = `notifications to ${nameOf(receiver)}`
      const { problem, problem_code: code, last_sent_at: at } = outbox.statusOf(receiver.id)
      if (problem !== null && code !== null)
        return finding('notification_failed', about, problem, {
          advice: NOTIFICATION_PROBLEMS[code],
        })
      const sentAt = at === null ? null : new Date(fromSeconds(at)).toISOString()
      return ok(about, sentAt === null ? 'nothing sent yet' : `last sent ${sentAt}`)
    }),
  ]
}

export const rootCheck = ({ machine }: CheckContext): Check[] => {
  if (machine.uid !== 0 || machine.isContainer()) return []
  const message = 'runs as root, so commands of the agent can change everything on this machine'
  return [finding('runs_as_root', 'user', message)]
}

const TOOLS: readonly [name: string, without: string][] = [
  ['git', 'Install git. Diffs, worktrees, and updates need it.'],
  ['python3', 'Install Python 3. The agent often writes and runs Python scripts.'],
  ['flock', 'Install util-linux. It locks files shared with the command-line client.'],
]

export const programChecks = ({ config }: CheckContext): Check[] =>
  TOOLS.map(([name, advice]) => {
    const path = findProgram(config.env.PATH ?? '', name)
    return path ? ok(name, path) : finding('program_missing', name, 'was not found', { advice })
  })

export const searchChecks = async ({ config, machine }: CheckContext): Promise<Check[]> => {
  if (packedHere()?.ripgrep) return [ok('search', 'ripgrep is in this program')]
  const ripgrep = await machine.ripgrep(config.env.PATH ?? '')
  return [
    ripgrep
      ? ok('search', `${ripgrep.path}, ripgrep ${ripgrep.version}`)
      : finding('ripgrep_missing', 'search', 'ripgrep 14 or newer was not found'),
  ]
}

/** An unreadable configuration has a check of its own. */
const unlessUnreadable = async (look: () => Promise<Check[]>): Promise<Check[]> => {
  try {
    return await look()
  } catch (error) {
    if (error instanceof UserError) return []
    throw error
  }
}

export const shellChecks = async ({ home, config }: CheckContext): Promise<Check[]> => {
  const about = 'shell init files'
  const added = missingToolDirectories(config.env)
  const message = added.length === 0 ? 'complete' : `commands also get ${added.join(', ')}`
  const ofFiles = await unlessUnreadable(async () => {
    const { terminal } = home.config()
    const files = initFilePaths(terminal, home.env().HOME)
    const problem = await home.sourceInitFiles()
    const [there, missing] = [true, false].map(isThere =>
      files.filter(file => existsSync(file) === isThere),
    ) as [string[], string[]]
    // Without a list, those that a shell usually has are tried.
    const absent = terminal.shell_init_files.length > 0 ? missing : []
    return [
      ...absent.map(file => finding('init_file_missing', about, `${file} does not exist`)),
      ...(problem === null ? [] : [finding('init_file_fails', about, problem)]),
      ...(problem === null && there.length > 0 ? [ok(about, there.join(', '))] : []),
    ]
  })
  return [ok('PATH', message), ...ofFiles]
}

export const containerChecks = async ({ home, above }: CheckContext): Promise<Check[]> => {
  const about = 'container'
  try {
    const container = await above.container(home)
    if (container === null) return []
    const { image, engine, program, isDownloaded } = container
    if (isDownloaded) return [ok(about, `commands run in ${image} (${engine}, ${program})`)]
    const advice = `The first command downloads it; or run: ${engine} pull ${image}`
    return [finding('image_missing', about, `the image ${image} is not here`, { advice })]
  } catch (error) {
    // An unreadable configuration has a check of its own.
    if (error instanceof UserError && error.extra.config_problem === true) return []
    return [finding('container_unusable', about, messageOf(error))]
  }
}

const NETWORK = new Map<unknown, string>([
  [true, 'with network'],
  [false, 'without network'],
])

export const sandboxChecks = ({ config, home, machine }: CheckContext): Promise<Check[]> =>
  unlessUnreadable(async () => {
    const about = 'sandbox'
    const direct = 'off: commands run directly on this computer, with your rights'
    const { enabled, network } = home.config().sandbox
    const { problem } = await machine.sandbox(config.env)
    const isOff = enabled === false || (enabled === 'auto' && !config.looksForSandbox)
    if (isOff) return [ok(about, `${direct}${problem === null ? '; it would work here' : ''}`)]
    const way = NETWORK.get(network) ?? 'network by pattern'
    if (problem === null) return [ok(about, `on: commands run in it, ${way}`)]
    return enabled === 'auto'
      ? [finding('sandbox_off', about, direct, { advice: problem.text })]
      : [finding('sandbox_unusable', about, problem.text)]
  })

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

export const databaseCheck = ({ home, addon }: CheckContext): Check[] => {
  const about = 'state.db'
  const file = stateDbPath(home)
  try {
    const state = readState(file, addon, db => {
      const version = db
        .prepare<[], { version: number }>('select version from schema_version limit 1')
        .get()?.version
      if (!columnsOf(db, 'sessions').has('id')) throw new Error('it has no table of sessions')
      const { n } = db.prepare('select count(*) as n from sessions').get() as { n: number }
      return { version, n }
    })
    if (!state) return [ok(about, 'not found; created with the first session')]
    return [ok(about, `schema ${state.version ?? '?'}, ${state.n} sessions`)]
  } catch (error) {
    const code = errorCode(error)
    const problem = DATABASE_PROBLEMS[code] ?? `cannot be read: ${fileReason(error)}`
    const moving = `Move ${file} away. Command-line sessions cannot be read from it.`
    const advice = DATABASE_ADVICE[code] ?? moving
    return [finding('database_unusable', about, `${file} ${problem}`, { advice })]
  }
}

const oidcCheck = async ({ config: { oidc: config, env } }: CheckContext): Promise<Check[]> => {
  if (!config) return []
  const about = 'single sign-on'
  const warnings: string[] = []
  let oidc: Oidc | null = null
  try {
    // A question of the start says why it cannot be read.
    const clientSecret = readClientSecret(config)
    const dispatcher = await createProxyDispatcher(env)
    const log = { warn: (text: string) => void warnings.push(text) }
    oidc = new Oidc({ config, clientSecret, clock: systemClock, dispatcher, log })
    await oidc.check()
    return [ok(about, `${config.name} answers at ${config.issuer}`)]
  } catch {
    // The reason is in the warning.
    const message = `${config.issuer}: ${warnings.join('; ') || 'no answer'}`
    return oidc ? [finding('oidc_unreachable', about, message)] : []
  } finally {
    oidc?.close()
  }
}

/** Anyone who reaches the service can then only enter the setup token, which is in its log. */
const passwordCheck = ({ config }: CheckContext): Check[] => {
  const { isExposed, isVouched, oidc, authHeader, password, stateDir } = config
  const isOpen = !isExposed && oidc === null && authHeader === null
  if (isOpen || isVouched || password !== null || hasPassword(stateDir)) return []
  const message = 'others can reach the sign-in page, and no password is set'
  return [finding('password_missing', 'password', message)]
}

const headerCheck = ({ config: { authHeader, trustedProxies } }: CheckContext): Check[] =>
  authHeader === null
    ? []
    : [ok('proxy sign-in', `${authHeader}, from ${trustedProxies.join(', ')}`)]

export const signInChecks = async (context: CheckContext): Promise<Check[]> => [
  ...passwordCheck(context),
  ...(await oidcCheck(context)),
  ...headerCheck(context),
]
