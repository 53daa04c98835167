/** The diff of one changed file (against the index, against the last commit, or of a new file against nothing), and one commit with its diff. */
import { closeSync, fstatSync, lstatSync, readlinkSync, readSync } from 'node:fs'
import { missing, unavailable } from '../errors.ts'
import type { GitDiff, GitCommit } from '../schema/git.ts'
import { withUserErrors } from '../store/file-error.ts'
import { openDirHandle, openEntry } from '../store/dir-handle.ts'
import type { FileScope } from './file-scope.ts'
import type { Git } from './git.ts'
import { readStatus } from './git-status.ts'

export type DiffKind = 'worktree' | 'index' | 'untracked'

const MAX_BYTES = 400_000

/** Ends where a line ends. */
const cutLines = (text: string): string => text.slice(0, text.lastIndexOf('\n') + 1)

/** As git writes names that would break a line. */
const quote = (name: string): string => {
  if (!/[\0-\x1f\x7f"\\]/.test(name)) return name
  const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r' }
  const text = name.replace(/[\0-\x1f\x7f"\\]/g, letter =>
    letter === '"' || letter === '\\'
      ? `\\${letter}`
      : (escapes[letter] ?? `\\${letter.charCodeAt(0).toString(8).padStart(3, '0')}`),
  )
  return `"${text}"`
}

/** A whole file as added lines. */
const added = (path: string, mode: string, text: string): string => {
  const [a, b] = [quote(`a/${path}`), quote(`b/${path}`)]
  const head = `diff --git ${a} ${b}\nnew file mode ${mode}\n`
  if (text === '') return head
  const isWhole = text.endsWith('\n')
  const lines = (isWhole ? text.slice(0, -1) : text).split('\n')
  const body = lines.map(line => `+${line}\n`).join('')
  const end = isWhole ? '' : '\\ No newline at end of file\n'
  return `${head}--- /dev/null\n+++ ${b}\n@@ -0,0 +1,${lines.length} @@\n${body}${end}`
}

/** Made here and not by git, which would follow a symlink that has replaced the file. */
const untrackedDiff = (area: FileScope, path: string, maxBytes: number): GitDiff =>
  withUserErrors(() => {
    using handle = openDirHandle(area, path, { link: true })
    if (lstatSync(handle.at).isSymbolicLink()) {
      const diff = added(path, '120000', readlinkSync(handle.at))
      return { path, diff, binary: false, truncated: false }
    }
    const fd = openEntry(handle)
    try {
      const stat = fstatSync(fd)
      if (!stat.isFile()) throw missing('There is no such change', { code: 'git_change_not_found' })
      const bytes = Buffer.alloc(maxBytes)
      const size = readSync(fd, bytes, 0, maxBytes, 0)
      const content = bytes.subarray(0, size)
      if (content.subarray(0, 8_000).includes(0))
        return { path, diff: '', binary: true, truncated: false }
      const isCut = stat.size > size
      const text = isCut ? cutLines(content.toString()) : content.toString()
      const diff = added(path, stat.mode & 0o111 ? '100755' : '100644', text)
      return { path, diff, binary: false, truncated: isCut }
    } finally {
      closeSync(fd)
    }
  })

/** Only files listed by the status have a diff: no folders, patterns or hidden files. */
export const readDiff = async (
  git: Git | undefined,
  area: FileScope,
  isHidden: (path: string) => boolean,
  { path, kind, maxBytes = MAX_BYTES }: { path: string; kind: DiffKind; maxBytes?: number },
): Promise<GitDiff> => {
  const { files } = await readStatus(git, isHidden, Infinity)
  const file = files.find(each => each.path === path)
  if (!git || !file) throw missing('There is no such change', { code: 'git_change_not_found' })
  if (file.status === 'untracked') {
    if (kind !== 'untracked')
      throw missing('There is no such change', { code: 'git_change_not_found' })
    return untrackedDiff(area, path, maxBytes)
  }
  if (kind === 'untracked')
    throw missing('There is no such change', { code: 'git_change_not_found' })
  const { text, code, isCut } = await git(
    [
      'diff',
      ...(kind === 'index' ? ['--cached'] : []),
      '--no-ext-diff',
      '--no-textconv',
      '--no-color',
      '--find-renames',
      '--submodule=short',
      '--ignore-submodules=dirty',
      '--src-prefix=a/',
      '--dst-prefix=b/',
      '--',
      // Both names, or a renamed file would look like a new one.
      ...(file.old_path === undefined || kind !== 'index' ? [] : [file.old_path]),
      path,
    ],
    { maxBytes: maxBytes },
  )
  if (code !== 0 && !isCut)
    throw unavailable('git could not make this diff', { code: 'git_read_failed' })
  const binary = /^Binary files .* differ$/m.test(text.split(/^@@/m, 1)[0] ?? '')
  return { path, diff: binary ? '' : isCut ? cutLines(text) : text, binary, truncated: isCut }
}

const SEPARATOR = '\x1e'
const FORMAT = '--format=%H%x00%an%x00%ae%x00%at%x00%B%x1e'
const SHOW = ['show', '--no-color', '--no-ext-diff', '--no-textconv', '--diff-merges=first-parent']

/** `revision` is hexadecimal, so it is no option of git. A merge is compared with its first parent. Hidden files are left out. */
export const readCommit = async (
  git: Git | undefined,
  isHidden: (path: string) => boolean,
  revision: string,
): Promise<GitCommit> => {
  const commit = await git?.(['rev-parse', '--verify', '--quiet', `${revision}^{commit}`])
  if (!git || !commit || commit.code !== 0)
    throw missing('There is no such commit in this workspace', { code: 'commit_not_found' })
  const id = commit.text.trim()
  const names = await git([...SHOW, '--name-only', '-z', '--format=', '--no-renames', id])
  if (names.code !== 0)
    throw unavailable("git couldn't read this commit", { code: 'git_read_failed' })
  const paths = names.text.split('\0').filter(Boolean)
  const hidden = paths.filter(isHidden)
  const { text, code, isCut } = await git(
    [
      // Literal ones, as everywhere else, cannot exclude.
      '--no-literal-pathspecs',
      ...SHOW,
      FORMAT,
      '--find-renames',
      '--submodule=short',
      '--src-prefix=a/',
      '--dst-prefix=b/',
      id,
      '--',
      '.',
      ...hidden.map(path => `:(exclude,literal)${path}`),
    ],
    { maxBytes: MAX_BYTES },
  )
  const end = text.indexOf(SEPARATOR)
  if ((code !== 0 && !isCut) || end < 0)
    throw unavailable("git couldn't read this commit", { code: 'git_read_failed' })
  const [, author = '', email = '', seconds = '', message = ''] = text.slice(0, end).split('\0')
  const diff = text.slice(end + 1).replace(/^\n+/, '')
  return {
    id,
    author,
    email,
    time: Number(seconds),
    message: message.trim(),
    files: paths.length - hidden.length,
    diff: isCut ? diff.slice(0, diff.lastIndexOf('\n') + 1) : diff,
    truncated: isCut,
  }
}
