/** Replaces several files or none: writes all new contents next to their targets, then renames them. */
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { copyOwner, overwriteFd } from '../../store/write-in-place.ts'
import { ChangedMeanwhile, standingAt } from './seen-files.ts'

/** `fullPath` is a real path. Null bytes: the file doesn't exist, or is to be deleted. */
export type FileChange = {
  fullPath: string
  before: Buffer | null
  after: Buffer | null
  /** Instead of `before`, for a file that is too large to compare; `before` is null. */
  version?: string
  /** Permissions of a new file, from the file it was moved from. */
  mode?: number
}

const { O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants

/** All or nothing. Throws `ChangedMeanwhile` if a file changed after the edit was computed. */
export const applyChanges = (changes: readonly FileChange[]): { createdDirs: boolean } => {
  for (const change of changes) checkUnchanged(change)
  const staged: Staged[] = []
  const appliedChanges: FileChange[] = []
  try {
    for (const { fullPath, after, mode } of changes)
      if (after !== null) staged.push(stage(fullPath, after, mode))
    // Deletions come last; until then everything can be rolled back.
    for (const [at, change] of changes.filter(({ after }) => after !== null).entries()) {
      // Once more: writing the new contents took time.
      checkUnchanged(change)
      staged[at]?.commit()
      appliedChanges.push(change)
    }
    for (const change of changes) {
      if (change.after !== null) continue
      checkUnchanged(change)
      rmSync(change.fullPath)
      appliedChanges.push(change)
    }
  } catch (error) {
    for (const one of staged) one.discard()
    for (const change of appliedChanges.toReversed()) putBack(change)
    throw error
  }
  return { createdDirs: staged.some(({ createdDirs }) => createdDirs) }
}

const putBack = ({ fullPath, before, mode }: FileChange): void => {
  if (before === null) rmSync(fullPath, { force: true })
  else stage(fullPath, before, mode).commit()
}

const checkUnchanged = ({ fullPath, before, version }: FileChange): void => {
  const isNew = before === null && version === undefined
  const now = isNew ? null : standingAt(fullPath)
  const isSame = isNew
    ? statOf(fullPath) === null
    : before
      ? now?.bytes?.equals(before)
      : now?.version === version
  if (!isSame) throw new ChangedMeanwhile(fullPath)
}

const statOf = (fullPath: string): Stats | null =>
  lstatSync(fullPath, { throwIfNoEntry: false }) ?? null

/** Replaces one file completely. */
export const replaceFile = (fullPath: string, bytes: Buffer): { createdDirs: boolean } => {
  const staged = stage(fullPath, bytes)
  try {
    staged.commit()
  } catch (error) {
    staged.discard()
    throw error
  }
  return { createdDirs: staged.createdDirs }
}

type Staged = { createdDirs: boolean; commit: () => void; discard: () => void }

const stage = (fullPath: string, bytes: Buffer, mode?: number): Staged => {
  const dir = dirname(fullPath)
  const old = statOf(fullPath)
  if (old && !old.isFile()) throw new Error(`${fullPath} is not a regular file.`)
  // A rename would replace even a read-only file.
  if (old) checkWritable(fullPath)
  const createdDir = mkdirSync(dir, { recursive: true })
  const beside = hasOneName(old) ? writeBeside(fullPath, bytes, old, mode) : null
  if (old && beside === null)
    return { createdDirs: false, commit: () => writeInPlace(fullPath, bytes), discard: () => {} }
  return {
    createdDirs: createdDir !== undefined,
    commit: () => renameSync(beside ?? '', fullPath),
    discard() {
      rmSync(beside ?? '', { force: true })
      if (createdDir !== undefined) removeEmpty(createdDir, dir)
    },
  }
}

/** A file with hard links keeps them only if it is written in place. */
const hasOneName = (old: Stats | null): boolean => (old?.nlink ?? 1) === 1

const checkWritable = (fullPath: string): void => {
  try {
    accessSync(fullPath, constants.W_OK)
  } catch {
    throw new Error(`No permission to write ${fullPath}.`)
  }
}

/**
 * Creates a temporary file with the permissions and owner of the old one; null if that isn't possible and the old file
 * must be written in place. Checks the parent's real path again afterwards, against a directory swapped for a symlink.
 */
const writeBeside = (
  fullPath: string,
  bytes: Buffer,
  old: Stats | null,
  mode: number | undefined,
): string | null => {
  const dir = dirname(fullPath)
  const name = `.${basename(fullPath).slice(0, 40)}_${randomBytes(6).toString('hex')}.tmp`
  const temporary = join(dir, name)
  let fd: number
  try {
    // Never more readable than the file it becomes, even for a moment.
    fd = openSync(temporary, 'wx', old || mode !== undefined ? 0o600 : 0o666)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (old && (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')) return null
    if (code === 'EACCES' || code === 'EPERM')
      throw new Error(`No permission to create ${fullPath}.`)
    throw error
  }
  try {
    if (realpathSync(dir) !== dir) throw new Error(`${dir} has changed in between.`)
    if (old && !copyOwner(fd, old)) {
      rmSync(temporary, { force: true })
      return null
    }
    writeFileSync(fd, bytes)
    const permissions = old?.mode ?? mode
    if (permissions !== undefined) fchmodSync(fd, permissions & 0o7777)
    fsyncSync(fd)
    return temporary
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
}

const writeInPlace = (fullPath: string, bytes: Buffer): void => {
  const fd = openSync(fullPath, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
  try {
    overwriteFd(fd, bytes)
  } finally {
    closeSync(fd)
  }
}

/** Removes created directories after a failure. */
const removeEmpty = (top: string, dir: string): void => {
  for (let at = dir; at.length >= top.length; at = dirname(at)) {
    try {
      rmdirSync(at)
    } catch {
      // No longer empty.
      return
    }
  }
}
