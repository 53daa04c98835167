/** Writing into a file that must stay the same file: one with several names, or of an owner we cannot give files to. */
import { fchownSync, fstatSync, fsyncSync, ftruncateSync, readFileSync, writeSync } from 'node:fs'

/** `fd` is open for reading and writing. What was there is put back when the disk takes no more. */
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

/** Makes a new file belong to whom another one belongs; false where only the system's administrator may. */
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
    // The caller writes into the old file instead.
    return false
  }
}
