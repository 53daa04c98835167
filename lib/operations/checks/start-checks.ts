/**
 * What a start needs of the machine: state directory, disk, signing key, TLS, clock. Without side effects, so that
 * `start` and `doctor` ask the same questions and say the same.
 */
import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDirectory } from '../../base/directories.ts'
import { isZone } from '../../base/time-zone.ts'
import type { Config } from '../../config.ts'
import { messageOf, SetupError } from '../../errors.ts'
import { basePathProblem } from '../../http/routes.ts'
import { readClientSecret } from '../../people/oidc.ts'
import { isForeignRecord } from '../../people/password-record.ts'
import { passwordProblem } from '../../people/passwords.ts'
import { readSigningKey } from '../../people/signing-key.ts'
import { errorCode, fileReason, sentenceOf } from '../../store/file-error.ts'
import { lockPath } from '../../store/instance-lock.ts'
import { makeDir } from '../../store/make-dir.ts'
import { unfinishedRestore } from '../backups/unfinished.ts'
import { expiryOf, readTls, StartError } from '../preflight.ts'
import { readTracingSettings } from '../telemetry/tracing-settings.ts'
import {
  type Check,
  type CheckCode,
  finding,
  hasFailed,
  ok,
  type Question,
  type StartContext,
} from './check.ts'
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
/** Network file systems have clocks of their own. */
const MAX_AHEAD_MS = 3_600_000
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
  const problem = checks.find(({ level }) => level === 'fail')
  if (!problem) return null
  return PERMANENT.has(problem.code) && !problem.mayPass
    ? new SetupError(toSentence(problem))
    : new Error(toSentence(problem))
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

const unusable = (code: CheckCode, why: string, more: Parameters<typeof finding>[3]): Check =>
  finding(code, 'state', `The state directory cannot be used: ${why}`, more)

const notDirectory = (place: string): Check => {
  const isLink = exists(place) && lstatSync(place).isSymbolicLink()
  return unusable(
    'state_not_directory',
    `${place} is ${isLink ? 'a symlink to no directory' : 'not a directory'}`,
    // What a link leads to may be mounted a moment later.
    { advice: `Move ${place} away, or ${OTHER_DIRECTORY}.`, ...(isLink && { mayPass: true }) },
  )
}

const noAccess = (place: string, error: unknown, { uid }: Machine): Check =>
  ['EACCES', 'EPERM'].includes(errorCode(error))
    ? unusable('state_not_writable', `user ${uid ?? ''} may not read and write ${place}`, {
        advice: `Run agent-webui as the owner of ${place}, give it to this user with chown, or ${OTHER_DIRECTORY}.`,
      })
    : unusable('state_not_writable', `${place}: ${fileReason(error)}`, {
        advice: `Make ${place} writable, or ${OTHER_DIRECTORY}.`,
      })

const ownerCheck = (stateDir: string, { uid, ownerOf }: Machine): Check[] => {
  const owner = ownerOf(stateDir)
  if (uid === undefined || uid === owner) return []
  const message = `The state directory ${stateDir} belongs to user ${owner}, and this is user ${uid}`
  const advice = `Run agent-webui as user ${owner}, or use chown -R.`
  return [finding('state_foreign', 'owner', message, { advice })]
}

