/** What git says about a repository at the start of a session: branch, changes, recent commits. Bounded in time and length. */
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { shorten } from '../../base/shorten.ts'
import { visibleName } from '../../base/visible.ts'
import { openGit, type WorkspaceGitOptions } from '../../workspaces/git.ts'

/** Per command. A repository that needs longer is described without the answer. */
const TIMEOUT_MS = 400
const MAX_FILES = 8
const COMMITS = 5
const MAX_SUBJECT_CHARS = 72
const MAX_NAME_CHARS = 60
const MAX_BYTES = 1024 * 1024

/** Without the submodules' own changes: their configuration could name filters. */
export const STATUS = [
  'status',
  '--porcelain',
  '-z',
  '--untracked-files=normal',
  '--ignore-submodules=dirty',
]

/** Asks git in a repository; null without git. An answer is null when the command failed, took too long, or printed too much. */
export const openFacts = async (root: string, options: WorkspaceGitOptions) => {
  const git = await openGit(root, { timeoutMs: TIMEOUT_MS, ...options }).catch(() => undefined)
  if (!git) return null
  /** `none`: the exit code that says that nothing was found. */
  return async (args: readonly string[], none = 0): Promise<string | null> => {
    try {
      const { text, code, isCut } = await git(args, { maxBytes: MAX_BYTES })
      return (code === 0 || code === none) && !isCut ? text.replace(/\n$/, '') : null
    } catch {
      // A timeout: the fact is left out.
      return null
    }
  }
}

/** The paths in `git status --porcelain -z`. A renamed entry is followed by its old path. */
export const changedFiles = (status: string): string[] => {
  const entries = status.split('\0').filter(Boolean)
  const files: string[] = []
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at] ?? ''
    files.push(entry.slice(3))
    if (/^[RC]|^.[RC]/.test(entry)) at++
  }
  return files
}

const changesLine = (status: string | null): string[] => {
  if (status === null) return []
  const files = changedFiles(status)
  if (files.length === 0) return ['no uncommitted changes']
  const names = files.slice(0, MAX_FILES).map(name => shorten(visibleName(name), MAX_NAME_CHARS))
  const more = files.length > names.length ? ', …' : ''
  return [
    `${files.length} uncommitted ${files.length === 1 ? 'file' : 'files'}: ${names.join(', ')}${more}`,
  ]
}

const kindOf = (root: string): string[] => {
  const isFile = lstatSync(join(root, '.git'), { throwIfNoEntry: false })?.isFile() ?? false
  const hasModules =
    lstatSync(join(root, '.gitmodules'), { throwIfNoEntry: false })?.isFile() ?? false
  return [
    ...(isFile ? ['a linked worktree or submodule'] : []),
    ...(hasModules ? ['has submodules'] : []),
  ]
}

/** Lines for the prompt; empty without a repository or without git. `root`: the real path of the repository. */
export const gitFacts = async (root: string, options: WorkspaceGitOptions): Promise<string[]> => {
  const read = await openFacts(root, options)
  if (!read) return []
  const [branch, main, status, log] = await Promise.all([
    read(['symbolic-ref', '--short', '-q', 'HEAD']),
    read(['symbolic-ref', '--short', '-q', 'refs/remotes/origin/HEAD']),
    read(STATUS),
    read(['log', `-${COMMITS}`, '--no-show-signature', '--no-decorate', '--format=%s']),
  ])
  // Damaged.
  if (status === null && log === null) return []
  const mainName = main?.replace(/^origin\//, '')
  const state = [
    branch === null
      ? 'no branch checked out'
      : `branch ${shorten(visibleName(branch), MAX_NAME_CHARS)}`,
    ...(mainName ? [`default branch ${shorten(visibleName(mainName), MAX_NAME_CHARS)}`] : []),
    ...kindOf(root),
    ...changesLine(status),
  ]
  const commits = (log ?? '').split('\n').filter(Boolean)
  const subjects = commits.map(subject => `  - ${shorten(visibleName(subject), MAX_SUBJECT_CHARS)}`)
  return [
    `- Git: ${state.join('; ')}`,
    ...(subjects.length > 0 ? [`- Last commits:\n${subjects.join('\n')}`] : []),
  ]
}
