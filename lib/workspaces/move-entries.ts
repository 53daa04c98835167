/** Creates folders, and renames and moves entries of a workspace. An existing entry is never replaced. */
import { linkSync, lstatSync, mkdirSync, renameSync, type Stats, unlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { forbidden, invalid, missing } from '../errors.ts'
import { errorCode, withUserErrors } from '../store/file-error.ts'
import { validateName, type DirHandle, openDirHandle, rejectGitPath } from '../store/dir-handle.ts'
import type { FileScope } from './file-scope.ts'

const exists = (place: string): boolean => lstatSync(place, { throwIfNoEntry: false }) !== undefined

const takenError = () => Object.assign(new Error('the name is taken'), { code: 'EEXIST' })

/** File systems that have no hard links say so in many ways. */
const NO_LINKS = new Set(['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/**
 * A rename that fails with EEXIST where there is something already. A link and an unlink do that in one step; for
 * folders, looking first has to do, and a folder that appears after the check is replaced only when it is empty.
 */
export const moveUnlessTaken = (from: string, to: string): void => {
  const stat = lstatSync(from)
  // Elsewhere a link to a symlink is one to what it points to.
  const isLinkable = stat.isFile() || (stat.isSymbolicLink() && process.platform === 'linux')
  if (isLinkable && tryLink(from, to)) dropName(from, to)
  else {
    if (exists(to)) throw takenError()
    renameSync(from, to)
  }
}

const tryLink = (from: string, to: string): boolean => {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (NO_LINKS.has(errorCode(error))) return false
    throw error
  }
}

/** The file has both names now; if the old one has to stay, it keeps only that. */
const dropName = (from: string, to: string): void => {
  try {
    unlinkSync(from)
  } catch (error) {
    unlinkSync(to)
    throw error
  }
}

/** The entry itself, which must be there, must not be the workspace, and must hold nothing of ours. */
export const requireOwn = (area: FileScope, handle: DirHandle): Stats => {
  const stat = lstatSync(handle.at, { throwIfNoEntry: false })
  if (!stat) throw missing('File not found', { code: 'file_not_found' })
  if (handle.isRoot) throw invalid('This is the workspace itself', { code: 'workspace_root' })
  if (area.containsHidden(handle.full))
    throw forbidden('It holds files of this service', { code: 'own_files' })
  return stat
}

const moveNew = (from: string, to: DirHandle): void => {
  try {
    moveUnlessTaken(from, to.at)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
    throw invalid(`A file named "${basename(to.full)}" already exists`, { code: 'file_exists' })
  }
  to.sync()
}

export const createDirectory = (area: FileScope, path: string): { path: string } =>
  withUserErrors(() => {
    using handle = openDirHandle(area, path, { link: true, create: true })
    if (handle.isRoot) throw invalid('Path already exists', { code: 'file_exists' })
    validateName(basename(handle.full))
    mkdirSync(handle.at)
    handle.sync()
    return { path: handle.path }
  })

export type MovedEntry = { old_path: string; new_path: string }

export const renameEntry = (area: FileScope, path: string, newName: string): MovedEntry =>
  withUserErrors(() => {
    validateName(newName)
    if (newName.includes('..')) throw invalid('Invalid file name', { code: 'invalid_file_name' })
    using from = openDirHandle(area, path, { link: true, isChange: true })
    requireOwn(area, from)
    using to = openDirHandle(area, join(from.dir, newName), { link: true })
    rejectGitPath(to.path)
    moveNew(from.at, to)
    return { old_path: from.path, new_path: to.path }
  })

/** Into another folder of the workspace, which must exist. */
export const moveEntry = (area: FileScope, path: string, destination: string): MovedEntry =>
  withUserErrors(() => {
    using from = openDirHandle(area, path, { link: true, isChange: true })
    requireOwn(area, from)
    using folder = openDirHandle(area, destination || '.', { isChange: true })
    if (!lstatSync(folder.at, { throwIfNoEntry: false })?.isDirectory())
      throw missing('Folder not found', { code: 'file_not_found' })
    using to = openDirHandle(area, join(folder.full, basename(from.full)), { link: true })
    rejectGitPath(to.path)
    if (to.full.startsWith(`${from.full}/`))
      throw invalid('A folder cannot be moved into itself', { code: 'folder_into_itself' })
    moveNew(from.at, to)
    from.sync()
    return { old_path: from.path, new_path: to.path }
  })
