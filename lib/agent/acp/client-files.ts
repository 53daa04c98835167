/** Serves an agent's file requests (`fs/read_text_file`, `fs/write_text_file`), inside the workspace only. */
import { sentence } from '../../base/sentences.ts'
import type { Words } from '../../base/sentences.ts'
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { messageOf } from '../../errors.ts'
import { isInside } from '../../store/path-within.ts'
import { hasEscapes, readTextBytes } from '../../store/text-bytes.ts'
import { guardRead, guardWrite, resolvePath } from '../tools/allowed-paths.ts'
import { replaceFile } from '../tools/replace-file.ts'
import { asFile, MAX_TEXT_BYTES, textAt } from '../tools/text-file.ts'
import { imageType } from '../image-file.ts'
import type { ToolContext } from '../types.ts'
import { checkFileRequest } from './permission-rules.ts'

const resolveInWorkspace = (ctx: ToolContext, path: string): string => {
  const fullPath = resolvePath(ctx.turn, path)
  if (!isInside(ctx.turn.workspace, fullPath))
    throw new Error(`${path} is outside the workspace ${ctx.turn.workspace}.`)
  return fullPath
}

/** Null if the file doesn't exist. Throws if it can't be opened. */
const openIfExists = (fullPath: string): number | null => {
  try {
    return openSync(fullPath, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * The whole text; null if there is no file. Writing it back must change no byte, because agents write back what they have
 * read. A file with undecodable bytes is rejected: its replacement characters would destroy it.
 */
const readExactly = (fullPath: string, maxBytes: number): string | null => {
  const fd = openIfExists(fullPath)
  if (fd === null) return null
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new Error(`${fullPath} is not a regular file.`)
    if (stat.size > maxBytes)
      throw new Error(`${fullPath} has ${stat.size} bytes, more than can be read at once.`)
    const file = readTextBytes(readFileSync(fd))
    if (!file) throw new Error(`${fullPath} is a binary file.`)
    if (hasEscapes(file.encoding))
      throw new Error(
        `${fullPath} is not all text in one encoding. Read and change it with a command.`,
      )
    return file.text
  } finally {
    closeSync(fd)
  }
}

/** `line` counts from 1. A missing file reads as empty, because agents read before they create. */
export const readForAgent = async (
  ctx: ToolContext,
  path: string,
  line: number | null | undefined,
  limit: number | null | undefined,
): Promise<string> => {
  const fullPath = resolveInWorkspace(ctx, path)
  guardRead(ctx.turn, fullPath)
  await checkFileRequest(ctx, 'read_file', fullPath)
  const text = readExactly(fullPath, MAX_TEXT_BYTES) ?? ''
  if (line == null && limit == null) return text
  const from = Math.max(0, (line ?? 1) - 1)
  return text
    .split('\n')
    .slice(from, limit == null ? undefined : from + limit)
    .join('\n')
}

const MAX_IMAGES = 10
const MAX_IMAGE_BYTES = 10 * 1024 * 1024

const readImage = (ctx: ToolContext, path: string): Buffer | null => {
  const fullPath = resolveInWorkspace(ctx, path)
  guardRead(ctx.turn, fullPath)
  const fd = openIfExists(fullPath)
  if (fd === null) throw new Error(`${path} no longer exists.`)
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size === 0) return null
    const head = Buffer.alloc(12)
    readSync(fd, head, 0, head.length, 0)
    if (imageType(head) === null) return null
    if (stat.size > MAX_IMAGE_BYTES) throw new Error(`${path} has more than 10 MB.`)
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** The images among a message's attachments. Warns about each one that can't be read. */
export const readImages = (
  ctx: ToolContext,
  paths: readonly string[],
  warn: (message: Words) => void,
): { data: string; mimeType: string }[] =>
  paths.slice(0, MAX_IMAGES).flatMap(path => {
    try {
      const bytes = readImage(ctx, path)
      const mimeType = bytes && imageType(bytes)
      return bytes && mimeType ? [{ data: bytes.toString('base64'), mimeType }] : []
    } catch (error) {
      warn(sentence('turn.image_not_sent', { reason: messageOf(error) }))
      return []
    }
  })

const MAX_SHOWN_BYTES = 1024 * 1024

/** The text for a diff: null if there is no file, undefined if it must not or can't be shown. */
export const readForDiff = (ctx: ToolContext, path: string): string | null | undefined => {
  try {
    const fullPath = resolvePath(ctx.turn, path)
    guardRead(ctx.turn, fullPath)
    return readExactly(fullPath, MAX_SHOWN_BYTES)
  } catch {
    // Denied, not text, or too large: the diff is built from the agent's own data.
    return undefined
  }
}

export const writeForAgent = async (
  ctx: ToolContext,
  path: string,
  text: string,
): Promise<void> => {
  const fullPath = resolveInWorkspace(ctx, path)
  guardWrite(ctx.turn, fullPath)
  await checkFileRequest(ctx, 'write_file', fullPath)
  const content = ctx.turn.secrets?.reveal(text, textAt(fullPath)) ?? text
  await ctx.beforeChange?.([fullPath])
  // Resolved again, against a path component swapped for a symlink.
  if (resolveInWorkspace(ctx, path) !== fullPath)
    throw new Error(`${path} now leads to a different file.`)
  const { bytes, isText } = asFile(fullPath, content)
  // The protocol's response can't carry a warning, so this is an error.
  if (!isText) throw new Error(`${path} is not text; it is not replaced by text.`)
  replaceFile(fullPath, bytes)
}
