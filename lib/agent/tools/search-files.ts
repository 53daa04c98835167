/** Tool: searches file contents or file names, limited in time and results. */
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { deniedResult } from '../error-result.ts'
import { z } from 'zod'
import type { Tool, ToolContext } from '../types.ts'
import { globToRegExp } from '../search/gitignore.ts'
import { displayPath, guardRead, hiddenGuard, mayRead, resolvePath } from './allowed-paths.ts'
import { toPlainName } from './look-alike.ts'
import { within } from './within.ts'
import { countAll, filterFor, LARGE_BYTES } from '../search/candidates.ts'
import { readPattern } from '../search/pattern.ts'
import { openThreads, type Setup } from '../search/threads.ts'
import type { FileCount, LinePlaces, SearchHit } from '../search/worker.ts'
import { type Found, type Listing, listFiles } from '../search/list-files.ts'

/** In milliseconds: for the list of files, for all reading, and for lines of the page that were not kept while counting. */
const LIMITS = { list: 10_000, read: 20_000, lines: 3_000 }
/** Lines kept while counting; those of a later page are read again. */
const MAX_KEPT_LINES = 2_000
const MAX_LINE_CHARS = 500

const input = z.object({
  pattern: z
    .string()
    .min(1)
    .describe(
      'content: a regular expression (JavaScript); (?i) before it ignores case. files: a glob such as *.ts or src/**/*.md.',
    ),
  target: z.enum(['content', 'files']).default('content'),
  path: z.string().default('.').describe('Directory or file to search.'),
  file_glob: z.string().optional().describe('content: only files with a matching name.'),
  limit: within(1, 500).default(50),
  offset: within(0, Infinity).default(0),
  output_mode: z.enum(['content', 'files_only', 'count']).default('content'),
  context: within(0, 20).default(0).describe('Lines around each match.'),
})
type Input = z.output<typeof input>

type Hit = { path: string; line: number; content: string }

export const createSearchFiles = (limits = LIMITS): Tool<typeof input> => ({
  name: 'search_files',
  summary:
    'Search file contents by regular expression, or file names by glob (target files). Hidden files are included; .git, node_modules, files that .gitignore names, symbolic links, and binary files are skipped unless path names them. Returns total_count, matches [{path, line, content}], files, or counts, whether the list was cut (truncated), and what was skipped (not_searched).',
  input,
  kind: 'read',
  preview: ({ pattern, path }) => (path === '.' ? pattern : `${pattern} in ${path}`),
  async run(ctx, given) {
    const root = resolvePath(ctx, given.path)
    guardRead(ctx, root)
    if (!(await mayRead(ctx, root, 'search'))) return deniedResult(`searching ${root}`)
    const info = await stat(root).catch(() => null)
    if (!info) throw new Error(`${given.path} does not exist.`)
    if (!info.isFile() && !info.isDirectory())
      throw new Error(`${given.path} is neither a file nor a directory.`)
    const startedAt = performance.now()
    const until = startedAt + limits.read
    const listing: Listing = info.isFile()
      ? { ...NOTHING_LEFT_OUT, files: [{ fullPath: root, relative: basename(root) }] }
      : await listFiles({
          root,
          denied: hiddenGuard(ctx, root),
          signal: ctx.signal,
          until: startedAt + limits.list,
        })
    const search = { ctx, given, root, listing, isFile: info.isFile(), until, limits }
    const result = given.target === 'files' ? await byName(search) : await byContent(search)
    return { content: JSON.stringify(result) }
  },
})

export const searchFiles = createSearchFiles()

const NOTHING_LEFT_OUT = { ignoredPaths: [], denied: [], unreadable: 0, isPartial: false }

type Search = {
  ctx: ToolContext
  given: Input
  /** A real path. */
  root: string
  listing: Listing
  isFile: boolean
  until: number
  limits: typeof LIMITS
}

