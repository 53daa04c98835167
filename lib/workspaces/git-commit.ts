/** One commit with its diff. */
import { missing, unavailable } from '../errors.ts'
import type { GitCommit } from '../schema/git.ts'
import type { Git } from './git.ts'

const MAX_BYTES = 400_000
const SEPARATOR = '\x1e'
const FORMAT = '--format=%H%x00%an%x00%ae%x00%at%x00%B%x1e'
const SHOW = ['show', '--no-color', '--no-ext-diff', '--no-textconv', '--diff-merges=first-parent']

/** `asked` is hexadecimal, so it is no option of git. A merge is compared with its first parent. Hidden files are left out. */
export const readCommit = async (
  git: Git | undefined,
  isHidden: (path: string) => boolean,
  asked: string,
): Promise<GitCommit> => {
  const found = await git?.(['rev-parse', '--verify', '--quiet', `${asked}^{commit}`])
  if (!git || !found || found.code !== 0)
    throw missing('There is no such commit in this workspace', { code: 'commit_not_found' })
  const id = found.text.trim()
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
