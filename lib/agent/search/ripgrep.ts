/** Finds ripgrep, and has it select the files, and the lines of large ones, that our own threads must read. */
import { createRequire } from 'node:module'
import { findProgram } from '../../base/find-program.ts'
import { run, type RunResult } from '../../base/process.ts'
import { ALWAYS_IGNORED } from './gitignore.ts'
import type { Found, Listing } from './list-files.ts'
import { type LinePlaces, NOT_TEXT_HEADS } from './worker.ts'

export type Ripgrep = {
  path: string
  version: string
  from: 'package' | 'PATH'
  /** It is used for files whose mean size is at least this; default: `MIN_MEAN_BYTES` of `candidates.ts`. */
  minMeanBytes?: number
}

/** The oldest version that the tests were run with. */
const OLDEST: readonly [number, number] = [14, 0]
const VERSION_MS = 2_000

const PROGRAM = process.platform === 'win32' ? 'rg.exe' : 'rg'
const PACKAGE = `@vscode/ripgrep-${process.platform}-${process.arch}/bin/${PROGRAM}`

/** The program of the npm package beside this code, else one on `path`; null if there is none that is new enough. */
export const findRipgrep = async (
  path: string,
  /** Path or URL of a file in the directory from which the package is resolved. */
  beside = import.meta.url,
): Promise<Ripgrep | null> => {
  const packaged = packagePath(beside)
  const found = packaged ?? findProgram(path, PROGRAM)
  if (found === undefined) return null
  const version = await versionOf(found)
  return version === null ? null : { path: found, version, from: packaged ? 'package' : 'PATH' }
}

const packagePath = (beside: string): string | undefined => {
  try {
    return createRequire(beside).resolve(PACKAGE)
  } catch {
    // Not installed: an optional package, and absent beside a single file.
    return undefined
  }
}

/** Null if it doesn't run or is too old. */
const versionOf = async (path: string): Promise<string | null> => {
  try {
    const options = { cwd: '/', env: ENV, timeoutMs: VERSION_MS }
    const { code, stdout } = await run(path, ['--no-config', '--version'], options)
    const [, version = '', major, minor] = /^ripgrep ((\d+)\.(\d+)\S*)/.exec(`${stdout}`) ?? []
    const isNew = Number(major) * 1000 + Number(minor) >= OLDEST[0] * 1000 + OLDEST[1]
    return code === 0 && isNew ? version : null
  } catch {
    // Cannot be started, for example because it was built for another system.
    return null
  }
}

/** Empty: `RIPGREP_CONFIG_PATH` could name a program to run for every file. */
const ENV = {}

