/** Files an agent reads and writes through us: inside the workspace, and nowhere else. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { isInside } from '../../store/inside.ts'
import { guardRead, guardWrite, toPlace } from '../tools/places.ts'
import { isBinary, MAX_TEXT_BYTES, writeTextFile } from '../tools/text-file.ts'
import type { ToolContext } from '../types.ts'

const placeOf = (ctx: ToolContext, path: string): string => {
  const place = toPlace(ctx, path)
  if (!isInside(ctx.workspace, place))
    throw new Error(`${path} lies outside the workspace ${ctx.workspace}.`)
  return place
}

/** A mark at its beginning belongs to the text: it is written back with it. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Only a file that does not exist is no file: what cannot be opened is an error. */
const openIfThere = (place: string): number | null => {
  try {
    return openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Null where there is no file, else the whole text, such that writing it back changes no byte: an agent writes back what it has read. Of another encoding
 * it would get other characters, and destroy the file with them.
 */
const readExactly = (place: string, maxBytes: number): string | null => {
  const fd = openIfThere(place)
  if (fd === null) return null
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new Error(`${place} is not a regular file.`)
    if (stat.size > maxBytes)
      throw new Error(`${place} has ${stat.size} bytes, more than can be read at once.`)
    const bytes = readFileSync(fd)
    if (isBinary(bytes)) throw new Error(`${place} is a binary file.`)
    try {
      return utf8.decode(bytes)
    } catch {
      throw new Error(`${place} is not UTF-8 text. Read and change it with a command.`)
    }
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
  const place = placeOf(ctx, path)
  guardRead(ctx, place)
  const text = readExactly(place, MAX_TEXT_BYTES) ?? ''
  if (line == null && limit == null) return text
  const from = Math.max(0, (line ?? 1) - 1)
  return text
    .split('\n')
    .slice(from, limit == null ? undefined : from + limit)
    .join('\n')
}

const MAX_SHOWN_BYTES = 1024 * 1024

/** For a person who is to see what changes: null where there is no file, undefined where it is not to be shown. */
export const readForPerson = (ctx: ToolContext, path: string): string | null | undefined => {
  try {
    const place = toPlace(ctx, path)
    guardRead(ctx, place)
    return readExactly(place, MAX_SHOWN_BYTES)
  } catch {
    // Closed to agents, no text, or too large: the change is shown as the agent tells it.
    return undefined
  }
}

export const writeForAgent = async (
  ctx: ToolContext,
  path: string,
  content: string,
): Promise<void> => {
  const place = placeOf(ctx, path)
  guardWrite(ctx, place)
  await ctx.beforeChange?.([place])
  // Resolved again: meanwhile a link may have taken its place.
  if (placeOf(ctx, path) !== place) throw new Error(`${path} now leads to another place.`)
  writeTextFile(place, content)
}
