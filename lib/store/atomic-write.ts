/** Atomic file writes: temporary file in the same directory, fsync, rename. */
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { diskFull } from '../errors.ts'
import { errorCode } from './file-error.ts'
import { makeDir } from './make-dir.ts'
import { realPath } from './path-within.ts'
import { reportWrite } from './write-reports.ts'

/** Fsyncs a directory, so that a rename or a new name in it survives a power cut. */
export const syncDir = (dir: string): void => {
  const fd = openSync(dir, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/**
 * Writes `data` to `path` atomically. `mode` defaults to 0600, because nearly everything we write is private. `sync` false: the
 * file need not survive a power cut.
 * Throws the file system's error; the old file is then unchanged and the temporary file is removed.
 */
export const writeAtomic = (
  path: string,
  data: string | Uint8Array,
  { mode = 0o600, sync = true }: { mode?: number; sync?: boolean } = {},
): void => {
  const dir = dirname(path)
  const temporary = join(dir, `.${basename(path)}_${randomBytes(6).toString('hex')}.tmp`)
  try {
    const fd = openSync(temporary, 'wx', mode)
    try {
      writeFileSync(fd, data)
      if (sync) fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    // The umask may have cleared bits the caller asked for.
    chmodSync(temporary, mode)
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  reportWrite(path)
  if (sync) syncDir(dir)
}

const DISK_ERRORS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ENOSPC: 'The disk is full',
    EDQUOT: 'The disk quota is used up',
    EROFS: 'The disk is read-only',
  }),
)

/** The mode of an existing file, 0600 for a new one. */
const modeOf = (path: string): number =>
  (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600) & 0o777

const MARK = Buffer.from('\ufeff')
const hasMark = (path: string): boolean =>
  existsSync(path) && readFileSync(path).subarray(0, 3).equals(MARK)

/**
 * Replaces a file that a person or another program may also own. Writes atomically through a symlink, keeps the mode of
 * an existing file unless `mode` is given, and creates missing directories. `keepsMark`: a byte order mark at its start stays.
 * Throws a UserError when the disk is full.
 */
export const replaceText = (
  path: string,
  text: string | Buffer,
  { mode, keepsMark = false }: { mode?: number; keepsMark?: boolean } = {},
): void => {
  try {
    // People keep config.yaml in a repository and link to it.
    const target = realPath(path)
    const targetMode = mode ?? modeOf(target)
    makeDir(dirname(target))
    writeAtomic(target, keepsMark && hasMark(target) ? `\ufeff${text}` : text, { mode: targetMode })
  } catch (error) {
    // Only the user can fix a disk that accepts no writes; every other failure is passed on.
    const sentence = DISK_ERRORS.get(errorCode(error))
    if (sentence) throw diskFull(`${sentence}; nothing was changed in ${dirname(path)}.`)
    throw error
  }
}
