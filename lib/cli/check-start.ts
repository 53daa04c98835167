/** Checks of what is in the state directory, and of the address. What a start needs is in `lib/app/start-checks.ts`. */
import { isAlive } from '../base/is-alive.ts'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { knownFiles } from '../app/known-files.ts'
import { startChecks } from '../app/start-checks.ts'
import { BackupsFile, NO_SCHEDULE, SCHEDULE_ADVICE } from '../operations/backups/backups.ts'
import { isObject } from '../base/json.ts'
import type { Config } from '../config.ts'
import { fetchHealth, StartError, tryListen, urlOf } from '../operations/preflight.ts'
import { unreadableSessions } from '../sessions/unreadable-files.ts'
import { fileReason } from '../store/file-error.ts'
import { parseSettings } from '../profiles/settings.ts'
import { JsonFile } from '../store/json-file.ts'
import { runningPid } from '../store/instance-lock.ts'
import { makeDir } from '../store/make-dir.ts'
import { readWholeText } from '../store/read-text.ts'
import { usableForNewChats } from '../workspaces/default-workspace.ts'
import { type Check, fail, type CheckContext, type Fix, ok, warn } from './check.ts'

const stateFileChecks = ({ config }: CheckContext): Check[] =>
  knownFiles(config.stateDir).flatMap(({ name, path, until, isReplaced, problem }) => {
    const found = problem()
    if (found === null) return existsSync(path) ? [ok(name, 'OK')] : []
    return isReplaced
      ? [
          warn(
            'file_replaced',
            name,
            `${found.reason}`,
            `Nothing: the service replaces it. ${until}`,
          ),
        ]
      : [
          fail(
            'file_unreadable',
            name,
            `${found.reason}`,
            `Fix ${path}, or restore it from a backup. ${until}`,
          ),
        ]
  })

/** As the page says it. */
const backupChecks = ({ config }: CheckContext): Check[] => {
  const { last, settings } = new JsonFile(join(config.stateDir, 'backups.json'), value =>
    BackupsFile.parse(value ?? {}),
  ).read()
  return [
    ...(settings.enabled ? [warn('backups_stopped', 'backup', NO_SCHEDULE, SCHEDULE_ADVICE)] : []),
    ...(last === null || last.ok
      ? []
      : [warn('backup_failed', 'backup', last.error, 'See Settings → Backups.')]),
  ]
}

const settingsWorkspace = ({ stateDir }: CheckContext['config']): string | null => {
  const { default_workspace: path } = new JsonFile(
    join(stateDir, 'settings.json'),
    parseSettings,
  ).read()
  return typeof path === 'string' && path !== '' ? path : null
}

const savedWorkspaceCheck = ({ config }: CheckContext): Check[] => {
  const wanted = settingsWorkspace(config)
  return wanted === null || usableForNewChats(wanted, config)
    ? []
    : [
        warn(
          'workspace_unusable',
          'workspace',
          `${wanted} of the settings does not exist or cannot be used, so new chats begin elsewhere`,
          'Create it, or choose another under Settings → General.',
        ),
      ]
}

const workspaceCheck = ({ config }: CheckContext): Check[] => {
  const wanted = config.defaultWorkspace
  if (wanted === null) return []
  return usableForNewChats(wanted, config)
    ? [ok('workspace', wanted)]
    : [
        fail(
          'workspace_unusable',
          'workspace',
          `${wanted} does not exist or cannot be used`,
          'Create it, or fix AGENT_WEBUI_DEFAULT_WORKSPACE.',
        ),
      ]
}

const environmentChecks = ({ config }: CheckContext): Check[] =>
  config.warnings.map(said =>
    warn('variable_ignored', 'environment', said, 'Correct or remove the variable.'),
  )

/** Of the agent's commands and of programs that they run. */
const temporaryCheck = ({ config: { env }, machine }: CheckContext): Check[] => {
  const dir = env.TMPDIR
  const error = dir === undefined ? null : machine.accessError(dir)
  return error === null
    ? []
    : [
        warn(
          'temporary_files_unusable',
          'temporary files',
          `${dir} cannot be used (${fileReason(error)})`,
          'Create it, or fix TMPDIR.',
        ),
      ]
}

