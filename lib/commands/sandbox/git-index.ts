/**
 * Reads which paths an index of Git contains. Git trusts this file: `git checkout .` writes wherever an entry says, into
 * `.git/hooks` or above the repository as well, and `git status` runs Git in every repository that is an entry.
 */

export type IndexEntry = { path: string; isRepository: boolean }

const SIZES_BEFORE_HASH = 40
const MODE_AT = 24
const REPOSITORY_MODE = 0o160000
const EXTENDED = 0x4000

/** The entries of an index. `hashBytes`: 20, or 32 where the repository uses SHA-256. Null: Git would not read it either. */
export const readIndex = (bytes: Buffer, hashBytes: number): IndexEntry[] | null => {
  if (bytes.length < 12 + hashBytes || bytes.toString('latin1', 0, 4) !== 'DIRC') return null
  const version = bytes.readUInt32BE(4)
  const count = bytes.readUInt32BE(8)
  if (version < 2 || version > 4) return null
  const end = bytes.length - hashBytes
  const entries: IndexEntry[] = []
  let at = 12
  let path = ''
  for (let number = 0; number < count; number++) {
    const start = at
    const flagsAt = start + SIZES_BEFORE_HASH + hashBytes
    if (flagsAt + 4 > end) return null
    const isExtended = version >= 3 && (bytes.readUInt16BE(flagsAt) & EXTENDED) !== 0
    at = flagsAt + (isExtended ? 4 : 2)
    let prefix = 0
    if (version === 4) {
      // How much of the previous path is dropped, in the format of offsets in packs.
      let byte = bytes[at++] ?? 0
      let dropped = byte & 0x7f
      while (byte & 0x80 && at < end) {
        byte = bytes[at++] ?? 0
        dropped = (dropped + 1) * 128 + (byte & 0x7f)
      }
      prefix = path.length - dropped
      if (prefix < 0) return null
    }
    const close = bytes.indexOf(0, at)
    if (close === -1 || close >= end) return null
    path = path.slice(0, prefix) + bytes.toString('latin1', at, close)
    at = version === 4 ? close + 1 : start + Math.ceil((close + 1 - start) / 8) * 8
    entries.push({
      path: Buffer.from(path, 'latin1').toString(),
      isRepository: (bytes.readUInt32BE(start + MODE_AT) & 0o170000) === REPOSITORY_MODE,
    })
  }
  return entries
}

/** Characters that HFS+ ignores in names. */
const IGNORED = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g
/** `.git`, and what file systems of Windows and macOS take for it. */
const GIT_NAME = /^(?:\.git|git~1)[. ]*(?::.*)?$/i

/** Whether Git would never have made such an entry. A directory of a sparse index ends with a slash. */
export const isForbiddenPath = (path: string): boolean =>
  path
    .replace(/\/$/, '')
    .split('/')
    .some(name => name === '' || name === '.' || name === '..') ||
  path.split(/[/\\]/).some(name => GIT_NAME.test(name.replace(IGNORED, '')))
