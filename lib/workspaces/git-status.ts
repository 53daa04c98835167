/** Branch and changed files of a workspace, read from `git status --porcelain=v2`. */
import type { GitFile, GitInfo, GitStatus } from '../schema/git.ts'
import type { Git } from './git.ts'

/** More than a person looks through; an unignored dependency folder has tens of thousands. */
const MAX_FILES = 2_000

const WORDS: Readonly<Record<string, GitFile['status']>> = {
  M: 'modified',
  T: 'typechange',
  A: 'added',
  D: 'deleted',
  R: 'renamed',
  C: 'copied',
  U: 'conflict',
}

const NONE: GitStatus = {
  is_git: false,
  branch: null,
  detached: false,
  upstream: null,
  ahead: 0,
  behind: 0,
  files: [],
  truncated: false,
}

/** The text after the n-th space. */
const after = (line: string, n: number): string => line.split(' ').slice(n).join(' ')

const toFile = (xy: string, path: string, old: string | undefined): GitFile => {
  const [index = ' ', worktree = ' '] = [...xy].map(letter => (letter === '.' ? ' ' : letter))
  const status = WORDS[index === ' ' ? worktree : index] ?? 'modified'
  return { path, ...(old === undefined ? {} : { old_path: old }), index, worktree, status }
}

/** Exported for its cases. Records end with NUL; a renamed file's has its former name as a record of its own. */
export const parseStatus = (text: string): GitStatus => {
  const status: GitStatus = { ...NONE, is_git: true, files: [] }
  const records = text.split('\0')
  let commit = ''
  for (let n = 0; n < records.length; n++) {
    const line = records[n] ?? ''
    const [kind, second = ''] = line.split(' ')
    if (kind === '#') {
      const value = after(line, 2)
      if (second === 'branch.oid') commit = value
      else if (second === 'branch.head') status.branch = value
      else if (second === 'branch.upstream') status.upstream = value
      else if (second === 'branch.ab') {
        const [, ahead = '0', behind = '0'] = /^\+(\d+) -(\d+)$/.exec(value) ?? []
        Object.assign(status, { ahead: Number(ahead), behind: Number(behind) })
      }
    } else if (kind === '1') status.files.push(toFile(second, after(line, 8), undefined))
    else if (kind === '2') status.files.push(toFile(second, after(line, 9), records[++n]))
    else if (kind === 'u')
      status.files.push({ ...toFile(second, after(line, 10), undefined), status: 'conflict' })
    else if (kind === '?') {
      const path = after(line, 1)
      status.files.push({ path, index: '?', worktree: '?', status: 'untracked' })
    }
  }
  if (status.branch === '(detached)') {
    status.detached = true
    status.branch = commit.slice(0, 7)
  }
  return status
}

/** With `all`, every untracked file; otherwise a folder of untracked files is one entry, as in `git status`. */
const runStatus = async (git: Git, all: boolean): Promise<GitStatus> => {
  const { text, code, isCut } = await git([
    'status',
    '--porcelain=v2',
    '-z',
    '--branch',
    '--find-renames',
    '--ignore-submodules=dirty',
    `--untracked-files=${all ? 'all' : 'normal'}`,
  ])
  // Damaged, or another user's: to us it is no repository.
  if (code !== 0 && !isCut) return NONE
  const status = parseStatus(isCut ? text.slice(0, text.lastIndexOf('\0')) : text)
  return { ...status, truncated: isCut }
}

/** Files for which `isHidden` is true are left out. */
export const readStatus = async (
  git: Git | undefined,
  isHidden: (path: string) => boolean,
  maxFiles = MAX_FILES,
): Promise<GitStatus> => {
  if (!git) return NONE
  const status = await runStatus(git, true)
  const files = status.files.filter(({ path }) => !isHidden(path))
  return {
    ...status,
    files: files.slice(0, maxFiles),
    truncated: status.truncated || files.length > maxFiles,
  }
}

/** `git` is null outside of a repository, and where git cannot say. */
export const readInfo = async (git: Git | undefined): Promise<GitInfo> => {
  const { is_git, branch, ahead, behind, files } = git ? await runStatus(git, false) : NONE
  if (!is_git) return { git: null }
  const touched = ({ index, worktree }: GitFile) => /[MAR]/.test(index) || /[MAR]/.test(worktree)
  const counts = {
    branch: branch ?? '',
    dirty: files.length,
    modified: files.filter(touched).length,
    untracked: files.filter(({ index }) => index === '?').length,
    ahead,
    behind,
  }
  return { ...counts, git: { ...counts, is_git: true } }
}
