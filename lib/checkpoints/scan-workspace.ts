/** Looks through a workspace within bounds: which files there are, and what is passed over. */
import { accessSync, constants, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'

export type ScanLimits = { files: number; totalBytes: number; fileBytes: number; folders: number }

export const DEFAULT_LIMITS: ScanLimits = {
  files: 20_000,
  totalBytes: 500 * 1024 * 1024,
  fileBytes: 10 * 1024 * 1024,
  folders: 20_000,
}

/** What programs fetch or make again by themselves; `.git` is the person's own history. */
const IGNORED_FOLDERS = new Set(
  '.git node_modules bower_components .venv venv __pycache__ .tox .mypy_cache .pytest_cache .ruff_cache .gradle .terraform .next .nuxt .turbo .parcel-cache'.split(
    ' ',
  ),
)
/** Passed over as well where the folder is too large with them. */
const BUILD_FOLDERS = new Set(
  'target dist build out vendor coverage .cache .output Pods'.split(' '),
)

export type Scan = {
  /** Path → permission bits; files and symlinks alone. */
  files: Map<string, number>
  folders: Set<string>
  /** Too large to be kept: path → size and time, so that a change is noticed at least. */
  large: Map<string, string>
  /** Without permission to read, or with a name that is no text. */
  unreadable: string[]
  /** Folders of products were passed over. */
  withoutBuildFolders: boolean
}

export class WorkspaceTooLargeError extends Error {}

const isIgnoredFolder = (name: string, withoutBuildFolders: boolean): boolean =>
  IGNORED_FOLDERS.has(name.toLowerCase()) || (withoutBuildFolders && BUILD_FOLDERS.has(name))

/** A file at this place is not seen by a scan. */
export const isIgnored = (path: string, withoutBuildFolders = false): boolean => {
  const folders = path.split('/')
  const name = folders.pop() ?? ''
  return (
    name.toLowerCase() === '.git' ||
    folders.some(folder => isIgnoredFolder(folder, withoutBuildFolders))
  )
}

export type ScanBounds = {
  root: string
  isHidden: (real: string) => boolean
  limits?: ScanLimits
}

const SLICE_MS = 10
/** Permissions of a symlink mean nothing. */
const LINK = 0o755

const look = async (bounds: ScanBounds, withoutBuildFolders: boolean): Promise<Scan> => {
  const { root, isHidden, limits = DEFAULT_LIMITS } = bounds
  const scan: Scan = {
    files: new Map(),
    folders: new Set(),
    large: new Map(),
    unreadable: [],
    withoutBuildFolders: withoutBuildFolders,
  }
  let total = 0
  let until = performance.now() + SLICE_MS
  const waiting = ['']
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    // Others are served meanwhile.
    if (performance.now() > until) {
      await setImmediate()
      until = performance.now() + SLICE_MS
    }
    let entries: ReturnType<typeof list>
    try {
      entries = list(join(root, folder))
    } catch {
      // Gone meanwhile, or closed to us.
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
        waiting.push(path)
        continue
      }
      // Pipes, sockets and devices have no content to be kept.
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
      scan.files.set(path, stat.isFile() ? stat.mode & 0o7777 : LINK)
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
    // That is the answer.
    return false
  }
}

/** Throws `TooMuch` where the workspace is larger than can be recorded before every change. */
export const scanWorkspace = async (bounds: ScanBounds): Promise<Scan> => {
  try {
    return await look(bounds, false)
  } catch (error) {
    if (!(error instanceof WorkspaceTooLargeError)) throw error
  }
  return look(bounds, true)
}
