/** Checks whether the agent may work in a directory. */
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { invalid } from '../errors.ts'
import { isInside, realPath } from '../store/path-within.ts'
import { isProtectedPath } from '../store/state-files.ts'

const SYSTEM = [
  '/etc',
  '/usr',
  '/var',
  '/bin',
  '/sbin',
  '/boot',
  '/proc',
  '/sys',
  '/dev',
  '/lib',
  '/lib64',
  '/opt/homebrew',
  '/private/etc',
]

/** Expands `~` and `~/…`; a relative path is relative to the user's home. */
export const expandPath = (path: string, userHome: string): string => {
  const text = path.trim()
  if (text === '~') return userHome
  return resolve(userHome, text.startsWith('~/') ? text.slice(2) : text)
}

/** The resolved path of a directory; undefined when it is none. */
export const realDirectory = (path: string): string | undefined => {
  try {
    const real = realpathSync(path)
    return statSync(real).isDirectory() ? real : undefined
  } catch {
    // Missing, unreachable or a name with NUL in it: no directory either way.
    return undefined
  }
}

/**
 * At or under a directory of the operating system. A home or default workspace that is itself in one, as of a service
 * account in /var/lib, stays usable with what is below it.
 */
export const isSystemPath = (path: string, trusted: readonly string[]): boolean =>
  SYSTEM.some(
    system =>
      isInside(system, path) &&
      !trusted.some(root => root !== system && isInside(system, root) && isInside(root, path)),
  )

/** The real path of a directory the agent can read, write and enter; undefined otherwise. */
export const usableWorkspace = (path: string, userHome: string): string | undefined => {
  const real = realDirectory(expandPath(path, userHome))
  if (real === undefined || isSystemPath(real, [userHome])) return undefined
  try {
    accessSync(real, constants.R_OK | constants.W_OK | constants.X_OK)
    return real
  } catch {
    // Not accessible for us.
    return undefined
  }
}

export type Trust = {
  userHome: string
  /** The workspace of sessions without one. */
  defaultWorkspace: string
  /** The service's state directory. */
  stateDir: string
  /** The profile's own list. */
  saved: readonly string[]
}

const exists = (path: string): boolean => {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    // Not reachable for us is not there for us.
    return false
  }
}

/** An existing directory outside the system ones; its real path. What adding to the list asks for. */
export const checkDirectory = (
  path: string,
  { userHome, defaultWorkspace, stateDir }: Omit<Trust, 'saved'>,
): string => {
  if (path.includes('\0')) throw invalid('Path does not exist', { code: 'workspace_missing' })
  const full = expandPath(path, userHome)
  if (!exists(full))
    throw invalid(`Path does not exist: ${path.slice(0, 200)}`, { code: 'workspace_missing' })
  const real = realDirectory(full)
  if (real === undefined)
    throw invalid(`Path is not a directory: ${path}`, { code: 'not_a_folder' })
  if (isSystemPath(real, [userHome, defaultWorkspace]))
    throw invalid(`Path points to a system directory: ${path}`, { code: 'workspace_system' })
  if (isProtectedPath(realPath(stateDir), real))
    throw invalid(`The service keeps its own files there; choose another folder: ${path}`, {
      code: 'own_files',
    })
  return real
}

/** The real path to work in. Blank means the default workspace, which needs no check. */
export const checkWorkspace = (path: string, trust: Trust): string => {
  if (!path.trim()) return trust.defaultWorkspace
  const real = checkDirectory(path, trust)
  const isTrusted =
    isInside(trust.userHome, real) ||
    isInside(trust.defaultWorkspace, real) ||
    trust.saved.some(saved => realDirectory(saved) === real)
  if (!isTrusted)
    throw invalid(
      `Path is outside the user home directory, not in the saved workspace list, and not under the default workspace: ${path}. Add it via Settings → Workspaces first.`,
      { code: 'workspace_outside' },
    )
  return real
}
