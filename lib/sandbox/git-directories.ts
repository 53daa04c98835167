/** Where the Git directory of a workspace is. It may be outside: of a worktree, or of a repository that contains the workspace. */
import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { isInside } from '../store/path-within.ts'
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
 * The directories of a worktree whose `.git` file is this one. The file could have been written by a command, so the
 * directory must name it in turn: its own file `gitdir` is outside the workspace. Null: it does not.
 */
const worktreeOf = (file: string): { own: string; common: string } | null => {
  const named = /^gitdir: (.+)$/.exec(lineOf(file) ?? '')?.[1]
  if (!named) return null
  const own = isAbsolute(named) ? named : resolve(dirname(file), named)
  const back = lineOf(join(own, 'gitdir'))
  if (isInside(dirname(file), own) || back === null || !same(resolve(own, back), file)) return null
  const common = lineOf(join(own, 'commondir'))
  if (common === null) return null
  const found = resolve(own, common)
  return isInside(join(found, 'worktrees'), own) ? { own, common: found } : null
}

/** Linked worktrees have configuration and hooks of their own. */
const worktreesIn = (common: string): string[] => {
  const dir = join(common, 'worktrees')
  return isDirectory(dir) ? readdirSync(dir).map(name => join(dir, name)) : []
}

const inspect = (at: string): Omit<GitDirectories, 'root'> | null => {
  const path = join(at, '.git')
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isDirectory()) return { inside: [path], outside: [], kept: keptIn(path) }
  const worktree = stat?.isFile() ? worktreeOf(path) : null
  if (!worktree) return null
  const { own, common } = worktree
  const others = worktreesIn(common).filter(dir => !same(dir, own))
  return {
    inside: [path],
    outside: [common],
    kept: [path, ...keptIn(common), ...others, join(own, 'config.worktree'), join(own, 'gitdir')],
  }
}

/** `private` are directories whose repository is never shown, because it contains more than a project. Null: no repository. */
export const gitDirectories = (
  workspace: string,
  privateDirs: readonly string[],
): GitDirectories | null => {
  const own = inspect(workspace)
  if (own || existsSync(join(workspace, '.git'))) return own && { root: null, ...own }
  for (let dir = dirname(workspace); dir !== dirname(dir); dir = dirname(dir)) {
    if (privateDirs.some(each => isInside(dir, each))) return null
    if (!existsSync(join(dir, '.git'))) continue
    const found = inspect(dir)
    if (!found) return null
    return { root: dir, inside: [], outside: [...found.inside, ...found.outside], kept: found.kept }
  }
  return null
}
