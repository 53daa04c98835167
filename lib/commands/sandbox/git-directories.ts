/** Where the Git directory of a workspace is. It may be outside: of a worktree, or of a repository that contains the workspace. */
import { existsSync, lstatSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isInside, realPath } from '../../store/path-within.ts'
import { readText } from '../../store/read-text.ts'

/** What Git reads and writes for a workspace, as real paths where they are outside of it. */
export type Repository = {
  /** The directory with objects, refs, and configuration. */
  common: string
  /** The name of a linked worktree, whose own directory is `common`/worktrees/`worktree`; null: it is the main one. */
  worktree: string | null
}

export type GitDirectories = {
  /** The directory whose `.git` it is: the workspace, or one that contains it. */
  root: string
  /** `.git` of `root` and directories that it leads to. A command changes none of them directly. */
  paths: readonly string[]
  /** Null: it is a repository of another kind, whose Git directory no command can change. */
  repository: Repository | null
}

const MAX_BYTES = 4_096

const lineOf = (path: string): string | null =>
  readText(path, { maxBytes: MAX_BYTES }).text?.trim() ?? null

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
  own: string,
  changeable: readonly string[],
): Repository | null => {
  const back = lineOf(join(own, 'gitdir'))
  if (back === null || !same(resolve(own, back), file)) return null
  const line = lineOf(join(own, 'commondir'))
  if (line === null) return null
  const common = realPath(resolve(own, line))
  const isFixed = ![dirname(file), ...changeable].some(
    root => isInside(root, own) || isInside(root, common),
  )
  return isFixed && dirname(own) === join(common, 'worktrees')
    ? { common, worktree: own.slice(dirname(own).length + 1) }
    : null
}

const inspect = (root: string, changeable: readonly string[]): GitDirectories | null => {
  const path = join(root, '.git')
  const stat = lstatSync(path, { throwIfNoEntry: false })
  // Without HEAD it is none for Git either, which looks further up then. The sandbox makes such a directory: `private-git.ts`.
  const head = stat?.isDirectory() && lstatSync(join(path, 'HEAD'), { throwIfNoEntry: false })
  if (head)
    return {
      root,
      paths: [path],
      repository: head.isFile() ? { common: path, worktree: null } : null,
    }
  if (!stat?.isFile()) return null
  const target = /^gitdir: (.+)$/.exec(lineOf(path) ?? '')?.[1]
  if (target === undefined) return { root, paths: [path], repository: null }
  const own = realPath(resolve(root, target))
  const repository = worktreeOf(path, own, changeable)
  if (repository) return { root, paths: [path, repository.common], repository }
  // Also a directory in the workspace: Git reads its configuration.
  return { root, paths: isInside(root, own) && own !== root ? [path, own] : [path], repository }
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
  if (own) return own
  for (let dir = dirname(workspace); dir !== dirname(dir); dir = dirname(dir)) {
    if (privateDirs.some(each => isInside(dir, each))) return null
    if (!existsSync(join(dir, '.git'))) continue
    return inspect(dir, [workspace, ...changeable])
  }
  return null
}
