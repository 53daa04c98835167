/** Where the Git directory of a workspace is. It may be outside: of a worktree, or of a repository that contains the workspace. */
import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isInside, realPath } from '../store/path-within.ts'
import { readText } from '../store/read-text.ts'

export type GitDirectories = {
  /** The repository that contains the workspace; null when that is the workspace itself. */
  root: string | null
  /** In the workspace: `.git`, a directory or the file of a worktree. */
  inside: readonly string[]
  /** Directories outside the workspace that Git writes to. */
  outside: readonly string[]
  /** Inside those: what makes Git run programs. Never writable. */
  kept: readonly string[]
}

const MAX_BYTES = 4_096

const lineOf = (path: string): string | null =>
  readText(path, { maxBytes: MAX_BYTES }).text?.trim() ?? null

const isDirectory = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Hooks and configuration of a Git directory and of its submodules. */
const keptIn = (dir: string): string[] => {
  const own = ['hooks', 'config', 'config.worktree', 'info'].map(name => join(dir, name))
  const modules = join(dir, 'modules')
  return [...own, ...(isDirectory(modules) ? [modules] : [])]
}

const same = (a: string, b: string): boolean => {
  try {
    return realpathSync(a) === realpathSync(b)
  } catch {
    // One of them does not exist.
    return false
  }
}

/**
 * The directories of a worktree whose `.git` file is this one, as real paths. The file could have been written by a
 * command, so the directory must name it in turn, and be where commands change nothing. Null: it does not.
 */
const worktreeOf = (
  file: string,
  changeable: readonly string[],
): { own: string; common: string } | null => {
  const named = /^gitdir: (.+)$/.exec(lineOf(file) ?? '')?.[1]
  if (!named) return null
  const own = realPath(resolve(dirname(file), named))
  const back = lineOf(join(own, 'gitdir'))
  if (back === null || !same(resolve(own, back), file)) return null
  const line = lineOf(join(own, 'commondir'))
  if (line === null) return null
  const common = realPath(resolve(own, line))
  const isFixed = ![dirname(file), ...changeable].some(
    root => isInside(root, own) || isInside(root, common),
  )
  return isFixed && isInside(join(common, 'worktrees'), own) ? { own, common } : null
}

/** Linked worktrees have configuration and hooks of their own. */
const worktreesIn = (common: string): string[] => {
  const dir = join(common, 'worktrees')
  return isDirectory(dir) ? readdirSync(dir).map(name => join(dir, name)) : []
}

const inspect = (
  at: string,
  changeable: readonly string[],
): Omit<GitDirectories, 'root'> | null => {
  const path = join(at, '.git')
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isDirectory()) return { inside: [path], outside: [], kept: keptIn(path) }
  const worktree = stat?.isFile() ? worktreeOf(path, changeable) : null
  if (!worktree) return null
  const { own, common } = worktree
  const others = worktreesIn(common).filter(dir => !same(dir, own))
  return {
    inside: [path],
    outside: [common],
    kept: [path, ...keptIn(common), ...others, join(own, 'config.worktree'), join(own, 'gitdir')],
  }
}

/**
 * `privateDirs`: their repositories are never shown, because they contain more than a project. `changeable`: directories
 * besides the workspace that commands may change. Null: no repository.
 */
export const gitDirectories = (
  workspace: string,
  privateDirs: readonly string[],
  changeable: readonly string[],
): GitDirectories | null => {
  const own = inspect(workspace, changeable)
  if (own || existsSync(join(workspace, '.git'))) return own && { root: null, ...own }
  for (let dir = dirname(workspace); dir !== dirname(dir); dir = dirname(dir)) {
    if (privateDirs.some(each => isInside(dir, each))) return null
    if (!existsSync(join(dir, '.git'))) continue
    const found = inspect(dir, [workspace, ...changeable])
    if (!found) return null
    return { root: dir, inside: [], outside: [...found.inside, ...found.outside], kept: found.kept }
  }
  return null
}
