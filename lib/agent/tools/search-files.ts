/** Tool: searches the contents or the names of files, bounded in time and count. */
import { open, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { createContext, Script } from 'node:vm'
import { z } from 'zod'
import type { Tool, ToolContext } from '../types.ts'
import { globToRegExp } from './ignore.ts'
import { guardRead, readGuard, toName, toPlace } from './places.ts'
import { isBinary } from '../../store/text-bytes.ts'
import { type Found, walk } from './walk.ts'

const MAX_MS = 10_000
const MAX_FILES = 50_000
const MAX_FILE_BYTES = 2 * 1024 * 1024
/** Of one file: a pattern that takes longer would hold up everything else. */
const MAX_MATCH_MS = 250
const MAX_LINE_CHARS = 500
const MAX_MATCHES = 5_000

const input = z.object({
  pattern: z
    .string()
    .min(1)
    .describe(
      'content: a regular expression (JavaScript). files: a glob such as *.ts or src/**/*.md.',
    ),
  target: z.enum(['content', 'files']).default('content'),
  path: z.string().default('.').describe('Directory or file to search.'),
  file_glob: z.string().optional().describe('content: only files whose name matches.'),
  limit: z.int().min(1).max(500).default(50),
  offset: z.int().min(0).default(0),
  output_mode: z.enum(['content', 'files_only', 'count']).default('content'),
  context: z.int().min(0).max(20).default(0).describe('Lines around each match.'),
})
type Input = z.output<typeof input>

type Hit = { path: string; line: number; content: string }

export const searchFiles: Tool<typeof input> = {
  name: 'search_files',
  summary:
    'Search file contents by regular expression, or file names by glob (target files). Passes over .git, node_modules, binary files and what .gitignore names. Answers total_count, matches [{path, line, content}], files or counts, and whether the list was cut.',
  input,
  kind: 'read',
  preview: ({ pattern, path }) => (path === '.' ? pattern : `${pattern} in ${path}`),
  async run(ctx, given) {
    const root = toPlace(ctx, given.path)
    guardRead(ctx, root)
    const info = await stat(root).catch(() => null)
    if (!info) throw new Error(`${given.path} does not exist.`)
    const search = { ctx, given, root, isFile: info.isFile(), until: performance.now() + MAX_MS }
    const result = given.target === 'files' ? await byName(search) : await byContent(search)
    return { content: JSON.stringify(result) }
  },
}

type Search = { ctx: ToolContext; given: Input; root: string; isFile: boolean; until: number }

async function* files({ ctx, root, isFile, until }: Search, enough: () => boolean) {
  if (isFile) {
    yield { place: root, relative: basename(root) } satisfies Found
    return
  }
  let seen = 0
  const over = () => enough() || seen > MAX_FILES || performance.now() > until
  for await (const found of walk({
    root,
    denied: readGuard(ctx),
    signal: ctx.signal,
    enough: over,
  })) {
    seen++
    yield found
    if (over()) return
  }
}

/** A glob without a slash is compared with names, one with a slash with the way from the root. */
const matcher = (glob: string): ((found: Found) => boolean) => {
  const test = globToRegExp(glob)
  if (!test) throw new Error(`The glob ${glob} cannot be read.`)
  return ({ relative }) => test.test(glob.includes('/') ? relative : basename(relative))
}

const byName = async (search: Search) => {
  const { ctx, given, until } = search
  const { pattern, limit, offset } = given
  // A bare word is meant as a part of a name.
  const fits = matcher(/[*?[{]/.test(pattern) ? pattern : `*${pattern}*`)
  const found: { path: string; at: number }[] = []
  for await (const file of files(search, () => found.length >= MAX_MATCHES)) {
    if (!fits(file)) continue
    const info = await stat(file.place).catch(() => null)
    found.push({ path: toName(ctx, file.place), at: info?.mtimeMs ?? 0 })
  }
  // The newest first: what was worked on is what is looked for.
  found.sort((a, b) => b.at - a.at)
  const page = found.slice(offset, offset + limit)
  return {
    total_count: found.length,
    files: page.map(({ path }) => path),
    truncated: offset + limit < found.length || performance.now() > until,
  }
}

const byContent = async (search: Search) => {
  const { ctx, given, until } = search
  const { file_glob: glob, limit, offset, output_mode: mode, context } = given
  const linesMatching = compile(given.pattern)
  const fits = glob === undefined ? () => true : matcher(glob)
  const hits: Hit[] = []
  const counts: Record<string, number> = {}
  let total = 0
  for await (const file of files(search, () => total >= MAX_MATCHES)) {
    if (!fits(file)) continue
    const text = await readText(file.place)
    if (text === null) continue
    const matching = linesMatching(text)
    if (matching.length === 0) continue
    const path = toName(ctx, file.place)
    counts[path] = matching.length
    total += matching.length
    // Only what will be shown is cut out of the text.
    if (mode === 'content' && hits.length < offset + limit)
      hits.push(...toHits(path, text, matching.slice(0, offset + limit - hits.length), context))
  }
  const paths = Object.keys(counts)
  const shown = mode === 'content' ? total : paths.length
  return {
    total_count: total,
    ...(mode === 'content' && { matches: hits.slice(offset, offset + limit) }),
    ...(mode === 'files_only' && { files: paths.slice(offset, offset + limit) }),
    ...(mode === 'count' && {
      counts: Object.fromEntries(Object.entries(counts).slice(offset, offset + limit)),
    }),
    truncated: offset + limit < shown || performance.now() > until,
  }
}

const readText = async (place: string): Promise<string | null> => {
  const file = await open(place).catch(() => null)
  if (!file) return null
  try {
    if ((await file.stat()).size > MAX_FILE_BYTES) return null
    const bytes = await file.readFile()
    return isBinary(bytes) ? null : bytes.toString('utf8')
  } finally {
    await file.close()
  }
}

const FIND = new Script(
  'lines = []; text.split(/\\r?\\n/).forEach((line, at) => { if (pattern.test(line)) lines.push(at) })',
)

/** Matching runs under a clock of its own: a careless pattern can take longer than the universe. */
const compile = (pattern: string): ((text: string) => number[]) => {
  const wanted = toRegExp(pattern)
  const scope = createContext({ text: '', lines: [] as number[], pattern: wanted })
  return text => {
    scope.text = text
    try {
      FIND.runInContext(scope, { timeout: MAX_MATCH_MS })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      throw new Error('The pattern takes too long. Avoid nested repetitions such as (a+)+.')
    }
    return Array.from(scope.lines as number[])
  }
}

const toRegExp = (pattern: string): RegExp => {
  // Other dialects write "ignore case" like this.
  const ignoreCase = pattern.startsWith('(?i)')
  const source = ignoreCase ? pattern.slice(4) : pattern
  try {
    return new RegExp(source, ignoreCase ? 'i' : '')
  } catch {
    // Most often a plain text with an open bracket.
    return new RegExp(source.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), ignoreCase ? 'i' : '')
  }
}

const toHits = (path: string, text: string, matching: number[], context: number): Hit[] => {
  const lines = text.split(/\r?\n/)
  return matching.map(at => ({
    path,
    line: at + 1,
    content: lines
      .slice(Math.max(0, at - context), at + context + 1)
      .map(line => (line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)} […]` : line))
      .join('\n'),
  }))
}
