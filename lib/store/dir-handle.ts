/** Opens paths below a root through directory descriptors (openat), so that a symlink swapped in after the check has no effect. */
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
} from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { invalid, missing, type UserError } from '../errors.ts'
import { errorCode } from './file-error.ts'
import { realPath, resolveInside } from './path-within.ts'

export type Bounds = {
  /** The real path of a directory. */
  readonly root: string
  /** Real paths below it that are treated as missing. */
  isHidden(real: string): boolean
}

export type DirHandle = Disposable & {
  /** The path of the entry inside the checked directory. Only for calls that do not follow a final symlink. */
  readonly at: string
  /** The same for another name in the directory. */
  sibling(name: string): string
  /** A new name in the directory, for what is written beside the entry before it replaces it. */
  temporary(): string
  /** The real path of the directory, and of the entry in it. */
  readonly dir: string
  readonly full: string
  /** Relative to the root with forward slashes; `.` for the root itself. */
  readonly path: string
  readonly isRoot: boolean
  /** False on systems without /proc/self/fd; `openEntry` then checks again after opening. */
  readonly isAnchored: boolean
  /** Fsyncs the directory, so that a new name in it survives a power cut. */
  sync(): void
}

/** Longer than any path the system accepts. */
const MAX_PATH_CHARS = 4096
const MAX_NAME_BYTES = 255

const notFound = (): UserError => missing('Path not found', { code: 'file_not_found' })
export const outside = (): UserError =>
  invalid('The path lies outside the workspace', { code: 'path_outside' })

/** Rejects names for new entries with path separators of any system or control characters. */
export const validateName = (name: string): void => {
  const isBad = /[\0-\x1f\x7f/\\]/.test(name) || name === '.' || name === '..' || !name.trim()
  if (isBad || Buffer.byteLength(name) > MAX_NAME_BYTES)
    throw invalid('Invalid file name', { code: 'invalid_file_name' })
}

/** Characters that HFS+ ignores in names, so that git treats such a name as the plain one. */
const HFS_IGNORABLE = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/** Names that are `.git` on some file system: `.GIT`, `.git.`, `git~1`, `.git::$INDEX_ALLOCATION`. */
const isGitName = (name: string): boolean =>
  /^(?:\.git|git~\d+)(?:[ .]*|:.*)$/i.test(name.replace(HFS_IGNORABLE, ''))

/**
 * Rejects new entries in a `.git` folder, and new `.git` folders: the next git command would execute their hooks or file
 * system monitor. `path` is relative to the root.
 */
export const rejectGitPath = (path: string): void => {
  if (path.split(/[/\\]/).some(isGitName))
    throw invalid("Files in a .git folder can't be changed here. Use git in a terminal.", {
      code: 'git_folder',
    })
}

/** `any`: also names that `validateName` rejects, because the directories existed before. */
type Create = boolean | 'any'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants
const openDirectory = (path: string): number => openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
const pathOf = (fd: number): string => `/proc/self/fd/${fd}`

const openOrCreate = (path: string, name: string, create: Create): number => {
  try {
    return openDirectory(path)
  } catch (error) {
    if (!create || errorCode(error) !== 'ENOENT') throw error
  }
  if (create !== 'any') validateName(name)
  try {
    mkdirSync(path)
  } catch (error) {
    // Created by another program at the same moment. Opening it checks whether it is a directory.
    if (errorCode(error) !== 'EEXIST') throw error
  }
  return openDirectory(path)
}

/** Opens `dir` from the root down, name by name, each relative to the previous one, following no symlink. Both are real paths. */
const descend = (root: string, dir: string, create: Create): number => {
  let fd = openDirectory(root)
  try {
    if (readlinkSync(pathOf(fd)) !== root) throw notFound()
    for (const name of relative(root, dir).split(sep).filter(Boolean)) {
      const inner = openOrCreate(`${pathOf(fd)}/${name}`, name, create)
      closeSync(fd)
      fd = inner
    }
    return fd
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/** For systems without /proc/self/fd: checks by name. */
const checkByName = (root: string, dir: string, create: Create): number => {
  for (const name of relative(root, dir).split(sep))
    if (create && create !== 'any' && name) validateName(name)
  if (create) mkdirSync(dir, { recursive: true })
  if (realPath(dir) !== dir) throw notFound()
  return openSync(dir, O_RDONLY)
}

/**
 * Opens the directory of `path`, which is relative to the root. Throws `missing` for everything outside the root or hidden;
 * `isChange`: a path outside is the fault of the request instead. `link`: a final symlink is the entry itself and is not
 * followed. `create`: creates missing parent directories. The entry need not exist. Dispose of the handle (`using`) when done.
 */
export const openDirHandle = (
  bounds: Bounds,
  path: string,
  {
    link = false,
    create = false,
    isChange = create === true,
  }: { link?: boolean; create?: Create; isChange?: boolean } = {},
): DirHandle => {
  const refused = isChange ? outside : notFound
  if (path.includes('\0') || path.length > MAX_PATH_CHARS) throw refused()
  const { root } = bounds
  const target = resolve(root, path)
  const full =
    link && target !== root
      ? join(resolveInside(root, dirname(target), refused), basename(target))
      : resolveInside(root, target, refused)
  if (bounds.isHidden(full)) throw notFound()
  if (create === true) rejectGitPath(relative(root, full))
  const isRoot = full === root
  const dir = isRoot ? root : dirname(full)
  const isAnchored = existsSync('/proc/self/fd')
  const fd = (isAnchored ? descend : checkByName)(root, dir, create)
  const anchor = isAnchored ? pathOf(fd) : dir
  return {
    at: isRoot ? `${anchor}/.` : `${anchor}/${basename(full)}`,
    sibling: name => `${anchor}/${name}`,
    temporary: () => `${anchor}/.agent-webui-${randomBytes(6).toString('hex')}.tmp`,
    dir,
    full,
    path: isRoot ? '.' : relative(root, full).split(sep).join('/'),
    isRoot,
    isAnchored,
    sync: () => fsyncSync(fd),
    [Symbol.dispose]: () => closeSync(fd),
  }
}

/** Opens the entry: never through a symlink, never blocking on a pipe. The caller closes the descriptor. */
export const openEntry = (handle: DirHandle, flags = O_RDONLY, mode?: number): number => {
  const fd = openSync(handle.at, flags | O_NOFOLLOW | O_NONBLOCK, mode)
  if (handle.isAnchored) return fd
  const [here, there] = [fstatSync(fd), lstatSync(handle.full, { throwIfNoEntry: false })]
  if (here.dev === there?.dev && here.ino === there.ino && realPath(handle.dir) === handle.dir)
    return fd
  closeSync(fd)
  throw notFound()
}
