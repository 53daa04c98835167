/** Programs and scripts in the workspace, which are read and classified before they run. */
import { closeSync, constants, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path/posix'
import { languageOf } from './interpreters.ts'
import { absolute, kindOf } from './paths.ts'
import type { Shell } from './state.ts'
import type { Finding, ShellContext, SimpleCommand } from './types.ts'

const MAX_SCRIPT_BYTES = 200_000

const SYSTEM_DIRECTORY =
  /^\/(?:usr\/(?:local\/)?)?s?bin\/|^\/usr\/(?:local\/)?(?:lib|libexec|games|go|node)[\w-]*\/|^\/opt\/(?:homebrew|local)\/|^\/nix\/|^\/snap\/bin\/|^\/lib\d*\/|^\/Applications\/|^\/System\/|^\/usr\/share\//
const TOOL_DIRECTORY =
  /\/(?:\.cargo|\.local|go|\.bun|\.deno|\.volta|\.pyenv|\.rbenv|\.asdf|\.nvm\/versions\/node\/[^/]+|node_modules\/\.|\.?v?env|venv[\w-]*|\.tox\/[^/]+|miniconda3(?:\/envs\/[^/]+)?|vendor)\/(?:bin|shims|Scripts)\/[^/]+$/

export type LocalPrograms = {
  /** True if the path is a file of the workspace, not a system program. */
  isLocalProgram: (path: string, cwd: string | null) => boolean
  classifyFile: (
    simple: SimpleCommand,
    addFinding: (label: string, more?: Partial<Finding>) => void,
  ) => void
  /** True if an argument may contain file contents. */
  hasQuoted: boolean
  /** True if a package's program is installed in the workspace. */
  hasPackage: (program: string) => boolean
}

export const isProgramDirectory = (full: string): boolean =>
  SYSTEM_DIRECTORY.test(full) || TOOL_DIRECTORY.test(full)

/** The start of a regular file; null if it doesn't exist or isn't one. */
export const readScript = (
  path: string,
): { text: string; isWhole: boolean; isBinary: boolean } | null => {
  let file: number
  try {
    // O_NONBLOCK: opening a pipe must not block.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    // Missing or unreadable: it can't run either.
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

/** Whether a file is a shell script or other code, from its first line and its name. */
export const languageOfFile = (path: string, text: string): 'shell' | 'code' => {
  const first = /^#!\s*(?:\S*\/env\s+(?:-S\s+)?)?(?:\S*\/)?([\w.-]+)/.exec(text)?.[1]
  if (first) return languageOf(first) ? 'code' : 'shell'
  return /\.(?:py|pyw|js|mjs|cjs|ts|mts|cts|tsx|rb|pl|php|lua|jl|r|R|exs?|swift|groovy|kts?|tcl|awk)$/.test(
    path,
  )
    ? 'code'
    : 'shell'
}

/** Wrapper scripts of build tools (gradlew, mvnw), too long to be followed. */
export const isBuildWrapper = (path: string): boolean =>
  /(?:^|\/)(?:gradlew|mvnw|configure|autogen\.sh|bootstrap\.sh|sbtw?|millw?|config\.status)$/.test(
    path,
  )

export const hasPackageIn = (context: ShellContext): ((program: string) => boolean) => {
  const root = context.workspace ?? context.cwd
  return program => {
    const name = program.replace(/(?<=.)@[^/]*$/, '')
    if (!/^(?:@[\w.-]+\/)?[\w.-]+$/.test(name)) return false
    return [root, context.cwd].some(
      dir =>
        existsSync(join(dir, 'node_modules', '.bin', name.split('/').at(-1) ?? '')) ||
        existsSync(join(dir, 'node_modules', name)),
    )
  }
}

export const isLocalProgram = (
  path: string,
  cwd: string | null,
  context: ShellContext,
): boolean => {
  const full = absolute(path, cwd, context)
  return full === null || !isProgramDirectory(full)
}

/** Whether a script's location alone needs no approval. */
export const isProjectPath = (
  path: string,
  { cwd, context }: Pick<Shell, 'cwd' | 'context'>,
): boolean => {
  const kind = kindOf(path, cwd, context)
  return kind === 'workspace' || kind === 'temporary'
}
