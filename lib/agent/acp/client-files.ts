/** Files an agent reads and writes through us: inside the workspace, and nowhere else. */
import { isInside } from '../../store/inside.ts'
import { guardRead, guardWrite, toPlace } from '../tools/places.ts'
import { readTextFile, writeTextFile } from '../tools/text-file.ts'
import type { ToolContext } from '../types.ts'

const placeOf = (ctx: ToolContext, path: string): string => {
  const place = toPlace(ctx, path)
  if (!isInside(ctx.workspace, place))
    throw new Error(`${path} lies outside the workspace ${ctx.workspace}.`)
  return place
}

/** `line` counts from 1. */
export const readForAgent = (
  ctx: ToolContext,
  path: string,
  line: number | null | undefined,
  limit: number | null | undefined,
): string => {
  const place = placeOf(ctx, path)
  guardRead(ctx, place)
  const { text } = readTextFile(place)
  if (line == null && limit == null) return text
  const from = Math.max(0, (line ?? 1) - 1)
  return text
    .split('\n')
    .slice(from, limit == null ? undefined : from + limit)
    .join('\n')
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
