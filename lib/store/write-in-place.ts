/** Overwrites a file in place: one with several hard links, or whose owner we cannot give to a new file. */
import { fchownSync, fstatSync, fsyncSync, ftruncateSync, readFileSync, writeSync } from 'node:fs'

/** `fd` is open for reading and writing. The old content is restored when writing fails. */
export const overwriteFd = (fd: number, bytes: Buffer): void => {
  const before = readFileSync(fd)
  try {
    writeAll(fd, bytes)
  } catch (error) {
    writeAll(fd, before)
    throw error
  }
}

const writeAll = (fd: number, bytes: Buffer): void => {
  let at = 0
  while (at < bytes.length) at += writeSync(fd, bytes, at, bytes.length - at, at)
  ftruncateSync(fd, bytes.length)
  fsyncSync(fd)
}

/** Gives a new file the owner of another one; false when this requires root. */
export const copyOwner = (
  fd: number,
  owner: { uid: number | bigint; gid: number | bigint },
): boolean => {
  const [uid, gid] = [Number(owner.uid), Number(owner.gid)]
  const now = fstatSync(fd)
  if (now.uid === uid && now.gid === gid) return true
  try {
    fchownSync(fd, uid, gid)
    return true
  } catch {
    // The caller overwrites the old file instead.
    return false
  }
}
