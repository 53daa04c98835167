/** Text files as the tools see them: read whole with a check that they are text, replaced whole or not at all. */
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import type { ToolContext } from '../types.ts'

export const MAX_TEXT_BYTES = 10 * 1024 * 1024

const IMAGE = /^\.(?:png|jpe?g|gif|webp|bmp|ico|tiff?|heic|avif)$/i
/** Beginnings of files that are not text although they may hold no NUL early on. */
const MAGIC = ['%PDF', 'PK\u0003\u0004', '\u007fELF', '\u001f\u008b', '\u0089PNG']

export type TextFile = { text: string; sizeBytes: number; version: string }

/** `place` is a real path. Throws a sentence the model can act on. */
export const readTextFile = (place: string): TextFile => {
  const fd = openPlain(place)
  try {
    const stat = fstatSync(fd)
    if (stat.isDirectory())
      throw new Error(`${place} is a directory. Use search_files or the terminal.`)
    if (!stat.isFile()) throw new Error(`${place} is not a regular file.`)
    if (IMAGE.test(extname(place)))
      throw new Error(
        `${place} is an image, not text. Look at it with vision_analyze, where that is on offer.`,
      )
    if (stat.size > MAX_TEXT_BYTES)
      throw new Error(
        `${place} has ${stat.size} bytes, more than can be read at once. Use search_files, or head and sed in the terminal.`,
      )
    const bytes = readFileSync(fd)
    if (isBinary(bytes)) throw new Error(`${place} is a binary file.`)
    return { text: bytes.toString('utf8'), sizeBytes: stat.size, version: versionOf(stat) }
  } finally {
    closeSync(fd)
  }
}

/** The path was resolved before; a symlink that has taken its place since is not followed, a pipe is not waited for. */
const openPlain = (place: string): number => {
  try {
    return openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new Error(`${place} does not exist.${similarNames(place)}`)
    if (code === 'EACCES' || code === 'EPERM') throw new Error(`No permission to read ${place}.`)
    throw error
  }
}

export const isBinary = (bytes: Uint8Array): boolean => {
  const head = Buffer.from(bytes.subarray(0, 8_192)).toString('latin1')
  return head.includes('\0') || MAGIC.some(magic => head.startsWith(magic))
}

const versionOf = (stat: { mtimeMs: number; size: number }) => `${stat.mtimeMs}-${stat.size}`

const similarNames = (place: string): string => {
  const wanted = basename(place).toLowerCase()
  const stem = wanted.replace(/\.[^.]*$/, '')
  let names: string[]
  try {
    names = readdirSync(dirname(place))
  } catch {
    // The directory is missing, too: there is nothing to compare with.
    return ''
  }
  const close = names
    .filter(name => {
      const other = name.toLowerCase()
      return (
        other.includes(stem) ||
        stem.includes(other.replace(/\.[^.]*$/, '') || '\0') ||
        near(wanted, other)
      )
    })
    .slice(0, 5)
  return close.length > 0 ? ` Similar names there: ${close.join(', ')}` : ''
}

/** At most two letters apart, swapped neighbours included roughly. */
const near = (a: string, b: string): boolean => {
  if (Math.abs(a.length - b.length) > 2) return false
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
      )
    row = next
  }
  return (row.at(-1) ?? 9) <= 2
}

/**
 * Replaces `place` (a real path) by temporary file and rename, keeping its mode. The parent's real place is
 * checked again after the temporary file stands in it: a directory swapped for a symlink gains nothing.
 */
export const writeTextFile = (place: string, text: string): { createdDirs: boolean } => {
  const dir = dirname(place)
  const createdDirs = mkdirSync(dir, { recursive: true }) !== undefined
  const old = statOf(place)
  if (old && !old.isFile()) throw new Error(`${place} is not a regular file.`)
  const temporary = join(
    dir,
    `.${basename(place).slice(0, 100)}_${randomBytes(6).toString('hex')}.tmp`,
  )
  const fd = openSync(temporary, 'wx', 0o666)
  try {
    if (realpathSync(dir) !== dir) throw new Error(`${dir} has changed meanwhile.`)
    writeFileSync(fd, text)
    if (old) fchmodSync(fd, old.mode & 0o7777)
    fsyncSync(fd)
    renameSync(temporary, place)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
  return { createdDirs }
}

const statOf = (place: string) => {
  try {
    return lstatSync(place)
  } catch {
    // Not there yet, or its directory is not: writing says so itself.
    return null
  }
}

export const isThere = (place: string): boolean => statOf(place) !== null

/** Which version of each file the model has seen in this run, so that a change by somebody else is noticed. */
const seenIn = (ctx: ToolContext): Map<string, string> => {
  const known = ctx.memo.get('files')
  if (known instanceof Map) return known
  const fresh = new Map<string, string>()
  ctx.memo.set('files', fresh)
  return fresh
}

export const noteSeen = (ctx: ToolContext, place: string): void => {
  const stat = statOf(place)
  if (stat) seenIn(ctx).set(place, versionOf(stat))
}

/** A sentence when the file is another than the model last saw. */
export const staleWarning = (ctx: ToolContext, place: string): string | undefined => {
  const seen = seenIn(ctx).get(place)
  const stat = statOf(place)
  return seen !== undefined && stat && versionOf(stat) !== seen
    ? 'The file had changed since it was last read in this turn.'
    : undefined
}
