/** Makes files with secrets readable by their owner only. */
import { closeSync, constants, fchmodSync, fstatSync, openSync } from 'node:fs'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileReason } from '../store/file-error.ts'

const SECRETS = [
  '.env',
  'auth.json',
  '.anthropic_oauth.json',
  'google_token.json',
  'google_client_secret.json',
]

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^E(?:NOENT|NOTDIR|LOOP)$/.test(String(error.code))

/** Returns true if the mode was changed. Changes regular files of the current user only. */
const tighten = (path: string, uid: number | undefined): boolean => {
  // O_NONBLOCK: opening a FIFO would block the start.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = fstatSync(fd)
    if (!found.isFile() || (uid !== undefined && found.uid !== uid)) return false
    if ((found.mode & 0o077) === 0) return false
    fchmodSync(fd, 0o600)
    return true
  } finally {
    closeSync(fd)
  }
}

/** What other users can do with a file or directory, and the mode that stops it. */
export type Exposed = { path: string; mode: number; said: string }

/** Null: missing, or not accessible for this user. */
const statOrNull = (path: string) => {
  try {
    return process.platform === 'win32' ? null : statSync(path)
  } catch {
    return null
  }
}

const WRITABLE = 'can be changed by other users'

const exposedFile = (path: string): Exposed[] => {
  const found = statOrNull(path)
  if (!found?.isFile() || (found.mode & 0o077) === 0) return []
  const isWritable = (found.mode & 0o022) !== 0
  return [{ path, mode: 0o600, said: isWritable ? WRITABLE : 'is readable by other users' }]
}

const exposedDirectory = (path: string): Exposed[] => {
  const found = statOrNull(path)
  if (!found?.isDirectory() || (found.mode & 0o022) === 0) return []
  return [{ path, mode: found.mode & 0o755, said: WRITABLE }]
}

/** Not locks and databases: closing one of those that is open elsewhere in this process would end its POSIX locks. */
const PRIVATE_STATE = /^(?:\.signing_key|\.password|(?!instance\.).*\.jsonl?)$/

const privateFilesIn = (dir: string): string[] => {
  try {
    return readdirSync(dir, { withFileTypes: true })
      .filter(entry => entry.isFile() && PRIVATE_STATE.test(entry.name))
      .map(entry => join(dir, entry.name))
  } catch {
    // No state directory yet.
    return []
  }
}

type Places = { baseHome: string; stateDir: string; configPath?: string | null }

/**
 * Files with secrets that other users can read, and places where others could write what the service runs: hooks and programs
 * of config.yaml. Changes nothing.
 */
export const findExposed = ({ baseHome, stateDir, configPath }: Places): Exposed[] => {
  const homes = [baseHome, ...profilesOf(baseHome)]
  const files = homes.flatMap(dir => [...SECRETS, 'config.yaml'].map(name => join(dir, name)))
  const all = new Set([...files, ...(configPath ? [configPath] : []), ...privateFilesIn(stateDir)])
  return [
    ...[...new Set([...homes, stateDir])].flatMap(exposedDirectory),
    ...[...all].flatMap(exposedFile),
  ]
}

const profilesOf = (baseHome: string): string[] => {
  const dir = join(baseHome, 'profiles')
  if (!existsSync(dir)) return []
  return readdirSync(dir, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(entry => join(dir, entry.name))
}

/** Runs at every start. Logs each file that was changed or could not be changed. */
export const restrictSecrets = (
  { baseHome, stateDir }: { baseHome: string; stateDir: string },
  log: (line: string) => void,
): void => {
  // Windows has no such mode bits.
  if (process.platform === 'win32') return
  const uid = process.getuid?.()
  const homes = [baseHome, ...profilesOf(baseHome)]
  const paths = homes
    .filter(dir => !existsSync(join(dir, '.managed')))
    .flatMap(dir => SECRETS.map(name => join(dir, name)))
  for (const path of [...paths, ...privateFilesIn(stateDir)]) {
    try {
      if (tighten(path, uid)) log(`${path} could be read by others; now only by its owner`)
    } catch (error) {
      if (!isMissing(error)) log(`${path} could not be made private: ${fileReason(error)}`)
    }
  }
  // What hooks and commands are read from; a person may have shared it on purpose, so only `doctor --fix` changes it.
  for (const { path, said } of findExposed({ baseHome, stateDir }))
    if (said === WRITABLE)
      log(`${path} ${said}, who could run programs here: agent-webui doctor --fix`)
}
