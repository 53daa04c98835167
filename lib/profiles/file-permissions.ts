/** Takes away other people's right to read a home's secrets, where somebody left it. */
import { closeSync, constants, fchmodSync, fstatSync, openSync } from 'node:fs'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../errors.ts'

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

/** True when it was open to others and is not any more. Only ordinary files of our own user are touched. */
const tighten = (path: string, uid: number | undefined): boolean => {
  // A pipe in its place must not hold up the start.
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

/** Secrets of this directory that others may read; nothing is changed. */
export const findExposedSecrets = (dir: string): string[] =>
  SECRETS.map(name => join(dir, name)).filter(path => {
    const found = statSync(path, { throwIfNoEntry: false })
    return process.platform !== 'win32' && found?.isFile() && (found.mode & 0o077) !== 0
  })

const profilesOf = (baseHome: string): string[] => {
  const dir = join(baseHome, 'profiles')
  if (!existsSync(dir)) return []
  return readdirSync(dir, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(entry => join(dir, entry.name))
}

/** At every start; `log` hears a sentence for each file that was changed or could not be. */
export const restrictSecrets = (
  { baseHome, stateDir }: { baseHome: string; stateDir: string },
  log: (line: string) => void,
): void => {
  // Windows keeps no such bits.
  if (process.platform === 'win32') return
  const uid = process.getuid?.()
  const homes = [baseHome, ...profilesOf(baseHome)]
  const places = homes
    .filter(dir => !existsSync(join(dir, '.managed')))
    .flatMap(dir => SECRETS.map(name => join(dir, name)))
  for (const path of [...places, join(stateDir, '.signing_key')]) {
    try {
      if (tighten(path, uid)) log(`${path} could be read by others; now only by its owner`)
    } catch (error) {
      if (!isMissing(error)) log(`${path} could not be made private: ${messageOf(error)}`)
    }
  }
}
