/**
 * Counts the matches of a search. Unless files are small, it reads only those that ripgrep says can match, and only such lines
 * of large ones.
 */
import { lstat } from 'node:fs/promises'
import type { ToolContext } from '../types.ts'
import type { Found, Listing } from './list-files.ts'
import { findLines, findRipgrep, type Ripgrep, type Selection, selectFiles } from './ripgrep.ts'
import type { Pattern } from './pattern.ts'
import { toPrefilter } from './prefilter.ts'
import type { openThreads } from './threads.ts'
import type { FileCount, LinePlaces } from './worker.ts'

/** Of a larger file, only the lines that can match are read. */
export const LARGE_BYTES = 8 * 1024 * 1024
/** Part of the remaining time for ripgrep; the rest is for reading what it selects. */
const RIPGREP_SHARE = 0.7

/** Smaller files take longest to open, and opening them for ripgrep and again for our own pattern takes twice as long. */
const MIN_MEAN_BYTES = 64 * 1024
/** Files whose sizes are read, evenly spread. */
const SAMPLES = 64
/** Ripgrep reads all files of the listing; for fewer of them than this part, our own threads alone are faster. */
const MIN_PART = 0.25

const isFasterWith = async (
  { minMeanBytes = MIN_MEAN_BYTES }: Ripgrep,
  listing: Listing,
  files: readonly Found[],
): Promise<boolean> => {
  if (files.length === 0 || files.length < listing.files.length * MIN_PART) return false
  const step = Math.max(1, files.length / SAMPLES)
  const sample = files.filter((_, at) => at % step < 1)
  const sizes = await Promise.all(
    sample.map(async ({ fullPath }) => (await lstat(fullPath).catch(() => null))?.size ?? 0),
  )
  return sizes.reduce((sum, size) => sum + size, 0) >= minMeanBytes * sizes.length
}

export type Filter = {
  /** Null: all files. */
  select: (root: string, listing: Listing, files: readonly Found[]) => Promise<Selection | null>
  /** Null: all lines. */
  linesOf: (fullPath: string) => Promise<LinePlaces | null>
}

/** Null without ripgrep, or for a pattern that it cannot filter by. */
export const filterFor = async (
  ctx: ToolContext,
  { source, flags }: Pattern,
  until: number,
): Promise<Filter | null> => {
  const prefilter = toPrefilter(source, flags)
  const ripgrep = prefilter === null ? null : await ripgrepFor(ctx)
  if (prefilter === null || ripgrep === null) return null
  const limits = () => ({
    prefilter,
    signal: ctx.signal,
    timeoutMs: Math.max(0, (until - performance.now()) * RIPGREP_SHARE),
  })
  return {
    select: async (root, listing, files) =>
      (await isFasterWith(ripgrep, listing, files))
        ? selectFiles(ripgrep, { root, listing, files, ...limits() })
        : null,
    linesOf: fullPath => findLines(ripgrep, { fullPath, ...limits() }),
  }
}

/** Looked for once in a run. */
const ripgrepFor = (ctx: ToolContext): Promise<Ripgrep | null> => {
  const known = ctx.memo.get('ripgrep')
  if (known instanceof Promise) return known
  const found = findRipgrep(ctx.env.PATH ?? '')
  ctx.memo.set('ripgrep', found)
  return found
}

type Counts = {
  /** For each file, in order; undefined for files not reached in time. */
  counts: (FileCount | undefined)[]
  /** Of large files, by path. */
  placesOf: Map<string, LinePlaces | null>
}

export const countAll = async (
  threads: ReturnType<typeof openThreads>,
  filter: Filter | null,
  files: readonly Found[],
  selection: Selection | null | undefined,
): Promise<Counts> => {
  const selected = selection?.files ?? files
  const known = new Map<Found, FileCount | undefined>()
  const placesOf: Counts['placesOf'] = new Map()
  const counts = await threads.count(selected.map(({ fullPath }) => fullPath))
  for (const [at, file] of selected.entries()) {
    const count = counts[at]
    known.set(file, count)
    if (count !== 'large' || !filter) continue
    const places = await filter.linesOf(file.fullPath)
    placesOf.set(file.fullPath, places)
    known.set(file, await threads.countAt(file.fullPath, places))
  }
  const other = selection?.isPartial ? undefined : 0
  return { counts: files.map(file => (known.has(file) ? known.get(file) : other)), placesOf }
}
