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
import { codeOf } from './file-error.ts'
import { realPath, resolveInside } from './path-within.ts'

export type Bounds = {
  /** A directory, at its real place. */
  readonly root: string
  /** Real places below it that are as if they were not there. */
  isHidden(real: string): boolean
}

export type Held = Disposable & {
  /** For calls that do not follow a symlink at the end: it stays in the directory that was checked. */
  readonly at: string
  /** The same for another name in that directory. */
  beside(name: string): string
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
const MAX_PATH = 4096
const MAX_NAME_BYTES = 255

const notThere = () => missing('Path not found')

/** A name that may be given to something new: no separators of any system, no control characters. */
export const checkName = (name: string): void => {
  const isBad = /[\0-\x1f\x7f/\\]/.test(name) || name === '.' || name === '..' || !name.trim()
  if (isBad || Buffer.byteLength(name) > MAX_NAME_BYTES) throw invalid('Invalid file name')
}

/** Characters that HFS+ does not see, so that git takes such a name for the plain one. */
const UNSEEN = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/** How git may read a name on a file system of any system: `.GIT`, `.git.`, `git~1`, `.git::$INDEX_ALLOCATION`. */
const isGitName = (name: string): boolean =>
  /^(?:\.git|git~\d+)(?:[ .]*|:.*)$/i.test(name.replace(UNSEEN, ''))

/**
 * Refuses to put something new into a `.git` folder, or to make one: what is in it (hooks, a file system monitor) is
 * run by the next command of git. `path` is relative to the root.
 */
export const refuseGit = (path: string): void => {
  if (path.split(/[/\\]/).some(isGitName))
    throw invalid('Files in a .git folder belong to git. Use git in a terminal for this.')
}

/** `any`: also with names that nobody should give to something new, because they were there before. */
type Make = boolean | 'any'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants
const openDirectory = (path: string): number => openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
const pathOf = (fd: number): string => `/proc/self/fd/${fd}`

const openOrMake = (path: string, name: string, make: Make): number => {
  try {
    return openDirectory(path)
  } catch (error) {
    if (!make || codeOf(error) !== 'ENOENT') throw error
  }
  if (make !== 'any') checkName(name)
  try {
    mkdirSync(path)
  } catch (error) {
    // Somebody was faster; opening it says whether it is a directory.
    if (codeOf(error) !== 'EEXIST') throw error
  }
  return openDirectory(path)
}

/** From the root down to `dir` (real places), name by name, each opened in the one before and no symlink followed. */
const descend = (root: string, dir: string, make: Make): number => {
  let fd = openDirectory(root)
  try {
    if (readlinkSync(pathOf(fd)) !== root) throw notThere()
    for (const name of relative(root, dir).split(sep).filter(Boolean)) {
      const inner = openOrMake(`${pathOf(fd)}/${name}`, name, make)
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
const checkByName = (root: string, dir: string, make: Make): number => {
  for (const name of relative(root, dir).split(sep))
    if (make && make !== 'any' && name) checkName(name)
  if (make) mkdirSync(dir, { recursive: true })
  if (realPath(dir) !== dir) throw notThere()
  return openSync(dir, O_RDONLY)
}

/**
 * `path` as a person or a program says it, relative to the root; everything that leads outside or to a hidden place is
 * missing. `link`: a symlink at the end is meant itself, not what it leads to. `make`: missing directories above it are
 * made. The entry itself need not exist. Dispose of it (`using`) when done.
 */
export const hold = (
  bounds: Bounds,
  path: string,
  { link = false, make = false }: { link?: boolean; make?: Make } = {},
): Held => {
  if (path.includes('\0') || path.length > MAX_PATH) throw notThere()
  const { root } = bounds
  const wanted = resolve(root, path)
  const full =
    link && wanted !== root
      ? join(resolveInside(root, dirname(wanted)), basename(wanted))
      : resolveInside(root, wanted)
  if (bounds.isHidden(full)) throw notThere()
  if (make === true) refuseGit(relative(root, full))
  const isRoot = full === root
  const dir = isRoot ? root : dirname(full)
  const isAnchored = existsSync('/proc/self/fd')
  const fd = (isAnchored ? descend : checkByName)(root, dir, make)
  const anchor = isAnchored ? pathOf(fd) : dir
  return {
    at: isRoot ? `${anchor}/.` : `${anchor}/${basename(full)}`,
    beside: name => `${anchor}/${name}`,
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
export const openHeld = (held: Held, flags = O_RDONLY, mode?: number): number => {
  const fd = openSync(held.at, flags | O_NOFOLLOW | O_NONBLOCK, mode)
  if (held.isAnchored) return fd
  const [here, there] = [fstatSync(fd), lstatSync(held.full, { throwIfNoEntry: false })]
  if (here.dev === there?.dev && here.ino === there.ino && realPath(held.dir) === held.dir)
    return fd
  closeSync(fd)
  throw notThere()
}
