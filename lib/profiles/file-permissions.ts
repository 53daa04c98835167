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
  '.signing_key',
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

const isExposed = (path: string): boolean => {
  try {
    const found = statSync(path)
    return process.platform !== 'win32' && found.isFile() && (found.mode & 0o077) !== 0
  } catch {
    // Missing, or not accessible for this user.
    return false
  }
}

/** Files with secrets that other users can read. Changes nothing. */
export const findExposedSecrets = (dir: string): string[] =>
  SECRETS.map(name => join(dir, name)).filter(isExposed)

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
  for (const path of [...paths, join(stateDir, '.signing_key')]) {
    try {
      if (tighten(path, uid)) log(`${path} could be read by others; now only by its owner`)
    } catch (error) {
      if (!isMissing(error)) log(`${path} could not be made private: ${fileReason(error)}`)
    }
  }
}
