/** Holds a place below a root by its directory's descriptor: a symlink swapped in afterwards leads nowhere else. */
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
import { invalid, missing } from '../errors.ts'
import { errorCode } from './file-error.ts'
import { realPath, resolveInside } from './path-within.ts'

export type Bounds = {
  /** A directory, at its real place. */
  readonly root: string
  /** Real places below it that are as if they were not there. */
  isHidden(real: string): boolean
}

export type DirHandle = Disposable & {
  /** For calls that do not follow a symlink at the end: it stays in the directory that was checked. */
  readonly at: string
  /** The same for another name in that directory. */
  sibling(name: string): string
  /** The real place of the directory, and of the entry in it. */
  readonly dir: string
  readonly full: string
  /** Relative to the root with forward slashes; `.` for the root itself. */
  readonly path: string
  readonly isRoot: boolean
  /** False where the system has no paths through descriptors; `openHeld` then looks again after opening. */
  readonly isAnchored: boolean
  /** Makes a new name in the directory survive a power cut. */
  sync(): void
}

/** Longer than any path the system takes. */
const MAX_PATH_CHARS = 4096
const MAX_NAME_BYTES = 255

const notFound = () => missing('Path not found', { code: 'file_not_found' })

/** A name that may be given to something new: no separators of any system, no control characters. */
export const validateName = (name: string): void => {
  const isBad = /[\0-\x1f\x7f/\\]/.test(name) || name === '.' || name === '..' || !name.trim()
  if (isBad || Buffer.byteLength(name) > MAX_NAME_BYTES) throw invalid('Invalid file name')
}

/** Characters that HFS+ does not see, so that git takes such a name for the plain one. */
const HFS_IGNORABLE = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/** How git may read a name on a file system of any system: `.GIT`, `.git.`, `git~1`, `.git::$INDEX_ALLOCATION`. */
const isGitName = (name: string): boolean =>
  /^(?:\.git|git~\d+)(?:[ .]*|:.*)$/i.test(name.replace(HFS_IGNORABLE, ''))

/**
 * Refuses to put something new into a `.git` folder, or to make one: what is in it (hooks, a file system monitor) is
 * run by the next command of git. `path` is relative to the root.
 */
export const rejectGitPath = (path: string): void => {
  if (path.split(/[/\\]/).some(isGitName))
    throw invalid('Files in a .git folder belong to git. Use git in a terminal for this.')
}

/** `any`: also with names that nobody should give to something new, because they were there before. */
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
    // Somebody was faster; opening it says whether it is a directory.
    if (errorCode(error) !== 'EEXIST') throw error
  }
  return openDirectory(path)
}

/** From the root down to `dir` (real places), name by name, each opened in the one before and no symlink followed. */
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

/** Where descriptors are no paths: checked by name. */
const checkByName = (root: string, dir: string, create: Create): number => {
  for (const name of relative(root, dir).split(sep))
    if (create && create !== 'any' && name) validateName(name)
  if (create) mkdirSync(dir, { recursive: true })
  if (realPath(dir) !== dir) throw notFound()
  return openSync(dir, O_RDONLY)
}

/**
 * `path` as a person or a program says it, relative to the root; everything that leads outside or to a hidden place is
 * missing. `link`: a symlink at the end is meant itself, not what it leads to. `make`: missing directories above it are
 * made. The entry itself need not exist. Dispose of it (`using`) when done.
 */
export const openDirHandle = (
  bounds: Bounds,
  path: string,
  { link = false, create = false }: { link?: boolean; create?: Create } = {},
): DirHandle => {
  if (path.includes('\0') || path.length > MAX_PATH_CHARS) throw notFound()
  const { root } = bounds
  const wanted = resolve(root, path)
  const full =
    link && wanted !== root
      ? join(resolveInside(root, dirname(wanted)), basename(wanted))
      : resolveInside(root, wanted)
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
    dir,
    full,
    path: isRoot ? '.' : relative(root, full).split(sep).join('/'),
    isRoot,
    isAnchored,
    sync: () => fsyncSync(fd),
    [Symbol.dispose]: () => closeSync(fd),
  }
}

/** Opens what is held: never through a symlink, never waiting for the other end of a pipe. The caller closes it. */
export const openEntry = (handle: DirHandle, flags = O_RDONLY, mode?: number): number => {
  const fd = openSync(handle.at, flags | O_NOFOLLOW | O_NONBLOCK, mode)
  if (handle.isAnchored) return fd
  const [here, there] = [fstatSync(fd), lstatSync(handle.full, { throwIfNoEntry: false })]
  if (here.dev === there?.dev && here.ino === there.ino && realPath(handle.dir) === handle.dir)
    return fd
  closeSync(fd)
  throw notFound()
}
