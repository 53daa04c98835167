/** Text files for the tools: reading with a text check, and new content in the file's own encoding and line ends. */
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

export const MAX_TEXT_BYTES = 10 * 1024 * 1024

const IMAGE = /^\.(?:png|jpe?g|gif|webp|bmp|ico|tiff?|heic|avif)$/i

export const hasImageName = (fullPath: string): boolean => IMAGE.test(extname(fullPath))

/** `text` is the decoded text; `file` maps it back to bytes. */
export type TextFile = { text: string; file: TextBytes; sizeBytes: number }

export class BinaryFile extends Error {
  readonly bytes: Buffer

  constructor(fullPath: string, bytes: Buffer) {
    super(`${fullPath} is a binary file.`)
    this.bytes = bytes
  }
}

/** Null: these bytes are no text. */
export const toTextFile = (bytes: Buffer): TextFile | null => {
  const file = readTextBytes(bytes)
  return file && { text: displayText(file), file, sizeBytes: bytes.length }
}

/** `fullPath` is a real path. Throws an error the model can act on. */
export const readTextFile = (fullPath: string): TextFile => {
  const fd = openPlain(fullPath)
  try {
    const stat = fstatSync(fd)
    if (stat.isDirectory())
      throw new Error(`${fullPath} is a directory. Use search_files or the terminal.`)
    if (!stat.isFile()) throw new Error(`${fullPath} is not a regular file.`)
    if (hasImageName(fullPath)) throw new Error(`${fullPath} is an image, not text.`)
    if (stat.size > MAX_TEXT_BYTES)
      throw new Error(
        `${fullPath} has ${stat.size} bytes, more than can be read at once. Use search_files, or head and sed in the terminal.`,
      )
    const bytes = readFileSync(fd)
    const file = toTextFile(bytes)
    if (!file) throw new BinaryFile(fullPath, bytes)
    return file
  } finally {
    closeSync(fd)
  }
}

/** Opens without following a symlink that replaced the resolved path, and without blocking on a pipe. */
export const openPlain = (fullPath: string): number => {
  try {
    return openSync(fullPath, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new Error(`${fullPath} does not exist.${similarNames(fullPath)}`)
    if (code === 'EACCES' || code === 'EPERM') throw new Error(`No permission to read ${fullPath}.`)
    throw error
  }
}

const similarNames = (fullPath: string): string => {
  const ownName = basename(fullPath).toLowerCase()
  const stem = ownName.replace(/\.[^.]*$/, '')
  let names: string[]
  try {
    names = readdirSync(dirname(fullPath))
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
        distance(ownName, other) <= 2
      )
    })
    .slice(0, 5)
  return close.length > 0 ? ` Similar names there: ${close.join(', ')}` : ''
}

type AsFile = { bytes: Buffer; isText: boolean; kept?: string }

const NOTHING = 'nothing: the old file was binary, or too large to look at'

/** Encodes new text like the existing file, and lists what was kept (encoding, byte order mark, line endings). */
export const asFile = (fullPath: string, content: string): AsFile => {
  const old = statOf(fullPath)
  const plain = { bytes: Buffer.from(content), isText: true }
  if (!old?.isFile() || old.size === 0) return plain
  // Too large to read: use the new text as is.
  const file = old.size > MAX_TEXT_BYTES ? null : readTextBytes(readPlain(fullPath))
  if (!file) return { ...plain, isText: false, kept: NOTHING }
  const bytes = rewriteText(file.bytes, content)
  const parts = [
    ...(file.encoding === 'UTF-8' ? [] : [file.encoding]),
    ...(file.bom > 0 ? ['byte order mark'] : []),
    ...(file.text.includes('\r') && !content.includes('\r')
      ? ['line ends with carriage return']
      : []),
  ]
  return { bytes, isText: true, ...(parts.length > 0 && { kept: parts.join(', ') }) }
}

const readPlain = (fullPath: string): Buffer => {
  const fd = openPlain(fullPath)
  try {
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

const statOf = (fullPath: string) => {
  try {
    return lstatSync(fullPath)
  } catch {
    // Doesn't exist; the write itself reports a missing directory.
    return null
  }
}

/** The text a model may have read; empty if it isn't text. */
export const textAt = (fullPath: string): string => {
  const old = statOf(fullPath)
  if (!old?.isFile() || old.size > MAX_TEXT_BYTES) return ''
  const file = readTextBytes(readPlain(fullPath))
  return file ? displayText(file) : ''
}

export const fileExists = (fullPath: string): boolean => statOf(fullPath) !== null
