/** Tool: searches file contents or file names, limited in time and results. */
import { stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { deniedResult } from '../error-result.ts'
import { z } from 'zod'
import { reachesFile } from '../permissions/reach.ts'
import type { Tool, ToolContext } from '../types.ts'
import { globToRegExp } from '../search/gitignore.ts'
import { displayPath, guardRead, hiddenGuard, mayRead, resolvePath } from './allowed-paths.ts'
import { toPlainName } from './look-alike.ts'
import { numberWithin } from './numbers.ts'
import {
  countMatches,
  findLines,
  findRipgrep,
  isPattern,
  type Ripgrep,
  type SearchRun,
} from '../search/ripgrep.ts'
import { type SearchHit, showLines } from '../search/show-lines.ts'
import { type ListedFile, type Listing, listFiles } from '../search/list-files.ts'

/** In milliseconds: for the list of files, for counting, and for the lines of the page. */
const LIMITS = { list: 10_000, read: 20_000, lines: 3_000 }

const input = z.object({
  pattern: z
    .string()
    .min(1)
    .describe(
      'content: a regular expression as ripgrep takes it (Rust, PCRE2 for lookarounds), matched within one line; (?i) before it ignores case. files: a glob such as *.ts or src/**/*.md.',
    ),
  target: z.enum(['content', 'files']).default('content'),
  path: z.string().default('.').describe('Directory or file to search.'),
  file_glob: z.string().optional().describe('content: only files with a matching name.'),
  limit: numberWithin(1, 500).default(50),
  offset: numberWithin(0, Infinity).default(0),
  output_mode: z.enum(['content', 'files_only', 'count']).default('content'),
  context: numberWithin(0, 20).default(0).describe('Lines around each match.'),
})
type Input = z.output<typeof input>

type Hit = { path: string } & SearchHit

export const searchFilesTool = (limits = LIMITS): Tool<typeof input> => ({
  name: 'search_files',
  summary:
    'Search file contents by regular expression, or file names by glob (target files). Hidden files are included; .git, node_modules, files that .gitignore names, and symbolic links are skipped unless path names them, binary files always. Returns total_count, matches [{path, line, content}], files, or counts, whether the list was cut (truncated), and what was skipped (not_searched).',
  input,
  kind: 'read',
  preview: ({ pattern, path }) => (path === '.' ? pattern : `${pattern} in ${path}`),
  // The files of a directory are checked one by one while it is listed.
  reaches: ({ path }, call) => reachesFile('read', path || '.', call),
  async run(ctx, args) {
    const root = resolvePath(ctx.turn, args.path)
    guardRead(ctx.turn, root)
    if (!(await mayRead(ctx, root, 'search'))) return deniedResult(`searching ${root}`)
    const info = await stat(root).catch(() => null)
    if (!info) throw new Error(`${args.path} does not exist.`)
    if (!info.isFile() && !info.isDirectory())
      throw new Error(`${args.path} is neither a file nor a directory.`)
    const startedAt = performance.now()
    const until = startedAt + limits.read
    const listing: Listing = info.isFile()
      ? { ...NOTHING_LEFT_OUT, files: [{ fullPath: root, relative: basename(root) }] }
      : await listFiles({
          root,
          denied: hiddenGuard(ctx.turn, root),
          signal: ctx.signal,
          until: startedAt + limits.list,
        })
    const search = { ctx, args, root, listing, isFile: info.isFile(), until, limits }
    const result = args.target === 'files' ? await byName(search) : await byContent(search)
    return { content: JSON.stringify(result) }
  },
})

export const searchFiles = searchFilesTool()

const NOTHING_LEFT_OUT = { ignored: 0, unreadable: 0, isPartial: false }

type Search = {
  ctx: ToolContext
  args: Input
  /** A real path. */
  root: string
  listing: Listing
  isFile: boolean
  until: number
  limits: typeof LIMITS
}

/** A glob without a slash matches names, one with a slash matches paths relative to the root. */
const matcher = (glob: string): ((file: ListedFile) => boolean) => {
  const [test, alike] = [glob, toPlainName(glob)].map(one => globToRegExp(one.replace(/^\.\//, '')))
  if (!test) throw new Error(`The glob ${glob} cannot be read.`)
  return ({ relative }) => {
    const name = glob.includes('/') ? relative : basename(relative)
    return test.test(name) || alike?.test(toPlainName(name)) === true
  }
}

/** Files whose times are read concurrently. */
const TOGETHER = 256

const byName = async ({ ctx, args, listing }: Search) => {
  const { pattern, limit, offset } = args
  // A bare word matches part of a name.
  const fits = matcher(/[*?[{]/.test(pattern) ? pattern : `*${pattern}*`)
  const files = listing.files.filter(fits)
  const times = new Map<ListedFile, number>()
  for (let at = 0; at < files.length; at += TOGETHER)
    await Promise.all(
      files.slice(at, at + TOGETHER).map(async file => {
        const info = await stat(file.fullPath).catch(() => null)
        times.set(file, info?.mtimeMs ?? 0)
      }),
    )
  // Newest first.
  const timeOf = (file: ListedFile) => times.get(file) ?? 0
  const page = files.toSorted((a, b) => timeOf(b) - timeOf(a)).slice(offset, offset + limit)
  return {
    total_count: files.length,
    files: page.map(({ fullPath }) => displayPath(ctx.turn, fullPath)),
    truncated: offset + limit < files.length || listing.isPartial,
    ...leftOut(listing),
    ...notes(listing.isPartial && 'Not all directories were listed in time. Narrow path.'),
  }
}

const NO_RIPGREP =
  'Searching contents needs ripgrep 14 or newer, which this computer does not have. Use grep -rn in the terminal; target files works without it.'

/** Looked for once in a run. */
const ripgrepFor = async (ctx: ToolContext): Promise<Ripgrep> => {
  const memo = ctx.memo.get('ripgrep')
  const promise =
    memo instanceof Promise
      ? memo
      : findRipgrep(ctx.turn.env.PATH ?? '', { unpack: ctx.turn.unpackRipgrep })
  ctx.memo.set('ripgrep', promise)
  const ripgrep = await (promise as Promise<Ripgrep | null>)
  if (!ripgrep) throw new Error(NO_RIPGREP)
  return ripgrep
}

/** A file with matches. */
type Matching = { file: ListedFile; count: number }

const byContent = async ({ ctx, args, listing, root, isFile, until, limits }: Search) => {
  const { file_glob: glob, limit, offset, output_mode: mode, pattern, context } = args
  const files = glob === undefined ? listing.files : listing.files.filter(matcher(glob))
  const cwd = isFile ? dirname(root) : root
  const search = { ripgrep: await ripgrepFor(ctx), cwd, signal: ctx.signal, until }
  const regular = inEitherForm(pattern.replaceAll('\0', '\\x00'))
  const isText = !(await isPattern(search, regular))
  const source = isText ? inEitherForm(literally(pattern)) : regular
  const result = await countMatches(search, source, files)
  if (isFile && result.binary.size > 0) throw new Error(`${args.path} is a binary file.`)
  if (isFile && result.unreadable > 0) throw new Error(`${args.path} cannot be read.`)
  const matching = files.flatMap((file): Matching[] => {
    const count = result.counts.get(file.relative)
    return count === undefined ? [] : [{ file, count }]
  })
  const total = matching.reduce((sum, { count }) => sum + count, 0)
  const isPartial = listing.isPartial || result.isPartial
  const entryCount = mode === 'content' ? total : matching.length
  const page = matching.slice(offset, offset + limit)
  const isEnd = offset > 0 && offset >= entryCount
  const searched = Math.max(result.searched, matching.length + result.binary.size)
  const forLines = { ...search, until: performance.now() + limits.lines }
  const pathOf = ({ file }: Matching) => displayPath(ctx.turn, file.fullPath)
  return {
    total_count: total,
    ...(isPartial && { total_is_lower_bound: true }),
    ...(mode === 'content' && {
      matches: await hitsOf(ctx, forLines, source, { matching, offset, limit, context }),
    }),
    ...(mode === 'files_only' && { files: page.map(pathOf) }),
    ...(mode === 'count' && {
      counts: Object.fromEntries(page.map(one => [pathOf(one), one.count])),
    }),
    truncated: offset + limit < entryCount || isPartial,
    ...leftOut(listing, {
      binary: result.binary.size,
      unreadable: result.unreadable,
      outOfTime: result.isPartial ? files.length - searched : 0,
    }),
    ...notes(
      isText && 'The pattern is no regular expression; it was searched as plain text.',
      total === 0 &&
        /\n|\\n/.test(pattern) &&
        'A match is within one line: search for one of them.',
      isPartial &&
        `Only ${searched} of ${listing.isPartial ? `more than ${files.length}` : files.length} files were searched to their end: the time was up. Narrow path or file_glob.`,
      isEnd && `offset ${offset} is beyond the end: there are ${entryCount} results.`,
    ),
  }
}

const notes = (...sentences: (string | false)[]) => {
  const note = sentences.filter(Boolean).join(' ')
  return note !== '' && { note }
}

/** The part of a page that is in one file. */
type PagePart = Matching & { skip: number; take: number }

const pageParts = (matching: readonly Matching[], offset: number, limit: number): PagePart[] => {
  let passed = 0
  let room = limit
  return matching.flatMap(one => {
    const skip = Math.max(0, offset - passed)
    const take = Math.min(room, one.count - skip)
    passed += one.count
    if (take <= 0) return []
    room -= take
    return [{ ...one, skip, take }]
  })
}

/** The lines of the requested page. */
const hitsOf = async (
  ctx: ToolContext,
  search: SearchRun,
  source: string,
  page: { matching: readonly Matching[]; offset: number; limit: number; context: number },
): Promise<Hit[]> => {
  const parts = pageParts(page.matching, page.offset, page.limit)
  const hits: Hit[] = []
  // The lines before the page are in the first of its files only.
  for (const group of [parts.slice(0, 1), parts.slice(1)]) {
    const files = group.map(({ file }) => file)
    const max = Math.max(0, ...group.map(({ skip, take }) => skip + take))
    const lines = await findLines(search, source, { files, max })
    for (const { file, skip, take } of group) {
      if (performance.now() > search.until) return hits
      const places = (lines.get(file.relative) ?? []).slice(skip, skip + take)
      const path = displayPath(ctx.turn, file.fullPath)
      const excerpts = await showLines(ctx, file.fullPath, { places, context: page.context })
      hits.push(...excerpts.map(hit => ({ path, ...hit })))
    }
  }
  return hits
}

const NOTHING_UNREAD = { binary: 0, unreadable: 0, outOfTime: 0 }

const leftOut = (listing: Listing, { binary, unreadable, outOfTime } = NOTHING_UNREAD) => {
  const not_searched = {
    ...some('ignored', listing.ignored),
    ...some('binary', binary),
    ...some('unreadable', listing.unreadable + unreadable),
    ...some('files_out_of_time', outOfTime),
    ...(listing.isPartial && { directories_out_of_time: true }),
  }
  return Object.keys(not_searched).length > 0 && { not_searched }
}

const some = (name: string, count: number) => count > 0 && { [name]: count }

/** Letters with marks are found as one character or as several: macOS writes both. */
const inEitherForm = (source: string): string =>
  source.replace(
    /\[(?:\\.|[^\]\\])*\]|\\.|(?:[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?|[^\0-\x7f]\p{M}*|\p{L}\p{M}+)/gsu,
    part => {
      const [one, several] = [part.normalize('NFC'), part.normalize('NFD')]
      return /^[[\\]/.test(part) || one === several ? part : `(?:${one}|${several})`
    },
  )

/** A regular expression that finds `text` as it is. */
const literally = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
