/** An image file as a tool result: a stored copy for models that can see it, and a line of text for the others. */
import { closeSync, fstatSync, readFileSync } from 'node:fs'
import { imageLabel } from '../../schema/image.ts'
import { readImageFile } from '../image-file.ts'
import { MAX_IMAGE_BYTES, tooLargeImage, unusableBytes } from '../images.ts'
import type { ToolContext, ToolResult } from '../types.ts'
import { displayPath } from './allowed-paths.ts'
import { noteKnown } from './seen-files.ts'
import { openPlain } from './text-file.ts'

/** `fullPath` is a real path that may be read. Throws an error the model can act on. */
export const readImage = (ctx: ToolContext, fullPath: string): ToolResult => {
  const name = displayPath(ctx.turn, fullPath)
  const bytes = readImageBytes(fullPath)
  noteKnown(ctx, fullPath, bytes)
  const info = readImageFile(bytes)
  if (!info) throw unusableBytes(bytes)
  const image = ctx.keepImage?.(bytes, name)
  const { width, height } = info
  return {
    preview: name,
    content: imageLabel({ name, width, height, bytes: bytes.length }),
    ...(image && { images: [image] }),
  }
}

/** Throws an error the model can act on. */
export const readImageBytes = (fullPath: string): Buffer => {
  const fd = openPlain(fullPath)
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new Error(`${fullPath} is not a regular file.`)
    if (stat.size > MAX_IMAGE_BYTES) throw tooLargeImage()
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}