/** Ignore rules, symbolic links, and the kind of a file are decided by the listing and the threads, not by ripgrep. */
const OPTIONS = ['--no-config', '--no-ignore', '--hidden', '--no-follow', '--text']
const OUTPUT = ['--encoding=none', '--color=never', '--files-with-matches', '--null']
/** Files that are no text, so that the threads count them. */
const escapeBytes = (text: string): string =>
  [...Buffer.from(text, 'latin1')].map(byte => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
const HEADS = NOT_TEXT_HEADS.map(escapeBytes).join('|')
const NOT_TEXT = ['-e', '\\x00', '-e', `(?-u:^(?:${HEADS}))`]

/**
 * A pattern that begins with a literal is fast together with those. For others, such as `\w+x` and those that ignore case,
 * ripgrep has a fast way only if they are alone: up to ten times faster.
 */
const patternLists = (prefilter: string): string[][] =>
  /^(?:\w|\\x\w\w){2}/.test(prefilter)
    ? [['-e', prefilter, ...NOT_TEXT]]
    : [['-e', prefilter], NOT_TEXT]

/** Limits of a command line; Windows allows 32,767 characters. */
const MAX_EXCLUDED_CHARS = process.platform === 'win32' ? 16_000 : 200_000
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

export type Selection = {
  /** The files to read. The others have no match. */
  files: readonly Found[]
  /** True if ripgrep did not see every file in time: then files that are not selected may match. */
  isPartial: boolean
}

export type SelectOptions = {
  root: string
  listing: Listing
  /** Of `listing`, those that are searched. */
  files: readonly Found[]
  prefilter: string
  signal: AbortSignal
  timeoutMs: number
}

/**
 * Selects the files with a line that `prefilter` matches, those that are not text, and those that ripgrep could not
 * read. It walks the directory by itself, without what the listing left out. Null if that is not possible.
 */
export const selectFiles = async (
  { path }: Ripgrep,
  { root, listing, files, prefilter, signal, timeoutMs }: SelectOptions,
): Promise<Selection | null> => {
  const exclusions = exclusionsOf(listing)
  if (exclusions === null) return null
  const options = { cwd: root, env: ENV, timeoutMs, signal, maxBytes: MAX_OUTPUT_BYTES }
  const results = await Promise.all(
    patternLists(prefilter).map(patterns =>
      run(path, [...OPTIONS, ...OUTPUT, ...exclusions, ...patterns, '--', './'], options)
        .then(pathsOf)
        .catch(() => null),
    ),
  )
  signal.throwIfAborted()
  const named = new Set<string>()
  for (const paths of results) {
    if (paths === null) return null
    for (const one of paths.found) named.add(withoutDot(one))
  }
  // A name that is not UTF-8 is listed differently.
  const isSelected = ({ relative }: Found) => named.has(relative) || relative.includes('\ufffd')
  return {
    files: files.filter(isSelected),
    isPartial: results.some(paths => paths?.isPartial),
  }
}

/** The paths that ripgrep printed, and those it could not read. Null if it failed. */
const pathsOf = ({
  stopped,
  code,
  stdout,
  stderr,
}: RunResult): { found: string[]; isPartial: boolean } | null => {
  if (stopped === 'limit') return null
  const isPartial = stopped === 'timeout'
  if (!isPartial && ![0, 1, 2].includes(code ?? -1)) return null
  const unread = isPartial || code !== 2 ? [] : pathsOfErrors(stderr)
  return unread && { found: [...`${stdout}`.split('\0'), ...unread], isPartial }
}

const LINES = [
  '--encoding=none',
  '--color=never',
  '--no-filename',
  '--line-number',
  '--byte-offset',
]
/** One short record per line: the match extends to the end of its line and is replaced by nothing. */
const RECORDS = ['--only-matching', '--replace=']
const REST_OF_LINE = '(?-u:[^\\n])*'
/** About 200,000 lines. With more, reading the whole file is as fast. */
const MAX_RECORD_BYTES = 4 * 1024 * 1024

export type FindOptions = {
  fullPath: string
  prefilter: string
  signal: AbortSignal
  timeoutMs: number
}

/** The lines of a file that `prefilter` matches. Null if there are too many, or that is not possible. */
export const findLines = async (
  { path }: Ripgrep,
  { fullPath, prefilter, signal, timeoutMs }: FindOptions,
): Promise<LinePlaces | null> => {
  const pattern = `(?:${prefilter})${REST_OF_LINE}`
  const args = ['--no-config', '--no-ignore', '--text', ...LINES, ...RECORDS, '-e', pattern]
  const options = { cwd: '/', env: ENV, timeoutMs, signal, maxBytes: MAX_RECORD_BYTES }
  const result = await run(path, [...args, '--', fullPath], options).catch(() => null)
  signal.throwIfAborted()
  if (result === null || result.stopped !== null || ![0, 1].includes(result.code ?? -1)) return null
  const numbers: number[] = []
  const offsets: number[] = []
  for (const [, number, offset] of `${result.stdout}`.matchAll(/^(\d+):(\d+):/gm)) {
    if (Number(number) === numbers.at(-1)) continue
    numbers.push(Number(number))
    offsets.push(Number(offset))
  }
  return { numbers: Uint32Array.from(numbers), offsets: Float64Array.from(offsets) }
}

const withoutDot = (path: string): string => {
  const inOurForm = process.platform === 'win32' ? path.replaceAll('\\', '/') : path
  return inOurForm.replace(/^\.\//, '')
}

/** Globs for everything that the listing left out. Null if a denied path does not fit. */
const exclusionsOf = ({ denied, ignoredPaths }: Listing): string[] | null => {
  const globs = [...ALWAYS_IGNORED].flatMap(name => ['-g', `!${escapeGlob(name)}`])
  let chars = 0
  for (const path of denied) {
    const glob = `!/${escapeGlob(path)}`
    chars += glob.length
    globs.push('-g', glob)
  }
  if (chars > MAX_EXCLUDED_CHARS) return null
  // Excluded only to save time: what the listing does not name is dropped from the selection.
  for (const path of ignoredPaths) {
    const glob = `!/${escapeGlob(path)}`
    chars += glob.length
    if (chars > MAX_EXCLUDED_CHARS) break
    globs.push('-g', glob)
  }
  return globs
}

/** Character classes, because a backslash is a path separator on Windows. A trailing space would be dropped. */
const escapeGlob = (path: string): string =>
  path.replace(/[*?[\]{}\s]/g, '[$&]').replaceAll('\\', '\\\\')

const MAX_ERROR_CHARS = 4_000

/** The paths of messages such as `rg: ./a: Permission denied (os error 13)`. Null if one has another form. */
const pathsOfErrors = (stderr: string): string[] | null => {
  if (stderr.length >= MAX_ERROR_CHARS) return null
  const paths = stderr
    .split('\n')
    .filter(Boolean)
    .map(line => /^(?:rg: )?(\.[\\/].*): [^:]* \(os error \d+\)$/.exec(line)?.[1])
  const isKnown = paths.length > 0 && paths.every(path => path !== undefined)
  return isKnown ? paths : null
}
