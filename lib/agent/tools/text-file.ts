/** Text files for the tools: reading with a text check, and tracking which version the model has read. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
} from 'node:fs'
import { basename, dirname, extname } from 'node:path'
import { distance } from 'fastest-levenshtein'
import { readTextBytes, displayText, type TextBytes } from '../../store/text-bytes.ts'
import { rewriteText } from '../../store/text-rewrite.ts'
import type { ToolContext } from '../types.ts'

export const MAX_TEXT_BYTES = 10 * 1024 * 1024

const IMAGE = /^\.(?:png|jpe?g|gif|webp|bmp|ico|tiff?|heic|avif)$/i

/** `text` is the decoded text; `file` maps it back to bytes. */
export type TextFile = { text: string; file: TextBytes; sizeBytes: number; version: string }

/** `place` is a real path. Throws an error the model can act on. */
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
    const file = readTextBytes(bytes)
    if (!file) throw new Error(`${place} is a binary file.`)
    return { text: displayText(file), file, sizeBytes: stat.size, version: versionOf(stat) }
  } finally {
    closeSync(fd)
  }
}

/** Opens without following a symlink that replaced the resolved path, and without blocking on a pipe. */
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

const versionOf = (stat: { mtimeMs: number; size: number }) => `${stat.mtimeMs}-${stat.size}`

const similarNames = (place: string): string => {
  const wanted = basename(place).toLowerCase()
  const stem = wanted.replace(/\.[^.]*$/, '')
  let names: string[]
  try {
    names = readdirSync(dirname(place))
  } catch {
    // The directory is missing too, so there are no similar names.
    return ''
  }
  const close = names
    .filter(name => {
      const other = name.toLowerCase()
      return (
        other.includes(stem) ||
        stem.includes(other.replace(/\.[^.]*$/, '') || '\0') ||
        distance(wanted, other) <= 2
      )
    })
    .slice(0, 5)
  return close.length > 0 ? ` Similar names there: ${close.join(', ')}` : ''
}

type AsFile = { bytes: Buffer; isText: boolean; kept?: string }

const NOTHING = 'nothing: what stood there was binary, or too large to look at'

/** Encodes new text like the existing file, and lists what was kept (encoding, byte order mark, line endings). */
export const asFile = (place: string, content: string): AsFile => {
  const old = statOf(place)
  const plain = { bytes: Buffer.from(content), isText: true }
  if (!old?.isFile() || old.size === 0) return plain
  // Too large to read: use the new text as is.
  const file = old.size > MAX_TEXT_BYTES ? null : readTextBytes(readPlain(place))
  if (!file) return { ...plain, isText: false, kept: NOTHING }
  const bytes = rewriteText(file.bytes, content)
  const kept = [
    ...(file.encoding === 'UTF-8' ? [] : [file.encoding]),
    ...(file.bom > 0 ? ['byte order mark'] : []),
    ...(file.text.includes('\r') && !content.includes('\r')
      ? ['line ends with carriage return']
      : []),
  ]
  return { bytes, isText: true, ...(kept.length > 0 && { kept: kept.join(', ') }) }
}

const readPlain = (place: string): Buffer => {
  const fd = openPlain(place)
  try {
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

const statOf = (place: string) => {
  try {
    return lstatSync(place)
  } catch {
    // Doesn't exist; the write itself reports a missing directory.
    return null
  }
}

/** The text a model may have read; empty if it isn't text. */
export const textAt = (place: string): string => {
  const old = statOf(place)
  if (!old?.isFile() || old.size > MAX_TEXT_BYTES) return ''
  const file = readTextBytes(readPlain(place))
  return file ? displayText(file) : ''
}

export const isThere = (place: string): boolean => statOf(place) !== null

/** The version of each file that the model has read in this run, to detect changes by others. */
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

/** A warning if the file changed since the model last read it. */
export const staleWarning = (ctx: ToolContext, place: string): string | undefined => {
  const seen = seenIn(ctx).get(place)
  const stat = statOf(place)
  return seen !== undefined && stat && versionOf(stat) !== seen
    ? 'The file had changed since it was last read in this turn.'
    : undefined
}