const sessionCheck = ({ config }: CheckContext): Check[] => {
  const dir = join(config.stateDir, 'sessions')
  if (!existsSync(dir)) return []
  try {
    readdirSync(dir)
  } catch (error) {
    return [
      fail(
        'sessions_unreadable',
        'sessions',
        `${dir}: ${fileReason(error)}`,
        `Make ${dir} readable for this user.`,
      ),
    ]
  }
  const { looked, bad, closed, complete } = unreadableSessions(dir)
  const extent = complete ? '' : ' (newest only)'
  if (bad.length + closed.length === 0) return [ok('sessions', `${looked} readable${extent}`)]
  const namesOf = (list: string[]) =>
    `${list.slice(0, 3).join(', ')}${list.length > 3 ? ` and ${list.length - 3} more` : ''}`
  return [
    ...(closed.length === 0
      ? []
      : [
          fail(
            'sessions_unreadable',
            'sessions',
            `${closed.length} of ${looked} may not be read by this user: ${namesOf(closed)}`,
            `Give them to this user with chown. Until then these chats are missing.`,
          ),
        ]),
    ...(bad.length === 0
      ? []
      : [
          warn(
            'session_damaged',
            'sessions',
            `${bad.length} of ${looked} are empty or have unreadable lines: ${namesOf(bad)}`,
            'Their other lines are shown. If messages are missing, restore the files from a backup.',
          ),
        ]),
  ]
}

const HEALTH_MS = 2_000

/** The address that a running server wrote to instance.json; null without one. */
export const announcedAddress = (config: Pick<Config, 'stateDir'>): string | null => {
  try {
    const note: unknown = JSON.parse(readWholeText(join(config.stateDir, 'instance.json')))
    const address = isObject(note) && 'address' in note ? note.address : null
    return typeof address === 'string' && URL.canParse(address) ? address : null
  } catch {
    // The server has never run here, or was shut down cleanly.
    return null
  }
}

/** The file that a killed server leaves behind. The lock itself ended with the process. */
const staleNote = (stateDir: string): Fix => {
  const note = join(stateDir, 'instance.json')
  return { does: `delete ${note}`, apply: () => rmSync(note, { force: true }) }
}

const stoppedCheck = ({ config }: CheckContext, address: string): Check => {
  const pid = runningPid(config.stateDir)
  const said = `${address} does not respond`
  if (pid === undefined || pid === process.pid)
    return warn('service_stopped', 'service', said, 'Start it: agent-webui')
  if (isAlive(pid))
    return fail(
      'service_hangs',
      'service',
      `${said}, but its process ${pid} runs`,
      `Look at its log. If it hangs, end it: kill ${pid}`,
    )
  return warn(
    'service_killed',
    'service',
    `not running; process ${pid} of ${address} was killed or crashed`,
    'Look at its log for the reason, and start it: agent-webui',
    staleNote(config.stateDir),
  )
}

const serviceCheck = async (looked: CheckContext): Promise<Check> => {
  const { config } = looked
  const about = 'service'
  const address = announcedAddress(config)
  const status = address ? await fetchHealth(address, HEALTH_MS).catch(() => null) : null
  if (address && status === 200) return ok(about, `running at ${address}`)
  if (address && status !== null)
    return fail(
      'service_unhealthy',
      about,
      `${address} responds with status ${status}`,
      'Check its log.',
    )
  try {
    await tryListen(config)
    if (address) return stoppedCheck(looked, address)
    return ok(about, `not running; ${urlOf(config, config.port)} is free`)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return fail('address_unusable', 'address', error.said, error.advice)
  }
}

const hasFailed = (checks: readonly Check[], about: string): boolean =>
  checks.some(check => check.level === 'fail' && check.about === about)

/** A directory that the first start creates anyway. */
const withStateFix = (checks: Check[], { config: { stateDir } }: CheckContext): Check[] => {
  if (existsSync(stateDir) || hasFailed(checks, 'state')) return checks
  const fix: Fix = {
    does: `create ${stateDir}`,
    apply: () => makeDir(stateDir),
  }
  return checks.map(check => (check.about === 'state' ? { ...check, fix } : check))
}

export type ServerChecks = {
  checks: Check[]
  /** False: checks that read it would only repeat that. */
  isStateUsable: boolean
}

/** In the order of a start. */
export const serverChecks = async (looked: CheckContext): Promise<ServerChecks> => {
  const { config, machine, ownNames } = looked
  const first = startChecks(config, machine, ownNames)
  const isStateUsable = !hasFailed(first, 'state')
  const checks = [
    ...environmentChecks(looked),
    ...withStateFix(first, looked),
    ...(isStateUsable
      ? [...stateFileChecks(looked), ...savedWorkspaceCheck(looked), ...backupChecks(looked)]
      : []),
    ...workspaceCheck(looked),
    ...temporaryCheck(looked),
    ...(isStateUsable ? sessionCheck(looked) : []),
    await serviceCheck(looked),
  ]
  return { checks, isStateUsable }
}