/** A glob without a slash matches names, one with a slash matches paths relative to the root. */
const matcher = (glob: string): ((found: Found) => boolean) => {
  const [test, alike] = [glob, toPlainName(glob)].map(one => globToRegExp(one.replace(/^\.\//, '')))
  if (!test) throw new Error(`The glob ${glob} cannot be read.`)
  return ({ relative }) => {
    const name = glob.includes('/') ? relative : basename(relative)
    return test.test(name) || alike?.test(toPlainName(name)) === true
  }
}

/** Files whose times are read concurrently. */
const TOGETHER = 256

const byName = async ({ ctx, given, listing }: Search) => {
  const { pattern, limit, offset } = given
  // A bare word matches part of a name.
  const fits = matcher(/[*?[{]/.test(pattern) ? pattern : `*${pattern}*`)
  const found = listing.files.filter(fits)
  const times = new Map<Found, number>()
  for (let at = 0; at < found.length; at += TOGETHER)
    await Promise.all(
      found.slice(at, at + TOGETHER).map(async file => {
        const info = await stat(file.fullPath).catch(() => null)
        times.set(file, info?.mtimeMs ?? 0)
      }),
    )
  // Newest first.
  const timeOf = (file: Found) => times.get(file) ?? 0
  const page = found.toSorted((a, b) => timeOf(b) - timeOf(a)).slice(offset, offset + limit)
  return {
    total_count: found.length,
    files: page.map(({ fullPath }) => displayPath(ctx, fullPath)),
    truncated: offset + limit < found.length || listing.isPartial,
    ...leftOut(listing, []),
    ...notes(listing.isPartial && 'Not all directories were listed in time. Narrow path.'),
  }
}

type Matching = {
  path: string
  fullPath: string
  /** At least. */
  count: number
  /** The first ones of its lines. */
  hits: readonly SearchHit[]
}

const byContent = async (search: Search) => {
  const { ctx, given, listing, until } = search
  const { file_glob: glob, limit, offset, output_mode: mode } = given
  const pattern = readPattern(given.pattern)
  const files = glob === undefined ? listing.files : listing.files.filter(matcher(glob))
  const { source, flags, literal, isPlain } = pattern
  const filter = await filterFor(ctx, pattern, until)
  const largeBytes = filter ? LARGE_BYTES : Infinity
  const setup = { source, flags, literal, isPlain, maxLineChars: MAX_LINE_CHARS, largeBytes }
  const threads = openThreads(setup, { signal: ctx.signal, until })
  try {
    const selection = search.isFile ? null : await filter?.select(search.root, listing, files)
    const lines = mode === 'content' && offset + limit <= MAX_KEPT_LINES ? offset + limit : 0
    const page = { lines, context: given.context }
    const found = await countAll(threads, filter, files, selection, page)
    const { counts } = found
    if (search.isFile && counts[0] === 'binary') throw new Error(`${given.path} is a binary file.`)
    if (search.isFile && counts[0] === 'unreadable')
      throw new Error(`${given.path} cannot be read.`)
    const matching = files.flatMap(({ fullPath }, at): Matching[] => {
      const count = counts[at] ?? found.partial.get(at)
      return typeof count === 'number' && count > 0
        ? [{ path: displayPath(ctx, fullPath), fullPath, count, hits: found.hits.get(at) ?? [] }]
        : []
    })
    const total = matching.reduce((sum, { count }) => sum + count, 0)
    const isPartial = listing.isPartial || counts.includes(undefined)
    const shown = mode === 'content' ? total : matching.length
    const listed = matching.slice(offset, offset + limit)
    const isEnd = offset > 0 && offset >= shown
    return {
      total_count: total,
      ...(isPartial && { total_is_lower_bound: true }),
      ...(mode === 'content' && { matches: await hitsOf(setup, matching, search, found.placesOf) }),
      ...(mode === 'files_only' && { files: listed.map(({ path }) => path) }),
      ...(mode === 'count' && {
        counts: Object.fromEntries(listed.map(({ path, count }) => [path, count])),
      }),
      truncated: offset + limit < shown || isPartial,
      ...leftOut(listing, counts),
      ...notes(
        pattern.isText && 'The pattern is no regular expression; it was searched as plain text.',
        isPartial && outOfTime(counts, listing),
        isEnd && `offset ${offset} is beyond the end: there are ${shown} results.`,
      ),
    }
  } finally {
    threads.end()
  }
}

const notes = (...sentences: (string | false)[]) => {
  const note = sentences.filter(Boolean).join(' ')
  return note !== '' && { note }
}

const outOfTime = (counts: Counts, { isPartial }: Listing): string => {
  const searched = counts.filter(count => count !== undefined).length
  const all = isPartial ? `more than ${counts.length}` : counts.length
  return `Only ${searched} of ${all} files were searched to their end: the time was up. Narrow path or file_glob.`
}

/** The lines of the requested page. Those that were not kept while counting are read again. */
const hitsOf = async (
  setup: Setup,
  matching: readonly Matching[],
  { ctx, given: { offset, limit, context }, limits }: Search,
  placesOf: ReadonlyMap<string, LinePlaces | null>,
): Promise<Hit[]> => {
  const hits: Hit[] = []
  const until = performance.now() + limits.lines
  let threads: ReturnType<typeof openThreads> | undefined
  let passed = 0
  try {
    for (const { path, fullPath, count, hits: kept } of matching) {
      const skip = Math.max(0, offset - passed)
      const take = Math.min(limit - hits.length, count - skip)
      passed += count
      if (hits.length >= limit) break
      if (take <= 0) continue
      let lines = kept.slice(skip, skip + take)
      if (lines.length < take) {
        threads ??= openThreads(setup, { signal: ctx.signal, until })
        const places = placesOf.get(fullPath) ?? null
        const again = await threads.lines({ fullPath, skip, take, context, places })
        if (again.length > lines.length) lines = again
      }
      hits.push(...lines.map(hit => ({ path, ...hit })))
    }
  } finally {
    threads?.end()
  }
  return hits
}

type Counts = readonly (FileCount | undefined)[]

const leftOut = (listing: Listing, counts: Counts) => {
  const countOf = (what: FileCount | undefined) => counts.filter(count => count === what).length
  const not_searched = {
    ...some('ignored', listing.ignoredPaths.length),
    ...some('binary', countOf('binary')),
    ...some('unreadable', listing.unreadable + countOf('unreadable')),
    ...some('files_out_of_time', countOf(undefined)),
    ...(listing.isPartial && { directories_out_of_time: true }),
  }
  return Object.keys(not_searched).length > 0 && { not_searched }
}

const some = (name: string, count: number) => count > 0 && { [name]: count }
