/** Makes files with secrets readable by their owner only. */
import { closeSync, constants, fchmodSync, fstatSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileReason } from '../store/file-error.ts'
import { protectedPaths } from '../store/state-files.ts'
import { homesOf, secretFiles } from './secret-files.ts'

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^E(?:NOENT|NOTDIR|LOOP)$/.test(String(error.code))

/** Returns true if the mode was changed. Changes regular files of the current user only. */
const tighten = (path: string, uid: number | undefined): boolean => {
  // O_NONBLOCK: opening a FIFO would block the start.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile() || (uid !== undefined && stats.uid !== uid)) return false
    if ((stats.mode & 0o077) === 0) return false
    fchmodSync(fd, 0o600)
    return true
  } finally {
    closeSync(fd)
  }
}

/** What other users can do with a file or directory, and the mode that stops it; null where that is up to another program or user. */
export type Exposed = { path: string; mode: number | null; message: string }

/** Null: missing, or not accessible for this user. */
const statOrNull = (path: string) => {
  try {
    return process.platform === 'win32' ? null : statSync(path)
  } catch {
    return null
  }
}

const WRITABLE = 'can be changed by other users'
const READABLE = 'is readable by other users'

/** Others cannot change the mode, and a private file of another user could not be read here. */
const mayChangeMode = ({ uid }: { uid: number }): boolean =>
  [0, uid].includes(process.getuid?.() ?? uid)

const exposedFile = (path: string, isManaged: boolean): Exposed[] => {
  const stats = statOrNull(path)
  if (!stats?.isFile() || (stats.mode & 0o077) === 0) return []
  const isWritable = (stats.mode & 0o022) !== 0
  const isOurs = !isManaged && mayChangeMode(stats)
  return [{ path, mode: isOurs ? 0o600 : null, message: isWritable ? WRITABLE : READABLE }]
}

const exposedDirectory = (path: string): Exposed[] => {
  const stats = statOrNull(path)
  if (!stats?.isDirectory() || (stats.mode & 0o022) === 0) return []
  return [{ path, mode: mayChangeMode(stats) ? stats.mode & 0o755 : null, message: WRITABLE }]
}

/** What the service and the agent run, obey or sign in with. */
const HOME_DIRS = ['bin', 'cron', 'hooks', 'mcp-tokens', 'memories', 'plugins', 'scripts', 'skills']

/** In a place that others cannot enter, the modes of what is below do not matter. */
const ifEntered = (place: string, dirs: readonly string[]): readonly string[] =>
  ((statOrNull(place)?.mode ?? 0) & 0o011) === 0 ? [] : dirs

type Places = { baseHome: string; stateDir: string; configPath?: string | null }

/**
 * Files with secrets that other users can read, and places where others could write what the service runs: hooks and programs
 * of config.yaml. Changes nothing.
 */
export const findExposed = ({ baseHome, stateDir, configPath }: Places): Exposed[] => {
  const homes = homesOf(baseHome)
  const files = new Map(
    secretFiles(baseHome, stateDir).map(({ path, isManaged }) => [path, isManaged]),
  )
  if (configPath && !files.has(configPath)) files.set(configPath, false)
  const places = [
    ...homes,
    join(baseHome, 'profiles'),
    stateDir,
    ...homes.flatMap(home =>
      ifEntered(
        home,
        HOME_DIRS.map(name => join(home, name)),
      ),
    ),
    ...ifEntered(stateDir, protectedPaths(stateDir)),
  ]
  return [
    ...[...new Set(places)].flatMap(exposedDirectory),
    ...[...files].flatMap(([path, isManaged]) => exposedFile(path, isManaged)),
  ]
}

/** Runs at every start. Logs each file that was changed or could not be changed, and what only `doctor --fix` changes. */
export const restrictSecrets = (places: Places, log: (line: string) => void): void => {
  // Windows has no such mode bits.
  if (process.platform === 'win32') return
  const uid = process.getuid?.()
  for (const { path, start, isManaged } of secretFiles(places.baseHome, places.stateDir)) {
    if (start !== 'restrict' || isManaged) continue
    try {
      if (tighten(path, uid)) log(`${path} could be read by others; now only by its owner`)
    } catch (error) {
      if (!isMissing(error)) log(`${path} could not be made private: ${fileReason(error)}`)
    }
  }
  for (const { path, mode, message } of findExposed(places)) {
    const so = message === WRITABLE ? `${message}, who could run programs here` : message
    if (mode !== null) log(`${path} ${so}: agent-webui doctor --fix`)
  }
}
