/** Lists the files of a workspace within limits, and what was skipped. */
import { accessSync, constants, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'

export type ScanLimits = {
  files: number
  totalBytes: number
  fileBytes: number
  folders: number
  /** After a slower scan, commands of the turn are no longer recorded one by one: the next command waits for the scan. */
  stepMs: number
}

export const DEFAULT_LIMITS: ScanLimits = {
  files: 20_000,
  totalBytes: 500 * 1024 * 1024,
  fileBytes: 10 * 1024 * 1024,
  folders: 20_000,
  stepMs: 1_000,
}

/** Dependencies and caches that programs create again; `.git` is the user's own history. */
const IGNORED_FOLDERS = new Set(
  '.git node_modules bower_components .venv venv __pycache__ .tox .mypy_cache .pytest_cache .ruff_cache .gradle .terraform .next .nuxt .turbo .parcel-cache'.split(
    ' ',
  ),
)
/** Also skipped when the workspace exceeds the limits with them. */
const BUILD_FOLDERS = new Set(
  'target dist build out vendor coverage .cache .output Pods'.split(' '),
)

export type Scan = {
  /** Files and symlinks. The stamp differs when the file does. */
  files: Map<string, { stamp: string; changedAt: number }>
  folders: Set<string>
  /** Files too large to store: path → size and time, so that a change is at least noticed. */
  large: Map<string, string>
  /** Not readable, or with a name that is not valid UTF-8. */
  unreadable: string[]
  /** Build folders were skipped. */
  withoutBuildFolders: boolean
}

export class WorkspaceTooLargeError extends Error {}

const isIgnoredFolder = (name: string, withoutBuildFolders: boolean): boolean =>
  IGNORED_FOLDERS.has(name.toLowerCase()) || (withoutBuildFolders && BUILD_FOLDERS.has(name))

/** True when a scan skips a file with this path. */
export const isIgnored = (path: string, withoutBuildFolders = false): boolean => {
  const folders = path.split('/')
  const name = folders.pop() ?? ''
  return (
    name.toLowerCase() === '.git' ||
    folders.some(folder => isIgnoredFolder(folder, withoutBuildFolders))
  )
}

type ScanBounds = { root: string; isHidden: (real: string) => boolean; limits: ScanLimits }

const SLICE_MS = 10

/** Returns a function that lets the event loop serve requests, called between short pieces of work. */
export const slices = () => {
  let until = performance.now() + SLICE_MS
  return async (): Promise<void> => {
    if (performance.now() <= until) return
    await setImmediate()
    until = performance.now() + SLICE_MS
  }
}

const scanFiles = async (bounds: ScanBounds, withoutBuildFolders: boolean): Promise<Scan> => {
  const { root, isHidden, limits } = bounds
  const scan: Scan = {
    files: new Map(),
    folders: new Set(),
    large: new Map(),
    unreadable: [],
    withoutBuildFolders: withoutBuildFolders,
  }
  let total = 0
  const pause = slices()
  const queue = ['']
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    await pause()
    let entries: ReturnType<typeof list>
    try {
      entries = list(join(root, folder))
    } catch {
      // Deleted since it was listed, or not readable.
      scan.unreadable.push(folder || '.')
      continue
    }
    for (const entry of entries) {
      const { name } = entry
      if (entry.isDirectory() ? isIgnoredFolder(name, withoutBuildFolders) : isIgnored(name))
        continue
      const path = folder === '' ? name : `${folder}/${name}`
      const full = join(root, path)
      if (isHidden(full)) continue
      if (entry.isDirectory()) {
        scan.folders.add(path)
        if (scan.folders.size > limits.folders)
          throw new WorkspaceTooLargeError(`more than ${limits.folders} folders`)
        queue.push(path)
        continue
      }
      // Pipes, sockets and devices have no content to store.
      if (!entry.isFile() && !entry.isSymbolicLink()) continue
      const stat = lstatSync(full, { throwIfNoEntry: false })
      if (!stat) {
        if (name.includes('\ufffd')) scan.unreadable.push(path)
        continue
      }
      if (stat.isFile() && stat.size > limits.fileBytes) {
        scan.large.set(path, `${stat.size} ${stat.mtimeMs}`)
        continue
      }
      if (stat.isFile() && (stat.mode & 0o444) !== 0o444 && !isReadable(full)) {
        scan.unreadable.push(path)
        continue
      }
      total += stat.size
      // No program can choose the change time.
      const stamp = `${stat.ino} ${stat.size} ${stat.mode} ${stat.mtimeMs} ${stat.ctimeMs}`
      scan.files.set(path, { stamp, changedAt: stat.ctimeMs })
      if (scan.files.size > limits.files)
        throw new WorkspaceTooLargeError(`more than ${limits.files} files`)
      if (total > limits.totalBytes)
        throw new WorkspaceTooLargeError(
          `more than ${Math.round(limits.totalBytes / 1024 / 1024)} MB`,
        )
    }
  }
  return scan
}

const list = (path: string) => readdirSync(path, { withFileTypes: true })

const isReadable = (path: string): boolean => {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    // EACCES: not readable.
    return false
  }
}

/** Skips build folders when the workspace is too large with them. Throws WorkspaceTooLargeError when it still is. */
export const scanWorkspace = async (bounds: ScanBounds): Promise<Scan> => {
  try {
    return await scanFiles(bounds, false)
  } catch (error) {
    if (!(error instanceof WorkspaceTooLargeError)) throw error
  }
  return scanFiles(bounds, true)
}