const diskCheck = (place: string, { freeBytes }: Machine): Check => {
  const free = freeBytes(place)
  if (free === null)
    return unusable('state_not_writable', `the file system of ${place} stores no files`, {})
  if (free < MIN_FREE_BYTES) return finding('disk_full', 'disk', `The disk of ${place} is full`)
  if (free >= LOW_FREE_BYTES) return ok('disk', `${Math.floor(free / MB / 1_024)} GB free`)
  const message = `Only ${Math.floor(free / MB)} MB are free on the disk of ${place}`
  return finding('disk_low', 'disk', message)
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

/** What is replaced by a rename may be anything but a directory. */
const fileCheck = (path: string, isReplaced: boolean): Check[] => {
  const isFile = existsSync(path) && statSync(path).isFile()
  const isFine = isReplaced ? !isDirectory(path) : !exists(path) || isFile
  return isFine ? [] : [finding('state_not_file', 'state', `${path} is not a regular file`)]
}

/** Not opened: see `InstanceLock`. */
const lockCheck = (path: string, machine: Machine): Check[] => {
  const error = exists(path) ? machine.fileError(path) : null
  return error === null ? [] : [noAccess(path, error, machine)]
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
  const fix = { does: `create ${stateDir}`, apply: () => makeDir(stateDir) }
  return [
    isThere ? ok('state', stateDir) : { ...ok('state', `${stateDir} can be created`), fix },
    ...(isThere ? ownerCheck(stateDir, machine) : []),
    diskCheck(place, machine),
  ]
}

const restoreCheck = ({ stateDir, baseHome }: Config): Check[] => {
  const problem = unfinishedRestore(stateDir, baseHome)
  return problem
    ? [finding('restore_unfinished', 'restore', problem.message, { advice: problem.advice })]
    : []
}

const keyCheck = ({ stateDir }: Config): Check[] => {
  const about = 'signing key'
  try {
    const key = readSigningKey(stateDir) ?? null
    if (!isForeignRecord(stateDir, key))
      return [ok(about, key ? 'OK' : 'created at the first start')]
    const message = `${join(stateDir, '.signing_key')} is not the key that the password was stored with, so the password is refused`
    return [finding('signing_key_foreign', about, message)]
  } catch (error) {
    return [finding('signing_key_unreadable', about, messageOf(error))]
  }
}

const tlsCheck = (config: Config, { clock }: Machine): Check[] => {
  const about = 'certificate'
  try {
    const tls = readTls(config)
    if (!tls) return []
    const days = Math.floor((expiryOf(tls.cert) - clock.now()) / DAY_MS)
    const what = `The certificate ${config.tlsCert}`
    if (days >= RENEW_DAYS) return [ok(about, `valid for ${days} days`)]
    if (days >= 0) return [finding('certificate_expires', about, `${what} expires in ${days} days`)]
    const ago = days === -1 ? '1 day' : `${-days} days`
    return [finding('certificate_expired', about, `${what} expired ${ago} ago; browsers refuse it`)]
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return [finding('certificate_unusable', about, error.problem, { advice: error.advice })]
  }
}

const passwordCheck = ({ password }: Config): Check[] => {
  const problem = password === null ? null : passwordProblem(password)
  if (problem === null) return []
  const message = `AGENT_WEBUI_PASSWORD cannot be used. ${problem.replace(/\.$/, '')}`
  return [finding('password_invalid', 'password', message)]
}

/** A file with it may be mounted a moment later. */
const clientSecretCheck = ({ oidc }: Config): Check[] => {
  try {
    if (oidc) readClientSecret(oidc)
    return []
  } catch (error) {
    return [finding('oidc_secret_unreadable', 'single sign-on', messageOf(error))]
  }
}

const trustCheck = ({ authHeader, trustedProxies, cluster }: Config): Check[] => {
  const all = trustedProxies.find(block => block.endsWith('/0'))
  // To a cell of a worker forwarders prove that they are, whatever their address is.
  if (authHeader === null || all === undefined || cluster?.runBy != null) return []
  const message = `AGENT_WEBUI_TRUSTED_PROXIES has ${all}, so everyone who reaches this service can name any user in ${authHeader}`
  return [finding('proxies_untrusted', 'proxy sign-in', message)]
}

const basePathCheck = ({ basePath }: Config, ownNames: ReadonlySet<string>): Check[] => {
  const problem = basePathProblem(basePath, ownNames)
  return problem === null ? [] : [finding('base_path_taken', 'base path', problem)]
}

const tracingCheck = ({ env }: Config): Check[] => {
  try {
    const settings = readTracingSettings(env)
    return settings === null ? [] : [ok('traces', `sent to ${settings.url}`)]
  } catch (error) {
    return [finding('traces_invalid', 'traces', messageOf(error))]
  }
}

const minuteOf = (ms: number): string =>
  `${new Date(ms).toISOString().slice(0, 16)}Z`.replace('T', ' ')

/** The file of the state directory that was changed last. */
const newestFile = (stateDir: string): { path: string; at: number } | undefined => {
  const files = readdirSync(stateDir).flatMap(name => {
    const path = join(stateDir, name)
    const at = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs
    return at === undefined ? [] : [{ path, at }]
  })
  return files.toSorted((a, b) => b.at - a.at)[0]
}

const clockCheck = ({ stateDir }: Config, machine: Machine): Check[] => {
  const now = machine.clock.now()
  const built = machine.programAt()
  // A day for time zones: some archives store local times.
  if (now <= built - DAY_MS) {
    const [current, installed] = [now, built].map(ms => new Date(ms).toISOString().slice(0, 10))
    const why = `which is before the program was installed (${installed})`
    return [finding('clock_behind', 'clock', `The clock says ${current}, ${why}`)]
  }
  const isReadable = isDirectory(stateDir) && machine.accessError(stateDir) === null
  const newest = isReadable ? newestFile(stateDir) : undefined
  if (!newest || newest.at <= now + MAX_AHEAD_MS) return []
  const message = `The clock says ${minuteOf(now)}, but ${newest.path} was changed later (${minuteOf(newest.at)})`
  return [finding('clock_behind', 'clock', message)]
}

/** A name that Node does not know means UTC to it, without a word. */
const zoneCheck = ({ env: { TZ = '' } }: Config): Check[] => {
  const name = TZ.replace(/^:/, '')
  if (name === '' || isZone(name)) return []
  const message = `TZ is ${TZ}, which is no time zone: tasks run at UTC`
  return [finding('time_zone_unknown', 'time zone', message)]
}

const openFilesCheck = ({ openFileLimit }: Machine): Check[] => {
  const limit = openFileLimit()
  if (limit === null || limit >= MIN_OPEN_FILES) return []
  const message = `The process may open only ${limit} files at the same time`
  return [finding('open_files_low', 'open files', message)]
}

/** In the order of a start. A failed check prevents it; the state directory comes first, because others read it. */
export const START_QUESTIONS: readonly Question<StartContext>[] = [
  {
    name: 'state',
    asks: 'Can the state directory be used?',
    answer: ({ config, machine }) => stateChecks(config.stateDir, machine),
  },
  {
    name: 'restore',
    asks: 'Was a restore interrupted?',
    needs: 'state',
    answer: ({ config }) => restoreCheck(config),
  },
  {
    name: 'signing key',
    asks: 'Is the key of sign-ins there, and the right one?',
    needs: 'state',
    answer: ({ config }) => keyCheck(config),
  },
  {
    name: 'password',
    asks: 'Can the password of the environment be used?',
    answer: ({ config }) => passwordCheck(config),
  },
  {
    name: 'certificate',
    asks: 'Can the certificate be used, and for how long?',
    answer: ({ config, machine }) => tlsCheck(config, machine),
  },
  {
    name: 'client secret',
    asks: 'Can the secret of single sign-on be read?',
    answer: ({ config }) => clientSecretCheck(config),
  },
  {
    name: 'trusted proxies',
    asks: 'Can only the proxy say who someone is?',
    answer: ({ config }) => trustCheck(config),
  },
  {
    name: 'base path',
    asks: 'Is the base path free?',
    answer: ({ config, ownNames }) => basePathCheck(config, ownNames),
  },
  {
    name: 'traces',
    asks: 'Can traces be sent?',
    answer: ({ config }) => tracingCheck(config),
  },
  {
    name: 'clock',
    asks: 'Is the clock right?',
    answer: ({ config, machine }) => clockCheck(config, machine),
  },
  {
    name: 'time zone',
    asks: 'Is the time zone known?',
    answer: ({ config }) => zoneCheck(config),
  },
  {
    name: 'open files',
    asks: 'May enough files be open?',
    answer: ({ machine }) => openFilesCheck(machine),
  },
  {
    name: 'Hermes WebUI',
    asks: 'Are there sessions of Hermes WebUI?',
    answer: ({ config }) => formerStateChecks(config),
  },
]

/** Asks in order. What one answer may not look at is a finding, and takes no other answer away. */
export const answersOf = async <Context>(
  questions: readonly Question<Context>[],
  context: Context,
): Promise<Check[]> => {
  const cache = new Map<string, Check[]>()
  const answer = async ({ name, asks, answer: look }: Question<Context>): Promise<Check[]> => {
    const checks =
      cache.get(name) ??
      (await Promise.resolve()
        .then(() => look(context))
        .catch((error: unknown) => {
          if (errorCode(error) === '') throw error
          const advice = 'Make it usable for this user.'
          return [finding('file_unreadable', name, `${asks} ${sentenceOf(error)}`, { advice })]
        }))
    cache.set(name, checks)
    return checks
  }
  const checks: Check[] = []
  for (const question of questions) {
    const needed = questions.find(({ name }) => name === question.needs)
    if (!needed || !hasFailed(await answer(needed))) checks.push(...(await answer(question)))
  }
  return checks
}
