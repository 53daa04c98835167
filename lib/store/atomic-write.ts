/** Replaces a file whole or not at all: temporary file in the same directory, fsync, rename. */
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Makes a rename or a new name in `dir` survive a power cut. */
export const syncDir = (dir: string): void => {
  const fd = openSync(dir, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/**
 * Writes `data` to `path` atomically. `mode` defaults to 0600: nearly everything we write is private.
 * Throws the file system's error; the old file is then untouched and no temporary file stays behind.
 */
export const writeAtomic = (
  path: string,
  data: string | Uint8Array,
  { mode = 0o600 }: { mode?: number } = {},
): void => {
  const dir = dirname(path)
  const temporary = join(dir, `.${basename(path)}_${randomBytes(6).toString('hex')}.tmp`)
  try {
    const fd = openSync(temporary, 'wx', mode)
    try {
      writeFileSync(fd, data)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    // The umask may have taken bits away that the caller asked for.
    chmodSync(temporary, mode)
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncDir(dir)
}
