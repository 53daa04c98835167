/**
 * What a start needs of the machine: state directory, disk, signing key, TLS, clock. Without side effects, so that
 * `start` and `doctor` use the same functions and say the same.
 */
import { lstatSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { passwordProblem } from '../people/passwords.ts'
import { isForeignRecord } from '../people/password-record.ts'
import { readClientSecret } from '../people/oidc.ts'
import { readSigningKey } from '../people/signing-key.ts'
import { isZone } from '../base/time-zone.ts'
import { type Check, type CheckCode, fail, ok, warn } from '../cli/check.ts'
import type { Config } from '../config.ts'
import { messageOf, SetupError } from '../errors.ts'
import { basePathProblem } from '../http/routes.ts'
import { expiryOf, readTls, StartError } from '../operations/preflight.ts'
import { isDirectory } from '../base/directories.ts'
import { errorCode, fileReason } from '../store/file-error.ts'
import { lockPath } from '../store/instance-lock.ts'
import { readTracingSettings } from '../operations/telemetry/tracing-settings.ts'
import { unfinishedRestore } from '../operations/backups/unfinished.ts'
import { formerStateChecks } from './former-state.ts'
import type { Machine } from './machine.ts'

const MB = 1024 * 1024
/** Less than the lock, a catalog, and one message need. */
const MIN_FREE_BYTES = MB
const LOW_FREE_BYTES = 1024 * MB
const DAY_MS = 86_400_000
const RENEW_DAYS = 14
/** Running turns, event streams, and child processes need a few hundred. */
const MIN_OPEN_FILES = 1_024
const OTHER_DIRECTORY = 'set AGENT_WEBUI_STATE_DIR to another directory'

/** Of `start` when it cannot go on, and of its warnings. */
export const toSentence = ({ said, advice = '' }: Check): string => `${said}. ${advice}`.trim()

/** Failed checks that a new start would fail again: only a person can change these. A disk may get space, a certificate may come. */
const PERMANENT: ReadonlySet<CheckCode | undefined> = new Set<CheckCode>([
  'state_not_directory',
  'state_not_writable',
  'state_not_file',
  'restore_unfinished',
  'signing_key_unreadable',
  'password_invalid',
  'base_path_taken',
  'traces_invalid',
])

/** Why a start ends here; null: it goes on. */
export const startFailure = (checks: readonly Check[]): Error | null => {
  const failed = checks.find(({ level }) => level === 'fail')
  if (!failed) return null
  return PERMANENT.has(failed.code) && !failed.mayPass
    ? new SetupError(toSentence(failed))
    : new Error(toSentence(failed))
}

const exists = (path: string): boolean => {
  try {
    lstatSync(path)
    return true
  } catch {
    // A parent is a file, not accessible, or a link to itself; the check reports that parent.
    return false
  }
}

/** The path itself, or its nearest existing parent. A dangling link counts as existing. */
const nearestExisting = (path: string): string =>
  exists(path) || dirname(path) === path ? path : nearestExisting(dirname(path))

const notDirectory = (place: string): Check => {
  const isLink = exists(place) && lstatSync(place).isSymbolicLink()
  const check = fail(
    'state_not_directory',
    'state',
    `The state directory cannot be used: ${place} is ${isLink ? 'a symlink to no directory' : 'not a directory'}`,
    `Move ${place} away, or ${OTHER_DIRECTORY}.`,
  )
  // What it leads to may be mounted a moment later.
  return isLink ? { ...check, mayPass: true } : check
}

const noAccess = (place: string, error: unknown, { uid }: Machine): Check => {
  const isDenied = ['EACCES', 'EPERM'].includes(errorCode(error))
  return fail(
    'state_not_writable',
    'state',
    `The state directory cannot be used: ${isDenied ? `user ${uid ?? ''} may not read and write ${place}`.replace('  ', ' ') : `${place}: ${fileReason(error)}`}`,
    isDenied
      ? `Run agent-webui as the owner of ${place}, give it to this user with chown, or ${OTHER_DIRECTORY}.`
      : `Make ${place} writable, or ${OTHER_DIRECTORY}.`,
  )
}

const ownerCheck = (stateDir: string, { uid, ownerOf }: Machine): Check[] => {
  const owner = ownerOf(stateDir)
  if (uid === undefined || uid === owner) return []
  const said = `The state directory ${stateDir} belongs to user ${owner}, and this is user ${uid}`
  return [
    warn('state_foreign', 'owner', said, `Run agent-webui as user ${owner}, or use chown -R.`),
  ]
}

const diskCheck = (place: string, { freeBytes }: Machine): Check => {
  const free = freeBytes(place)
  if (free === null)
    return fail(
      'state_not_writable',
      'state',
      `The state directory cannot be used: the file system of ${place} stores no files`,
      'Set AGENT_WEBUI_STATE_DIR to another directory.',
    )
  const size =
    free >= LOW_FREE_BYTES ? `${Math.floor(free / MB / 1_024)} GB` : `${Math.floor(free / MB)} MB`
  if (free < MIN_FREE_BYTES)
    return fail(
      'disk_full',
      'disk',
      `The disk of ${place} is full`,
      'Free up space. Nothing can be saved.',
    )
  if (free < LOW_FREE_BYTES)
    return warn(
      'disk_low',
      'disk',
      `Only ${size} are free on the disk of ${place}`,
      'Free up space soon.',
    )
  return ok('disk', `${size} free`)
}

/** What the server makes below the state directory when it is missing. */
const DIRECTORIES = [
  'cache',
  'file-trash',
  'incoming',
  'live',
  'request-keys',
  'sessions',
  'tool-output',
  'trash',
]

const entryCheck = (path: string, machine: Machine): Check[] => {
  if (!exists(path)) return []
  if (!isDirectory(path)) return [notDirectory(path)]
  const error = machine.accessError(path)
  return error === null ? [] : [noAccess(path, error, machine)]
}

const isFile = (path: string): boolean => {
  try {
    return statSync(path).isFile()
  } catch {
    // A link to itself or to nothing.
    return false
  }
}

/** What is replaced by a rename may be anything but a directory. */
const fileCheck = (path: string, isReplaced: boolean): Check[] => {
  const isFine = isReplaced ? !isDirectory(path) : !exists(path) || isFile(path)
  return isFine
    ? []
    : [
        fail(
          'state_not_file',
          'state',
          `${path} is not a regular file`,
          'Delete it and start again.',
        ),
      ]
}

/** Not opened: see `InstanceLock`. */
const lockCheck = (path: string, machine: Machine): Check[] => {
  const error = exists(path) ? machine.fileError(path) : null
  return error === null ? [] : [noAccess(path, error, machine)]
}

const restoreCheck = ({ stateDir, baseHome }: Config): Check[] => {
  const found = unfinishedRestore(stateDir, baseHome)
  return found ? [fail('restore_unfinished', 'restore', found.said, found.advice)] : []
}

/** `place`: the directory that is asked. A start creates one that is missing in its parent; a running service needs it. */
export const stateChecks = (
  stateDir: string,
  machine: Machine,
  place = nearestExisting(stateDir),
): Check[] => {
  if (!isDirectory(place)) return [notDirectory(place)]
  const error = machine.accessError(place)
  if (error !== null) return [noAccess(place, error, machine)]
  const isThere = place === stateDir
  const [bad] = [
    ...DIRECTORIES.flatMap(name => entryCheck(join(stateDir, name), machine)),
    ...fileCheck(lockPath(stateDir), false),
    ...fileCheck(join(stateDir, 'instance.json'), true),
    ...lockCheck(lockPath(stateDir), machine),
  ]
  if (bad) return [bad]
  return [
    ok('state', `${stateDir}${isThere ? '' : ' can be created'}`),
    ...(isThere ? ownerCheck(stateDir, machine) : []),
    diskCheck(place, machine),
  ]
}

const keyCheck = (stateDir: string): Check => {
  try {
    const key = readSigningKey(stateDir) ?? null
    if (isForeignRecord(stateDir, key))
      return warn(
        'signing_key_foreign',
        'signing key',
        `${join(stateDir, '.signing_key')} is not the key that the password was stored with, so the password is refused`,
        'Run agent-webui password to set a new one, or restore .signing_key from a backup.',
      )
    return ok('signing key', key ? 'OK' : 'created at the first start')
  } catch (error) {
    return fail(
      'signing_key_unreadable',
      'signing key',
      messageOf(error),
      'The server does not start without it.',
    )
  }
}

const expiryCheck = (path: string, days: number): Check => {
  const about = 'certificate'
  if (days < 0) {
    const ago = days === -1 ? '1 day' : `${-days} days`
    return warn(
      'certificate_expired',
      about,
      `The certificate ${path} expired ${ago} ago; browsers refuse it`,
      'Renew it.',
    )
  }
  return days < RENEW_DAYS
    ? warn(
        'certificate_expires',
        about,
        `The certificate ${path} expires in ${days} days`,
        'Renew it.',
      )
    : ok(about, `valid for ${days} days`)
}

const tlsCheck = (config: Config, { clock }: Machine): Check[] => {
  try {
    const tls = readTls(config)
    if (!tls) return []
    return [
      expiryCheck(config.tlsCert ?? '', Math.floor((expiryOf(tls.cert) - clock.now()) / DAY_MS)),
    ]
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return [fail('certificate_unusable', 'certificate', error.said, error.advice)]
  }
}

const passwordCheck = ({ password }: Config): Check[] => {
  const problem = password === null ? null : passwordProblem(password)
  if (problem === null) return []
  return [
    fail(
      'password_invalid',
      'password',
      `AGENT_WEBUI_PASSWORD cannot be used. ${problem.replace(/\.$/, '')}`,
      'Change it.',
    ),
  ]
}

/** A file with it may be mounted a moment later. */
const clientSecretCheck = ({ oidc }: Config): Check[] => {
  try {
    if (oidc) readClientSecret(oidc)
    return []
  } catch (error) {
    const advice = 'Put the secret into it, or fix the variable.'
    return [fail('oidc_secret_unreadable', 'single sign-on', messageOf(error), advice)]
  }
}

const trustCheck = ({ authHeader, trustedProxies }: Config): Check[] => {
  const all = trustedProxies.find(block => block.endsWith('/0'))
  if (authHeader === null || all === undefined) return []
  const said = `AGENT_WEBUI_TRUSTED_PROXIES has ${all}, so everyone who reaches this service can name any user in ${authHeader}`
  return [warn('proxies_untrusted', 'proxy sign-in', said, 'Name the addresses of the proxy only.')]
}

const basePathCheck = ({ basePath }: Config, ownNames: ReadonlySet<string>): Check[] => {
  const problem = basePathProblem(basePath, ownNames)
  return problem === null
    ? []
    : [fail('base_path_taken', 'base path', problem, 'Choose another, such as /agent.')]
}

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const timeOf = (ms: number): string =>
  `${new Date(ms).toISOString().slice(0, 16)}Z`.replace('T', ' ')

export const CLOCK = 'clock'
export const CLOCK_ADVICE =
  'Set the clock. Certificates of providers, sign-ins, and one-time codes are refused until then.'
/** Network file systems have clocks of their own. */
const MAX_AHEAD_MS = 3_600_000

/** The file of the state directory that was changed last. */
const newestFile = (stateDir: string): { path: string; at: number } | undefined => {
  const files = readdirSync(stateDir).flatMap(name => {
    const path = join(stateDir, name)
    const at = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs
    return at === undefined ? [] : [{ path, at }]
  })
  return files.toSorted((a, b) => b.at - a.at)[0]
}

/** Without a directory, only the program itself says what the time may be. */
const clockCheck = (stateDir: string | null, { clock, programAt }: Machine): Check[] => {
  const built = programAt()
  // A day for time zones: some archives store local times.
  if (clock.now() <= built - DAY_MS) {
    const said = `The clock says ${dateOf(clock.now())}, which is before the program was installed (${dateOf(built)})`
    return [warn('clock_behind', CLOCK, said, CLOCK_ADVICE)]
  }
  const newest = stateDir === null ? undefined : newestFile(stateDir)
  if (!newest || newest.at <= clock.now() + MAX_AHEAD_MS) return []
  const said = `The clock says ${timeOf(clock.now())}, but ${newest.path} was changed later (${timeOf(newest.at)})`
  return [
    warn(
      'clock_behind',
      CLOCK,
      said,
      `${CLOCK_ADVICE} If it is right now, it was ahead then: touch the file.`,
    ),
  ]
}

/** A name that Node does not know means UTC to it, without a word. */
const zoneCheck = ({ env: { TZ = '' } }: Config): Check[] => {
  const name = TZ.replace(/^:/, '')
  if (name === '' || isZone(name)) return []
  const said = `TZ is ${TZ}, which is no time zone: tasks run at UTC`
  const advice = 'Set TZ to a name such as Europe/Berlin, or remove it.'
  return [warn('time_zone_unknown', 'time zone', said, advice)]
}

const openFilesCheck = ({ openFileLimit }: Machine): Check[] => {
  const limit = openFileLimit()
  if (limit === null || limit >= MIN_OPEN_FILES) return []
  const said = `The process may open only ${limit} files at the same time`
  return [
    warn(
      'open_files_low',
      'open files',
      said,
      `Raise the limit: ulimit -n 65536, or LimitNOFILE of the unit.`,
    ),
  ]
}

const tracingCheck = ({ env }: Config): Check[] => {
  try {
    const settings = readTracingSettings(env)
    return settings === null ? [] : [ok('traces', `sent to ${settings.url}`)]
  } catch (error) {
    return [
      fail(
        'traces_invalid',
        'traces',
        messageOf(error),
        'Fix the variable, or remove it to send no traces.',
      ),
    ]
  }
}

/**
 * In the order of a start. A failed check prevents it; the state directory comes first, because others read it.
 * `ownNames`: see `firstSegments`.
 */
export const startChecks = (
  config: Config,
  machine: Machine,
  ownNames: ReadonlySet<string>,
): Check[] => {
  const state = stateChecks(config.stateDir, machine)
  const isUsable = state.every(({ level }) => level !== 'fail')
  return [
    ...state,
    ...(isUsable ? [...restoreCheck(config), keyCheck(config.stateDir)] : []),
    ...passwordCheck(config),
    ...tlsCheck(config, machine),
    ...clientSecretCheck(config),
    ...trustCheck(config),
    ...basePathCheck(config, ownNames),
    ...tracingCheck(config),
    ...clockCheck(isUsable && isDirectory(config.stateDir) ? config.stateDir : null, machine),
    ...zoneCheck(config),
    ...openFilesCheck(machine),
    ...formerStateChecks(config),
  ]
}
