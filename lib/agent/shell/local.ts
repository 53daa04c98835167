/** Programs and scripts that lie where the agent works: read before they run, and judged by what is in them. */
import { closeSync, constants, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path/posix'
import { languageOf } from './interpreters.ts'
import { absolute, kindOf } from './paths.ts'
import type { Shell } from './state.ts'
import type { Finding, ShellContext, Simple } from './types.ts'

const MAX_SCRIPT_BYTES = 200_000

const SYSTEM_DIRECTORY =
  /^\/(?:usr\/(?:local\/)?)?s?bin\/|^\/usr\/(?:local\/)?(?:lib|libexec|games|go|node)[\w-]*\/|^\/opt\/(?:homebrew|local)\/|^\/nix\/|^\/snap\/bin\/|^\/lib\d*\/|^\/Applications\/|^\/System\/|^\/usr\/share\//
const TOOL_DIRECTORY =
  /\/(?:\.cargo|\.local|go|\.bun|\.deno|\.volta|\.pyenv|\.rbenv|\.asdf|\.nvm\/versions\/node\/[^/]+|node_modules\/\.|\.?v?env|venv[\w-]*|\.tox\/[^/]+|miniconda3(?:\/envs\/[^/]+)?|vendor)\/(?:bin|shims|Scripts)\/[^/]+$/

export type LocalPrograms = {
  /** The path names a file of its own, not a program of the system. */
  isLocalProgram: (path: string, cwd: string | null) => boolean
  judgeFile: (simple: Simple, ask: (label: string, more?: Partial<Finding>) => void) => void
  /** What is put together from files may stand in a word. */
  hasQuoted: boolean
  /** A package's program is installed in the workspace. */
  hasPackage: (program: string) => boolean
}

export const isProgramDirectory = (full: string): boolean =>
  SYSTEM_DIRECTORY.test(full) || TOOL_DIRECTORY.test(full)

/** The beginning of an ordinary file; null when there is none, or it is something else. */
export const readScript = (
  path: string,
): { text: string; isWhole: boolean; isBinary: boolean } | null => {
  let file: number
  try {
    // A pipe must not block: it is no script that could be read twice.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    // Not there or not readable: then it does not run either.
    return null
  }
  try {
    const stat = fstatSync(file)
    if (!stat.isFile()) return { text: '', isWhole: false, isBinary: false }
    const bytes = Buffer.alloc(Math.min(stat.size, MAX_SCRIPT_BYTES))
    const read = readSync(file, bytes, 0, bytes.length, 0)
    const start = bytes.subarray(0, read)
    return {
      text: start.toString('utf8'),
      isWhole: stat.size <= MAX_SCRIPT_BYTES,
      isBinary: start.subarray(0, 4_096).includes(0),
    }
  } finally {
    closeSync(file)
  }
}

/** What a file would be run by, from its first line and its name. */
export const languageOfFile = (path: string, text: string): 'shell' | 'code' => {
  const first = /^#!\s*(?:\S*\/env\s+(?:-S\s+)?)?(?:\S*\/)?([\w.-]+)/.exec(text)?.[1]
  if (first) return languageOf(first) ? 'code' : 'shell'
  return /\.(?:py|pyw|js|mjs|cjs|ts|mts|cts|tsx|rb|pl|php|lua|jl|r|R|exs?|swift|groovy|kts?|tcl|awk)$/.test(
    path,
  )
    ? 'code'
    : 'shell'
}

/** Scripts of build tools that every project brings along: long, and never understood to the end. */
export const isBuildWrapper = (path: string): boolean =>
  /(?:^|\/)(?:gradlew|mvnw|configure|autogen\.sh|bootstrap\.sh|sbtw?|millw?|config\.status)$/.test(
    path,
  )

export const hasPackageIn = (place: ShellContext): ((program: string) => boolean) => {
  const root = place.workspace ?? place.cwd
  return program => {
    const name = program.replace(/(?<=.)@[^/]*$/, '')
    if (!/^(?:@[\w.-]+\/)?[\w.-]+$/.test(name)) return false
    return [root, place.cwd].some(
      dir =>
        existsSync(join(dir, 'node_modules', '.bin', name.split('/').at(-1) ?? '')) ||
        existsSync(join(dir, 'node_modules', name)),
    )
  }
}

export const isLocalProgram = (path: string, cwd: string | null, place: ShellContext): boolean => {
  const full = absolute(path, cwd, place)
  return full === null || !isProgramDirectory(full)
}

/** Where a script lies that may run without being asked about for its place alone. */
export const isOwnPlace = (path: string, { cwd, place }: Pick<Shell, 'cwd' | 'place'>): boolean => {
  const kind = kindOf(path, cwd, place)
  return kind === 'workspace' || kind === 'temporary'
}
