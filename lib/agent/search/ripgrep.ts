/** Finds ripgrep and runs it: it decides what a match is. The files are named by the listing, which decides what may be read. */
import { access, constants } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { findProgram } from '../../base/find-program.ts'
import { run, type RunResult } from '../../base/process.ts'
import type { ListedFile } from './list-files.ts'

export type Ripgrep = { path: string; version: string; from: 'package' | 'PATH' }

/** The oldest version that the tests were run with. */
const OLDEST: readonly [number, number] = [14, 0]
const VERSION_MS = 2_000

const PROGRAM = process.platform === 'win32' ? 'rg.exe' : 'rg'
const PACKAGE = `@vscode/ripgrep-${process.platform}-${process.arch}/bin/${PROGRAM}`

/** The program of the npm package beside this code, else that of the executable, else one on `path`; null if there is none that is new enough. */
export const findRipgrep = async (
  path: string,
  {
    beside = import.meta.url,
    unpack,
  }: {
    /** Path or URL of a file in the directory from which the package is resolved. */
    beside?: string
    /** The path of the executable's own. */
    unpack?: (() => string | undefined) | undefined
  } = {},
): Promise<Ripgrep | null> => {
  const packaged = packagePath(beside) ?? unpack?.()
  const program = packaged ?? findProgram(path, PROGRAM)
  if (program === undefined) return null
  const version = await versionOf(program)
  return version === null ? null : { path: program, version, from: packaged ? 'package' : 'PATH' }
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

/** PCRE2 is used for what Rust's regular expressions lack, such as lookarounds. `--text`: what is binary is decided below. */
const OPTIONS = ['--no-config', '--no-ignore', '--text', '--crlf', '--engine=auto']
const NAMED = ['--with-filename', '--null', '--color=never', '--line-buffered']

/** Limit of the names in one command line, about 4,000: macOS allows 1 MB of arguments, and what was found in a batch is kept when the time is up. */
const MAX_NAMES_BYTES = 200_000
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

export type SearchRun = {
  ripgrep: Ripgrep
  /** The names of the files are relative to it. */
  cwd: string
  signal: AbortSignal
  /** In milliseconds of `performance.now()`. */
  until: number
}

/** False: ripgrep cannot compile it. */
export const isPattern = async ({ ripgrep, cwd, signal }: SearchRun, source: string) => {
  const options = { cwd, env: ENV, timeoutMs: VERSION_MS, signal, input: '' }
  const { code } = await run(ripgrep.path, [...OPTIONS, '-e', source, '--', '-'], options)
  signal.throwIfAborted()
  return code !== 2
}

const batchesOf = (files: readonly ListedFile[]): ListedFile[][] => {
  const batches: ListedFile[][] = []
  let room = 0
  for (const file of files) {
    const bytes = Buffer.byteLength(file.relative) + 16
    if (bytes > room) {
      batches.push([])
      room = MAX_NAMES_BYTES
    }
    batches.at(-1)?.push(file)
    room -= bytes
  }
  return batches
}

const unreadableOf = async (files: readonly ListedFile[]): Promise<number> => {
  const checks = files.map(({ fullPath }) =>
    access(fullPath, constants.R_OK).then(
      () => 0,
      () => 1,
    ),
  )
  return (await Promise.all(checks)).reduce<number>((sum, one) => sum + one, 0)
}

/** A file that cannot be read is no failure of the search. */
const checkResult = ({ code, stopped, stderr }: RunResult): void => {
  if (stderr.includes('match limit exceeded'))
    throw new Error('This pattern takes too long: it tries too many ways to match. Simplify it.')
  const isDone = code === 0 || code === 1 || (code === 2 && stderr.startsWith('rg: ./'))
  if (stopped === null && !isDone)
    throw new Error(`ripgrep failed: ${stderr.trim() || `exit code ${code}`}`)
}

type Output = { text: string; isReadable: boolean; isPartial: boolean }

const runFor = async (
  { ripgrep, cwd, signal, until }: SearchRun,
  args: readonly string[],
  batch: readonly ListedFile[],
): Promise<Output> => {
  const timeoutMs = until - performance.now()
  if (batch.length === 0 || timeoutMs <= 0)
    return { text: '', isReadable: true, isPartial: batch.length > 0 }
  const names = batch.map(({ relative }) => `./${relative}`)
  const options = { cwd, env: ENV, timeoutMs, signal, maxBytes: MAX_OUTPUT_BYTES }
  const runWith = (access: '--mmap' | '--no-mmap') =>
    run(ripgrep.path, [...OPTIONS, access, ...NAMED, ...args, '--', ...names], options)
  // Otherwise a line of gigabytes is held in memory, twice.
  const mapped = await runWith('--mmap')
  // A file that becomes shorter while it is mapped ends ripgrep by a signal.
  const isKilled = mapped.code === null && mapped.stopped === null
  const result = isKilled ? await runWith('--no-mmap') : mapped
  signal.throwIfAborted()
  checkResult(result)
  const isPartial = result.stopped !== null
  return { text: result.stdout.toString(), isReadable: isPartial || result.code !== 2, isPartial }
}

export type Counts = {
  /** How many lines match, by relative path; files without a match are left out. */
  counts: Map<string, number>
  /** Relative paths of the files with a NUL, which ripgrep and git take for binary. */
  binary: Set<string>
  /** Files that were searched to their end, or are binary. */
  searched: number
  unreadable: number
  isPartial: boolean
}

/** Binary files are found first, which reads them up to their first NUL only. */
export const countMatches = async (
  search: SearchRun,
  source: string,
  files: readonly ListedFile[],
): Promise<Counts> => {
  const all: Counts = {
    counts: new Map(),
    binary: new Set(),
    searched: 0,
    unreadable: 0,
    isPartial: false,
  }
  for (const batch of batchesOf(files)) {
    const binaries = await runFor(search, ['--files-with-matches', '-e', '\\x00'], batch)
    for (const path of binaries.text.split('\0')) if (path) all.binary.add(path.slice('./'.length))
    const text = batch.filter(({ relative }) => !all.binary.has(relative))
    const counted = await runFor(search, ['--count', '-e', source], text)
    for (const [, path = '', count] of counted.text.matchAll(/\.\/([^\0]*)\0(\d+)\r?\n/g))
      all.counts.set(path, Number(count))
    if (binaries.isPartial || counted.isPartial) return { ...all, isPartial: true }
    all.searched += batch.length
    if (!counted.isReadable) all.unreadable += await unreadableOf(text)
  }
  return all
}

/** `line` counts from 1, `column` in bytes from 1. */
export type LinePlace = { line: number; column: number }

/** Where the first `max` matching lines of each file are, by relative path. */
export const findLines = async (
  search: SearchRun,
  source: string,
  { files, max }: { files: readonly ListedFile[]; max: number },
): Promise<Map<string, LinePlace[]>> => {
  // The text of a longer line is left out: only its place is needed.
  const args = ['--line-number', '--column', '--max-columns=1', `--max-count=${max}`]
  const places = new Map<string, LinePlace[]>(files.map(({ relative }) => [relative, []]))
  for (const batch of batchesOf(files)) {
    const { text } = await runFor(search, [...args, '-e', source], batch)
    // No column: the match includes the end of the line.
    const matches = text.matchAll(/\.\/([^\0]*)\0(\d+):(?:(\d+):)?[^\n]*\n/g)
    for (const [, path = '', line, column = 1] of matches)
      places.get(path)?.push({ line: Number(line), column: Number(column) })
  }
  return places
}
