/** Files an agent reads and writes through us: inside the workspace, and nowhere else. */
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { messageOf } from '../../errors.ts'
import { isInside } from '../../store/path-within.ts'
import { hasEscapes, readTextBytes } from '../../store/text-bytes.ts'
import { guardRead, guardWrite, resolvePath } from '../tools/allowed-paths.ts'
import { replaceFile } from '../tools/replace-file.ts'
import { asFile, MAX_TEXT_BYTES, textAt } from '../tools/text-file.ts'
import { imageType } from '../tools/vision-analyze.ts'
import type { ToolContext } from '../types.ts'

const resolveInWorkspace = (ctx: ToolContext, path: string): string => {
  const fullPath = resolvePath(ctx, path)
  if (!isInside(ctx.workspace, fullPath))
    throw new Error(`${path} lies outside the workspace ${ctx.workspace}.`)
  return fullPath
}

/** Only a file that does not exist is no file: what cannot be opened is an error. */
const openIfExists = (fullPath: string): number | null => {
  try {
    return openSync(fullPath, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Null where there is no file, else the whole text, such that writing it back changes no byte: an agent writes back what
 * it has read. Where some bytes are no text it would get other characters, and destroy the file with them.
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

/** `line` counts from 1. A file that is not there is an empty one: agents read it before they create it. */
export const readForAgent = (
  ctx: ToolContext,
  path: string,
  line: number | null | undefined,
  limit: number | null | undefined,
): string => {
  const fullPath = resolveInWorkspace(ctx, path)
  guardRead(ctx, fullPath)
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
  guardRead(ctx, fullPath)
  const fd = openIfExists(fullPath)
  if (fd === null) throw new Error(`${path} is not there any more.`)
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

/** Of the files a message came with, those that are pictures. What keeps one from being read is said. */
export const readImages = (
  ctx: ToolContext,
  paths: readonly string[],
  warn: (message: string) => void,
): { data: string; mimeType: string }[] =>
  paths.slice(0, MAX_IMAGES).flatMap(path => {
    try {
      const bytes = readImage(ctx, path)
      const mimeType = bytes && imageType(bytes)
      return bytes && mimeType ? [{ data: bytes.toString('base64'), mimeType }] : []
    } catch (error) {
      warn(`A picture was not sent along: ${messageOf(error)}`)
      return []
    }
  })

const MAX_SHOWN_BYTES = 1024 * 1024

/** For a person who is to see what changes: null where there is no file, undefined where it is not to be shown. */
export const readForDiff = (ctx: ToolContext, path: string): string | null | undefined => {
  try {
    const fullPath = resolvePath(ctx, path)
    guardRead(ctx, fullPath)
    return readExactly(fullPath, MAX_SHOWN_BYTES)
  } catch {
    // Closed to agents, no text, or too large: the change is shown as the agent tells it.
    return undefined
  }
}

export const writeForAgent = async (
  ctx: ToolContext,
  path: string,
  text: string,
): Promise<void> => {
  const fullPath = resolveInWorkspace(ctx, path)
  guardWrite(ctx, fullPath)
  const content = ctx.secrets?.reveal(text, textAt(fullPath)) ?? text
  await ctx.beforeChange?.([fullPath])
  // Resolved again: meanwhile a link may have taken its place.
  if (resolveInWorkspace(ctx, path) !== fullPath)
    throw new Error(`${path} now leads to another place.`)
  const { bytes, isText } = asFile(fullPath, content)
  // There is no way to say more than that it was done.
  if (!isText) throw new Error(`${path} is not text; it is not replaced by text.`)
  replaceFile(fullPath, bytes)
}
