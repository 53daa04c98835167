/**
 * Worktrees of a repository in which a chat works on a branch of its own. Git itself knows them, so nothing else has to be
 * kept: a restart, a deleted chat, and other programs find them with `git worktree list`.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs'
import { basename, join } from 'node:path'
import { conflict, invalid, missing } from '../errors.ts'
import type { GitWorktree } from '../schema/git.ts'
import { makeDir } from '../store/make-dir.ts'
import { isInside } from '../store/path-within.ts'
import { requireBranchName } from './git-branches.ts'
import { gitReason, type PersonGit } from './git-person.ts'
import { pathsOfMerge } from './git-writes.ts'

/** What these change is outside the working tree, or as it was before. */
const NO_PATHS = async () => []

type Listed = { path: string; branch: string | null; head: string }

/** All of the repository, the main one first. */
const list = async (git: PersonGit): Promise<Listed[]> => {
  const { text } = await git.run(['worktree', 'list', '--porcelain', '-z'])
  return text.split('\0\0').flatMap(record => {
    const fields = new Map(
      record.split('\0').map(line => {
        const at = line.indexOf(' ')
        return at < 0 ? ([line, ''] as const) : ([line.slice(0, at), line.slice(at + 1)] as const)
      }),
    )
    const path = fields.get('worktree')
    if (!path || fields.has('bare')) return []
    const branch = fields.get('branch')?.replace(/^refs\/heads\//, '') ?? null
    return [{ path, branch, head: fields.get('HEAD') ?? '' }]
  })
}

const real = (path: string): string => (existsSync(path) ? realpathSync(path) : path)

const countCommits = async (git: PersonGit, range: string): Promise<number> =>
  Number((await git.try(['rev-list', '--count', range, '--'])).text.trim() || 0)

/** Those in `dir`, with what their branches have that the main checkout does not, and the reverse. */
export const worktrees = async (
  git: PersonGit,
  dir: string,
  root: string,
): Promise<GitWorktree[]> => {
  const [main, ...others] = await list(git)
  if (!main) return []
  const own = others.filter(({ path, branch }) => branch && isInside(real(dir), real(path)))
  return Promise.all(
    own.map(async ({ path, branch, head }) => ({
      path,
      branch: branch ?? '',
      current: real(path) === real(root),
      main: main.path,
      base: main.branch ?? main.head.slice(0, 7),
      ahead: await countCommits(git, `${main.head}..${head}`),
      behind: await countCommits(git, `${head}..${main.head}`),
    })),
  )
}

/** The worktree that a workspace is. Throws when it is none of `dir`. */
export const currentWorktree = async (
  git: PersonGit,
  dir: string,
  root: string,
): Promise<GitWorktree> => {
  const worktree = (await worktrees(git, dir, root)).find(({ current }) => current)
  if (!worktree)
    throw invalid('This workspace is not a worktree of a chat.', { code: 'not_a_worktree' })
  return worktree
}

const slug = (branch: string): string => branch.replace(/[^\p{L}\p{N}._-]+/gu, '-').slice(0, 60)

/**
 * Creates a branch at the current commit and a directory for it below `dir`. With `carry`, changes of tracked files are
 * copied; they stay in the first checkout as well.
 */
export const createWorktree = async (
  git: PersonGit,
  openAt: (path: string) => Promise<PersonGit>,
  { dir, root, branch, carry }: { dir: string; root: string; branch: string; carry: boolean },
): Promise<{ path: string }> => {
  git.requireOwnFilters()
  await requireBranchName(git, branch)
  if ((await git.try(['rev-parse', '--verify', '--quiet', 'HEAD'])).code !== 0)
    throw conflict('A worktree needs a commit to begin with. Commit something first.', {
      code: 'worktree_needs_commit',
    })
  const path = join(
    dir,
    `${slug(basename(root))}-${slug(branch)}-${randomBytes(2).toString('hex')}`,
  )
  makeDir(dir)
  // Before the branch: its changes must not be lost if they cannot be taken.
  const changes = carry ? (await git.run(['stash', 'create'])).text.trim() : ''
  await git.write(['worktree', 'add', '--quiet', '-b', branch, '--', path, 'HEAD'], NO_PATHS, {
    isLong: true,
  })
  if (!changes) return { path }
  const newGit = await openAt(path)
  await newGit.write(['stash', 'apply', '--quiet', '--index', changes], NO_PATHS)
  return { path }
}

const requireClean = async (git: PersonGit, where: string, branch: string): Promise<void> => {
  const { text } = await git.run([
    'status',
    '--porcelain',
    '--ignore-submodules=dirty',
    '--untracked-files=no',
  ])
  if (text)
    throw conflict(`${where} has changes that are not committed. Commit or stash them first.`, {
      code: 'git_not_clean',
      values: { branch },
    })
}

/** Merges the main checkout's commit into the worktree, where conflicts can be resolved or the merge aborted. */
export const updateWorktree = async (
  git: PersonGit,
  { base, branch }: GitWorktree,
): Promise<void> => {
  git.requireOwnFilters()
  await requireClean(git, 'This worktree', branch)
  await git.write(['merge', '--no-edit', base], () => pathsOfMerge(git, base))
}

/**
 * Merges the worktree's branch into the main checkout: a fast-forward where that is possible. With conflicts nothing is
 * changed there.
 */
export const mergeWorktree = async (
  git: PersonGit,
  main: PersonGit,
  { branch, base }: GitWorktree,
): Promise<void> => {
  main.requireOwnFilters()
  await requireClean(git, 'This worktree', branch)
  await requireClean(main, `The checkout of ${base}`, base)
  const ref = `refs/heads/${branch}`
  const { code, text, error } = await main.write(
    ['merge', '--no-edit', ref],
    () => pathsOfMerge(main, ref),
    { mayFail: true },
  )
  if (code === 0) return
  const names = (await main.try(['diff', '--name-only', '--diff-filter=U'])).text.trim()
  await main.write(['merge', '--abort'], NO_PATHS, { mayFail: true })
  if (!names) {
    const reason = gitReason(error || text)
    throw conflict(`The merge failed: ${reason}`, { code: 'git_failed', values: { reason } })
  }
  const paths = names.split('\n')
  throw conflict(
    `${base} and ${branch} changed the same lines of ${paths.join(', ')}. Update this worktree from ${base} and resolve the conflicts here first.`,
    { code: 'git_merge_conflict', values: { base, branch, paths: paths.slice(0, 5) } },
  )
}

/** Files that are counted one by one; beyond them the count is this number. */
const MAX_IGNORED = 50_000

type IgnoredFiles = { count: number; largest: { path: string; bytes: number } | null }

/** The files that Git ignores, which no commit has: `.env`, databases, installed packages. */
const ignoredFiles = async (git: PersonGit, root: string): Promise<IgnoredFiles> => {
  const { text } = await git.run([
    ...['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory'],
  ])
  const files: IgnoredFiles = { count: 0, largest: null }
  const visit = (path: string): void => {
    if (files.count >= MAX_IGNORED) return
    const stat = lstatSync(join(root, path), { throwIfNoEntry: false })
    if (!stat) return
    if (stat.isDirectory()) {
      for (const name of readdirSync(join(root, path))) visit(join(path, name))
      return
    }
    files.count++
    if (stat.size > (files.largest?.bytes ?? -1)) files.largest = { path, bytes: stat.size }
  }
  for (const path of text.split('\0')) if (path) visit(path.replace(/\/$/, ''))
  return files
}

/** Removes directory and branch. Without `force` only when nothing would be lost. */
export const removeWorktree = async (
  main: PersonGit,
  openAt: (path: string) => Promise<PersonGit>,
  worktree: GitWorktree | undefined,
  force: boolean,
): Promise<void> => {
  if (!worktree) throw missing('That worktree no longer exists', { code: 'worktree_not_found' })
  const { path, branch, ahead } = worktree
  if (!force) {
    const git = await openAt(path)
    const { text } = await git.run(['status', '--porcelain', '--ignore-submodules=none'])
    const ignored = await ignoredFiles(git, path)
    if (text || ahead > 0 || ignored.count > 0)
      throw conflict(`The worktree “${branch}” has work that is merged nowhere.`, {
        code: 'git_unmerged',
        values: { branch },
        commits: ahead,
        changed: text.split('\n').filter(Boolean).length,
        ignored: ignored.count,
        largest: ignored.largest,
      })
  }
  await main.write(
    ['worktree', 'remove', ...(force ? ['--force', '--force'] : []), '--', path],
    NO_PATHS,
  )
  await main.run(['branch', '--quiet', '-D', '--', branch])
}
