/** Checks of what a start needs: state directory, disk, keys, TLS, address. Same checks as the start itself, without side effects. */
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { isObject } from '../base/json.ts'
import { readSigningKey } from '../auth/signing-key.ts'
import type { Config } from '../config.ts'
import { messageOf } from '../errors.ts'
import { fetchHealth, expiryOf, readTls, tryListen, urlOf } from '../preflight.ts'
import { isDirectory, unreadableSessions } from '../sessions/unreadable-files.ts'
import { usableWorkspace } from '../workspaces/workspace-paths.ts'
import { type Check, fail, type CheckContext, ok, warn } from './check.ts'
import { readWholeText } from '../store/read-text.ts'

const MB = 1024 * 1024
const LOW_FREE_MB = 1_024
const MIN_FREE_MB = 100
const DAY_MS = 86_400_000
const RENEW_DAYS = 14

/** The path itself, or its nearest existing parent. A dangling link counts as existing. */
const nearestExisting = (path: string): string =>
  exists(path) || dirname(path) === path ? path : nearestExisting(dirname(path))

const exists = (path: string): boolean => {
  try {
    lstatSync(path)
    return true
  } catch (error) {
    // Other errors come from a parent that is a file or not accessible; the check reports that parent.
    return (error as NodeJS.ErrnoException).code === 'ELOOP'
  }
}

const stateChecks = ({ config: { stateDir } }: CheckContext): Check[] => {
  const place = nearestExisting(stateDir)
  if (!isDirectory(place))
    return [fail('state', `${place} is not a directory`, 'Move it, or set AGENT_WEBUI_STATE_DIR.')]
  const checks: Check[] = []
  try {
    accessSync(place, constants.R_OK | constants.W_OK | constants.X_OK)
    checks.push(ok('state', `${stateDir}${place === stateDir ? '' : ' can be created'}`))
  } catch (error) {
    checks.push(fail('state', messageOf(error), `Make ${place} writable for this user.`))
  }
  const { uid } = statSync(place)
  const own = process.getuid?.()
  if (own !== undefined && place === stateDir && uid !== own)
    checks.push(
      warn(
        'owner',
        `${stateDir} belongs to user ${uid}; you are user ${own}`,
        'Run the server as the owner, or change the owner with chown -R.',
      ),
    )
  return [...checks, diskCheck(place)]
}

const diskCheck = (place: string): Check => {
  const { bavail, bsize } = statfsSync(place)
  const free = Math.floor((bavail * bsize) / MB)
  const said = `${free >= LOW_FREE_MB ? `${Math.floor(free / 1_024)} GB` : `${free} MB`} free`
  if (free < MIN_FREE_MB) return fail('disk', said, 'Free up space. Nothing can be saved.')
  return free < LOW_FREE_MB ? warn('disk', said, 'Free up space soon.') : ok('disk', said)
}

/** JSON files of the server. A file that cannot be read is rejected, never replaced. */
const STATE_FILES = [
  'settings.json',
  'workspaces.json',
  'projects.json',
  'auth-sessions.json',
] as const

const jsonProblem = (path: string): string | null => {
  try {
    if (!statSync(path).isFile()) return 'it is not a file'
    JSON.parse(readWholeText(path).replace(/^\uFEFF/, ''))
    return null
  } catch (error) {
    return messageOf(error)
  }
}

const stateFileChecks = ({ config }: CheckContext): Check[] => {
  const files = STATE_FILES.map(name => [name, join(config.stateDir, name)] as const)
  return files
    .filter(([, path]) => existsSync(path))
    .map(([name, path]) => {
      const problem = jsonProblem(path)
      return problem === null
        ? ok(name, 'OK')
        : fail(name, problem, `Fix ${path}, or restore it from a backup.`)
    })
}

const keyCheck = ({ config }: CheckContext): Check => {
  try {
    return readSigningKey(config.stateDir)
      ? ok('signing key', 'OK')
      : ok('signing key', 'created at the first start')
  } catch (error) {
    return fail(
      'signing key',
      messageOf(error),
      'Fix or restore it. The server does not start without it.',
    )
  }
}

const tlsCheck = ({ config }: CheckContext): Check[] => {
  try {
    const tls = readTls(config)
    if (!tls) return []
    const days = Math.floor((expiryOf(tls.cert) - Date.now()) / DAY_MS)
    if (days < 0)
      return [fail('certificate', `expired ${-days} days ago`, `Renew ${config.tlsCert}.`)]
    if (days < RENEW_DAYS)
      return [warn('certificate', `expires in ${days} days`, `Renew ${config.tlsCert}.`)]
    return [ok('certificate', `valid for ${days} days`)]
  } catch (error) {
    return [
      fail('certificate', messageOf(error), 'Fix AGENT_WEBUI_TLS_CERT and AGENT_WEBUI_TLS_KEY.'),
    ]
  }
}

const workspaceCheck = ({ config }: CheckContext): Check[] => {
  const wanted = config.defaultWorkspace
  if (wanted === null) return []
  return usableWorkspace(wanted, config.userHome)
    ? [ok('workspace', wanted)]
    : [
        fail(
          'workspace',
          `${wanted} does not exist or cannot be used`,
          'Create it, or fix AGENT_WEBUI_DEFAULT_WORKSPACE.',
        ),
      ]
}

const environmentChecks = ({ config }: CheckContext): Check[] =>
  config.warnings.map(said => warn('environment', said, 'Fix the variable.'))

const sessionCheck = ({ config }: CheckContext): Check[] => {
  const dir = join(config.stateDir, 'sessions')
  if (!existsSync(dir)) return []
  try {
    readdirSync(dir)
  } catch (error) {
    return [fail('sessions', messageOf(error), `Make ${dir} readable for this user.`)]
  }
  const { looked, bad, complete } = unreadableSessions(dir)
  const extent = complete ? '' : ' (newest only)'
  if (bad.length === 0) return [ok('sessions', `${looked} readable${extent}`)]
  const names = bad.slice(0, 3).join(', ')
  const more = bad.length > 3 ? ` and ${bad.length - 3} more` : ''
  return [
    warn(
      'sessions',
      `${bad.length} of ${looked} have unreadable lines: ${names}${more}`,
      'Their other lines are shown. If messages are missing, restore the files from a backup.',
    ),
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

const serviceCheck = async ({ config }: CheckContext): Promise<Check> => {
  const about = 'service'
  const address = announcedAddress(config)
  const status = address ? await fetchHealth(address, HEALTH_MS).catch(() => null) : null
  if (address && status === 200) return ok(about, `running at ${address}`)
  if (address && status !== null)
    return fail(about, `${address} responds with status ${status}`, 'Check its log.')
  try {
    await tryListen(config)
    const where = urlOf(config, config.port)
    return address
      ? warn(about, `${address} does not respond`, 'Start it: agent-webui')
      : ok(about, `not running; ${where} is free`)
  } catch (error) {
    return fail(
      'address',
      messageOf(error),
      'Choose another one with AGENT_WEBUI_HOST and AGENT_WEBUI_PORT.',
    )
  }
}

/** In the order of a start. */
export const startChecks = async (looked: CheckContext): Promise<Check[]> => [
  ...environmentChecks(looked),
  ...stateChecks(looked),
  ...stateFileChecks(looked),
  keyCheck(looked),
  ...tlsCheck(looked),
  ...workspaceCheck(looked),
  ...sessionCheck(looked),
  await serviceCheck(looked),
]
