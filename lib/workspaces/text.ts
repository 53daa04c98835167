/** Text files of a workspace: read for the page, saved unless somebody else was faster, created. */
import { createHash, randomBytes } from 'node:crypto'
import {
  accessSync,
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { isUtf8 } from 'node:buffer'
import { conflict, invalid, missing } from '../errors.ts'
import { codeOf, refusing } from '../store/file-error.ts'
import { checkName, type Held, hold, openHeld } from '../store/hold.ts'
import type { Area } from './area.ts'
import { moveUnlessTaken } from './entries.ts'

/** Larger files are not shown as text (contract §6.1). */
export const MAX_TEXT_BYTES = 200_000
/** A NUL this early makes a file binary. */
const HEAD_BYTES = 8_192

export type TextFile = {
  path: string
  content: string
  size: number
  lines: number
  version: string
  binary?: true
}
export type Saved = { path: string; size: number; version: string }

/** At most `most` bytes from the beginning. */
const readUpTo = (fd: number, most: number): Buffer => {
  const bytes = Buffer.alloc(most)
  let size = 0
  while (size < most) {
    const got = readSync(fd, bytes, size, most - size, size)
    if (got === 0) break
    size += got
  }
  return bytes.subarray(0, size)
}

/** What was read is the same as long as this is the same; of a large file, size and time must do. */
const versionOf = (stat: BigIntStats, bytes: Buffer): string =>
  bytes.length > MAX_TEXT_BYTES
    ? `${stat.size}-${stat.mtimeNs}`
    : createHash('sha256').update(bytes).digest('base64url').slice(0, 22)

type Found = { stat: BigIntStats; bytes: Buffer; version: string }

/** A plain file's beginning, one byte more than is shown. */
const look = (held: Held, directory = missing('Path is a directory')): Found => {
  const fd = openHeld(held)
  try {
    const stat = fstatSync(fd, { bigint: true })
    if (stat.isDirectory()) throw directory
    if (!stat.isFile()) throw missing('File not found')
    const bytes = readUpTo(fd, MAX_TEXT_BYTES + 1)
    return { stat, bytes, version: versionOf(stat, bytes) }
  } finally {
    closeSync(fd)
  }
}

export const readText = (area: Area, path: string): TextFile =>
  refusing(() => {
    using held = hold(area, path)
    const { stat, bytes, version } = look(held)
    const size = Number(stat.size)
    if (bytes.subarray(0, HEAD_BYTES).includes(0))
      return { path, content: '', size, lines: 0, version, binary: true }
    if (bytes.length > MAX_TEXT_BYTES)
      throw missing(`File too large (${size} bytes, max ${MAX_TEXT_BYTES})`)
    const content = bytes.toString('utf8')
    return { path, content, size: bytes.length, lines: content.split('\n').length, version }
  })

/** Written beside and synced; the caller renames it, and removes it should that fail. */
const writeBeside = (held: Held, data: Buffer, mode: bigint | undefined): string => {
  const place = held.beside(`.agent-webui-${randomBytes(6).toString('hex')}.tmp`)
  const fd = openSync(place, 'wx', 0o666)
  try {
    writeFileSync(fd, data)
    if (mode !== undefined) fchmodSync(fd, Number(mode & 0o7777n))
    fsyncSync(fd)
  } catch (error) {
    rmSync(place, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
  return place
}

const isSame = (a: BigIntStats, b: BigIntStats | undefined): boolean =>
  a.dev === b?.dev && a.ino === b.ino && a.size === b.size && a.mtimeNs === b.mtimeNs

const changed = (version: string) =>
  conflict('The file has changed since it was opened', { conflict: true, version })

/** What is shown for bytes that are no UTF-8: written back, it would stand in their place. */
const wouldDamage = (old: Buffer, content: string): boolean =>
  content.includes('\ufffd') && !isUtf8(old)

/** Whole or not at all. `expected`: the version that was read; another one on disk is a conflict. */
export const saveText = (
  area: Area,
  path: string,
  content: string,
  expected: string | undefined,
): Saved =>
  refusing(() => {
    using held = hold(area, path)
    const old = look(held, invalid('Cannot save: path is a directory'))
    if (expected && old.version !== expected) throw changed(old.version)
    if (wouldDamage(old.bytes, content))
      throw invalid('The file is not UTF-8 text; saving it from here would damage it')
    // A rename would replace even a file that may not be written.
    accessSync(held.at, constants.W_OK)
    const data = Buffer.from(content)
    const temporary = writeBeside(held, data, old.stat.mode)
    try {
      const now = lstatSync(held.at, { bigint: true, throwIfNoEntry: false })
      if (!isSame(old.stat, now)) throw changed(now ? look(held).version : '')
      renameSync(temporary, held.at)
    } catch (error) {
      rmSync(temporary, { force: true })
      throw error
    }
    held.sync()
    const { version } = look(held)
    return { path, size: data.length, version }
  })

/** A new file; directories above it are made. */
export const createText = (area: Area, path: string, content: string): Saved =>
  refusing(() => {
    using held = hold(area, path, { link: true, make: true })
    if (held.isRoot) throw invalid('File already exists')
    checkName(held.full.slice(held.dir.length).replace(/^[/\\]/, ''))
    const data = Buffer.from(content)
    const temporary = writeBeside(held, data, undefined)
    try {
      moveUnlessTaken(temporary, held.at)
    } catch (error) {
      rmSync(temporary, { force: true })
      if (codeOf(error) === 'EEXIST') throw invalid('File already exists')
      throw error
    }
    held.sync()
    const { version } = look(held)
    return { path: held.path, size: data.length, version }
  })
