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
import type { Findings, openThreads, Page } from './threads.ts'
import type { LinePlaces } from './worker.ts'

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

type Counts = Findings & {
  /** Of large files, by path. */
  placesOf: Map<string, LinePlaces | null>
}

export const countAll = async (
  threads: ReturnType<typeof openThreads>,
  filter: Filter | null,
  files: readonly Found[],
  selection: Selection | null | undefined,
  page: Page,
): Promise<Counts> => {
  const selected = selection?.files ?? files
  const other = selection?.isPartial ? undefined : 0
  const all: Counts = {
    counts: files.map(() => other),
    partial: new Map(),
    hits: new Map(),
    placesOf: new Map(),
  }
  const places = new Map(files.map((file, at) => [file, at]))
  const found = await threads.count(
    selected.map(({ fullPath }) => fullPath),
    page,
  )
  for (const [from, file] of selected.entries()) {
    const at = places.get(file) ?? -1
    if (found.counts[from] !== 'large' || !filter) take(all, at, found, from)
    else {
      const linePlaces = await filter.linesOf(file.fullPath)
      all.placesOf.set(file.fullPath, linePlaces)
      take(all, at, await threads.countAt(file.fullPath, linePlaces, page), 0)
    }
  }
  return all
}

const take = (all: Findings, at: number, { counts, partial, hits }: Findings, from: number) => {
  all.counts[at] = counts[from]
  const begun = partial.get(from)
  if (begun !== undefined) all.partial.set(at, begun)
  const lines = hits.get(from)
  if (lines) all.hits.set(at, lines)
}
