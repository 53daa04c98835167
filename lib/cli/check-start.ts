/** What keeps the service from starting, or from keeping anything: the same checks that the start makes, without its effects. */
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

/** The path itself, or the nearest one above it that exists; a link to nowhere exists. */
const nearestExisting = (path: string): string =>
  exists(path) || dirname(path) === path ? path : nearestExisting(dirname(path))

const exists = (path: string): boolean => {
  try {
    lstatSync(path)
    return true
  } catch (error) {
    // Below a file, or without permission to look: what is wrong lies above.
    return (error as NodeJS.ErrnoException).code === 'ELOOP'
  }
}

const stateChecks = ({ config: { stateDir } }: CheckContext): Check[] => {
  const place = nearestExisting(stateDir)
  if (!isDirectory(place))
    return [
      fail('state', `${place} is not a directory`, 'Move it away, or set AGENT_WEBUI_STATE_DIR.'),
    ]
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
        `${stateDir} belongs to user ${uid}, and this is user ${own}`,
        'Run the service as the owner, or change the owner with chown -R.',
      ),
    )
  return [...checks, diskCheck(place)]
}

const diskCheck = (place: string): Check => {
  const { bavail, bsize } = statfsSync(place)
  const free = Math.floor((bavail * bsize) / MB)
  const said = `${free >= LOW_FREE_MB ? `${Math.floor(free / 1_024)} GB` : `${free} MB`} free`
  if (free < MIN_FREE_MB) return fail('disk', said, 'Free some space: nothing can be saved.')
  return free < LOW_FREE_MB ? warn('disk', said, 'Free some space soon.') : ok('disk', said)
}

/** Files of the service that are JSON; each is refused while it cannot be read, never replaced. */
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
        ? ok(name, 'can be read')
        : fail(name, problem, `Correct ${path}, or restore it from a backup.`)
    })
}

const keyCheck = ({ config }: CheckContext): Check => {
  try {
    return readSigningKey(config.stateDir)
      ? ok('signing key', 'is whole')
      : ok('signing key', 'is created at the first start')
  } catch (error) {
    return fail('signing key', messageOf(error), 'Without it nobody can sign in.')
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
    return [ok('certificate', `is valid for ${days} days`)]
  } catch (error) {
    return [
      fail(
        'certificate',
        messageOf(error),
        'Correct AGENT_WEBUI_TLS_CERT and AGENT_WEBUI_TLS_KEY.',
      ),
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
          'Create it, or correct AGENT_WEBUI_DEFAULT_WORKSPACE.',
        ),
      ]
}

const environmentChecks = ({ config }: CheckContext): Check[] =>
  config.warnings.map(said => warn('environment', said, 'Correct the variable.'))

const sessionCheck = ({ config }: CheckContext): Check[] => {
  const dir = join(config.stateDir, 'sessions')
  if (!existsSync(dir)) return []
  try {
    readdirSync(dir)
  } catch (error) {
    return [fail('sessions', messageOf(error), `Make ${dir} readable for this user.`)]
  }
  const { looked, bad, complete } = unreadableSessions(dir)
  const extent = complete ? '' : ' (the newest; there are more)'
  if (bad.length === 0) return [ok('sessions', `${looked} can be read${extent}`)]
  const names = bad.slice(0, 3).join(', ')
  const more = bad.length > 3 ? ` and ${bad.length - 3} more` : ''
  return [
    warn(
      'sessions',
      `${bad.length} of ${looked} have lines that cannot be read: ${names}${more}`,
      'The rest of them is shown. Restore the files from a backup if something is missing.',
    ),
  ]
}

const HEALTH_MS = 2_000

/** Where a running service said that it answers; null when there is no such note. */
export const announcedAddress = (config: Pick<Config, 'stateDir'>): string | null => {
  try {
    const note: unknown = JSON.parse(readWholeText(join(config.stateDir, 'instance.json')))
    const address = isObject(note) && 'address' in note ? note.address : null
    return typeof address === 'string' && URL.canParse(address) ? address : null
  } catch {
    // It has never run here, or was shut down in order.
    return null
  }
}

const serviceCheck = async ({ config }: CheckContext): Promise<Check> => {
  const about = 'service'
  const address = announcedAddress(config)
  const status = address ? await fetchHealth(address, HEALTH_MS).catch(() => null) : null
  if (address && status === 200) return ok(about, `answers at ${address}`)
  if (address && status !== null)
    return fail(about, `${address} answers with status ${status}`, 'Look into its log.')
  try {
    await tryListen(config)
    const where = urlOf(config, config.port)
    return address
      ? warn(about, `${address} does not answer`, 'Start it: agent-webui')
      : ok(about, `is not running; ${where} is free`)
  } catch (error) {
    return fail(
      'address',
      messageOf(error),
      'Choose another one: AGENT_WEBUI_HOST, AGENT_WEBUI_PORT.',
    )
  }
}

/** In the order in which a start would meet them. */
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
