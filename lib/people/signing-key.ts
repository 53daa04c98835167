/** The signing key: 32 random bytes that salt the password hash and sign cookies. */
import { randomBytes } from 'node:crypto'
import { chmodSync, closeSync, fsyncSync, linkSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileReason } from '../store/file-error.ts'
import { appendText, readWhole } from '../store/read-text.ts'
import { reportWrite } from '../store/write-reports.ts'

const KEY_BYTES = 32

const read = (path: string): Buffer | undefined => {
  try {
    return readWhole(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new Error(`The signing key ${path} cannot be read: ${fileReason(error)}`, {
      cause: error,
    })
  }
}

/** Written to a temporary file and hard-linked: never visible in part, and never replaces the key of another process. */
const create = (path: string): void => {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const fd = openSync(temporary, 'wx', 0o600)
    try {
      writeSync(fd, randomBytes(KEY_BYTES))
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    linkSync(temporary, path)
    reportWrite(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    throw new Error(`The signing key ${path} cannot be written: ${fileReason(error)}`, {
      cause: error,
    })
  } finally {
    rmSync(temporary, { force: true })
  }
}

const checked = (path: string, key: Buffer | undefined): Buffer => {
  if (key && key.length >= KEY_BYTES) return key.subarray(0, KEY_BYTES)
  throw new Error(
    `The signing key ${path} holds ${key?.length ?? 0} bytes instead of ${KEY_BYTES}; restore it from a backup, or delete it (the password and all sign-ins become invalid)`,
  )
}

/** The existing key; undefined before the first start. Throws an Error with a sentence when it is unusable. */
export const readSigningKey = (stateDir: string): Buffer | undefined => {
  const path = join(stateDir, '.signing_key')
  const key = read(path)
  return key && checked(path, key)
}

/**
 * Whether something was signed that must be there from then on: one more byte in the file, which no reader of the key counts. Who
 * removes what was signed does not get back to a first start by that.
 */
const isMarked = (path: string): boolean => (read(path)?.length ?? 0) > KEY_BYTES

/** For what is signed with the key. */
export const signing = (stateDir: string) => {
  const path = join(stateDir, '.signing_key')
  return {
    /** Undefined before the first start. */
    key: () => readSigningKey(stateDir),
    isMarked: () => isMarked(path),
    mark(): void {
      if (!isMarked(path)) appendText(path, '1')
    },
  }
}

/**
 * Reads `.signing_key`, or creates it at the first start. An existing key is never replaced: a new one would invalidate
 * the password and all sign-ins. Throws an Error with a sentence.
 */
export const openSigningKey = (stateDir: string): Buffer => {
  const path = join(stateDir, '.signing_key')
  let key = read(path)
  if (!key) {
    create(path)
    key = read(path)
  }
  const usable = checked(path, key)
  try {
    chmodSync(path, 0o600)
  } catch {
    // Owned by another user, but readable: its owner decides about the mode.
  }
  return usable
}
