/** Changes of the index, of branches and of files that the person makes in the Changes tab. */
import { closeSync, constants, lstatSync, readFileSync, unlinkSync } from 'node:fs'
import { sha256 } from '../base/sha256.ts'
import { conflict, invalid, missing } from '../errors.ts'
import type { GitLogEntry, GitOperation } from '../schema/git.ts'
import { openDirHandle, openEntry } from '../store/dir-handle.ts'
import { overwriteFd } from '../store/write-in-place.ts'
import type { FileScope } from './file-scope.ts'
import { isDivisible, parsePatch, selectLines } from './git-patch.ts'
import type { HookSet, PersonGit } from './git-person.ts'
import { pathsOfAbort } from './git-writes.ts'

export type ChangeKind = 'staged' | 'unstaged' | 'untracked'
/** `id` is that of the diff that the person saw; `lines` are numbers of its added and removed lines. */
export type Selection = {
  path: string
  kind: ChangeKind
  id?: string | undefined
  lines?: readonly number[] | undefined
}

const DIFF = [
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--full-index',
  '--binary',
  '--find-renames',
  '--submodule=short',
  '--ignore-submodules=dirty',
  '--src-prefix=a/',
  '--dst-prefix=b/',
]

const diffChanged = () =>
  conflict(
    'The file has changed since this diff was shown. Look at the new diff, then try again.',
    {
      code: 'git_diff_changed',
    },
  )

const idOf = (diff: Buffer): string => sha256(diff).slice(0, 32)

/** The diff of one file, byte by byte. */
const rawDiff = async (git: PersonGit, path: string, kind: ChangeKind): Promise<Buffer> => {
  const args = ['diff', ...(kind === 'staged' ? ['--cached'] : []), ...DIFF, '--', path]
  return (await git.run(args)).bytes
}

/** What the page needs to stage parts of a diff: its id, and whether it can be divided into lines. */
export const describeDiff = async (
  git: PersonGit,
  path: string,
  kind: ChangeKind,
): Promise<{ id: string; divisible: boolean }> => {
  if (kind === 'untracked') return { id: '', divisible: false }
  const diff = await rawDiff(git, path, kind)
  const attribute = (await git.run(['check-attr', '-z', 'filter', '--', path])).text.split('\0')[2]
  // The page shows such a file without its filter, so its line numbers may be others.
  const isFiltered = attribute !== 'unspecified' && attribute !== 'unset'
  const divisible = !isFiltered && isDivisible(parsePatch(diff.toString('latin1')))
  return { id: idOf(diff), divisible }
}

/** The chosen part of the diff that the person saw, or null for all of it. */
const patchOf = async (
  git: PersonGit,
  { path, kind, id, lines }: Selection,
  isReverse: boolean,
): Promise<Buffer | null> => {
  if (kind === 'untracked') {
    if (lines)
      throw invalid('A new file can only be staged as a whole.', { code: 'git_whole_only' })
    return null
  }
  const diff = await rawDiff(git, path, kind)
  if (diff.length === 0) throw missing('There is no such change', { code: 'git_change_not_found' })
  if (id !== undefined && idOf(diff) !== id) throw diffChanged()
  if (!lines) return null
  if (id === undefined) throw invalid('The id of the diff is missing.', { code: 'missing_fields' })
  const patch = parsePatch(diff.toString('latin1'))
  if (!isDivisible(patch))
    throw invalid('This change can only be staged as a whole.', { code: 'git_whole_only' })
  return Buffer.from(selectLines(patch, lines, isReverse), 'latin1')
}

const APPLY = ['apply', '--whitespace=nowarn']

const applyToIndex = (git: PersonGit, patch: Buffer, args: readonly string[] = []) =>
  git.run([...APPLY, '--cached', ...args, '-'], { input: patch })

const hasCommit = async (git: PersonGit): Promise<boolean> =>
  (await git.try(['rev-parse', '--verify', '--quiet', 'HEAD'])).code === 0

/** git would record a repository inside this one as a link to one of its commits. */
const insideRepository = () =>
  invalid('A repository inside this one cannot be staged here.', { code: 'git_nested' })

export const stage = async (git: PersonGit, selection: Selection): Promise<void> => {
  const { path, kind } = selection
  git.requireOwnFilters()
  if (kind === 'staged')
    throw invalid('This change is staged already.', { code: 'git_staged_already' })
  if (path.endsWith('/')) throw insideRepository()
  const patch = await patchOf(git, selection, false)
  if (patch) await applyToIndex(git, patch)
  else await git.run(['add', '-A', '--', path])
}

export const unstage = async (
  git: PersonGit,
  selection: Selection & { oldPath?: string | undefined },
): Promise<void> => {
  const { path, oldPath } = selection
  const patch = await patchOf(git, { ...selection, kind: 'staged' }, true)
  const paths = [path, ...(oldPath ? [oldPath] : [])]
  if (patch) await applyToIndex(git, patch, ['--reverse'])
  else if (await hasCommit(git)) await git.run(['reset', '--quiet', '--', ...paths])
  else await git.run(['rm', '--cached', '--quiet', '--', ...paths])
}

const FROM_INPUT = ['--pathspec-from-file=-', '--pathspec-file-nul']

/** Stages whole files in one step: git changes nothing when one of the paths does not exist. */
export const stageAll = async (git: PersonGit, paths: readonly string[]): Promise<void> => {
  git.requireOwnFilters()
  const files = paths.filter(path => !path.endsWith('/'))
  if (files.length === 0) throw insideRepository()
  await git.run(['add', '-A', ...FROM_INPUT], { input: files.join('\0') })
}

/** Unstages whole files in one step. `paths` has the old ones of renamed files, too. */
export const unstageAll = async (git: PersonGit, paths: readonly string[]): Promise<void> => {
  const input = paths.join('\0')
  if (await hasCommit(git)) await git.run(['reset', '--quiet', ...FROM_INPUT], { input })
  else await git.run(['rm', '--cached', '--quiet', ...FROM_INPUT], { input })
}

const bytesOf = (area: FileScope, path: string): { bytes: Buffer } | null => {
  try {
    using handle = openDirHandle(area, path, { link: true })
    if (lstatSync(handle.at).isSymbolicLink())
      throw invalid('A changed link can only be discarded in the terminal.', { code: 'git_link' })
    const fd = openEntry(handle)
    try {
      return { bytes: readFileSync(fd) }
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

const blobOf = async (git: PersonGit, bytes: Buffer, isStored: boolean): Promise<string> =>
  (
    await git.run(['hash-object', ...(isStored ? ['-w'] : []), '--no-filters', '--stdin'], {
      input: bytes,
    })
  ).text.trim()

/** What a discard replaced. `before` and `after` are blobs; empty for a file that was not there. */
export type Discarded = { path: string; before: string; after: string }

/** The file's contents are kept as a blob of the repository, which git deletes after two weeks at the earliest. */
export const discard = async (
  git: PersonGit,
  area: FileScope,
  selection: Selection,
): Promise<Discarded> => {
  const { path, kind } = selection
  if (kind !== 'unstaged')
    throw invalid('Only changes that are not staged can be discarded.', {
      code: 'git_only_unstaged',
    })
  git.requireOwnFilters()
  const patch = await patchOf(git, selection, true)
  const old = bytesOf(area, path)
  const before = old ? await blobOf(git, old.bytes, true) : ''
  const paths = async () => [path]
  if (patch) await git.write([...APPLY, '--reverse', '-'], paths, { input: patch })
  else await git.write(['checkout-index', '--force', '--', path], paths)
  const now = bytesOf(area, path)
  return { path, before, after: now ? await blobOf(git, now.bytes, false) : '' }
}

/** Throws when the file is no longer what the discard left. */
export const undoDiscard = async (
  git: PersonGit,
  area: FileScope,
  { path, before, after }: Discarded,
): Promise<void> => {
  const bytes = before ? (await git.run(['cat-file', 'blob', before])).bytes : null
  const now = bytesOf(area, path)
  if (!now || (await blobOf(git, now.bytes, false)) !== after) throw diffChanged()
  using handle = openDirHandle(area, path, { link: true })
  if (!bytes) {
    unlinkSync(handle.at)
    return
  }
  const fd = openEntry(handle, constants.O_RDWR)
  try {
    overwriteFd(fd, bytes)
  } finally {
    closeSync(fd)
  }
}

/** `skip`, or the id of the hooks that the person has allowed. */
export type HookChoice = string | undefined

export const decideHooks = (hooks: HookSet, choice: HookChoice): boolean => {
  if (hooks.names.length === 0 || choice === 'skip') return false
  if (choice === hooks.id) return true
  throw conflict(`This repository runs programs at this point: ${hooks.names.join(', ')}.`, {
    code: 'git_hooks',
    values: { names: hooks.names },
    hooks,
  })
}

const COMMIT_HOOKS = [
  'pre-commit',
  'prepare-commit-msg',
  'commit-msg',
  'post-commit',
  'post-index-change',
  'reference-transaction',
]

export const commit = async (
  git: PersonGit,
  { message, hooks }: { message: string; hooks?: HookChoice },
): Promise<{ commit: string }> => {
  if (!message.trim()) throw invalid('Write a commit message.', { code: 'commit_message_missing' })
  const hasHooks = decideHooks(await git.hooks(COMMIT_HOOKS), hooks)
  const { code } = await git.try(['diff', '--cached', '--quiet', '--ignore-submodules=dirty'])
  if (code === 0 && (await operationOf(git)) === null)
    throw conflict('Nothing is staged.', { code: 'git_nothing_staged' })
  await git.run(['commit', '--quiet', '--cleanup=whitespace', '--file=-'], {
    input: message,
    hasHooks,
    isLong: true,
  })
  return { commit: (await git.run(['rev-parse', 'HEAD'])).text.trim() }
}

const OPERATIONS: readonly (readonly [file: string, operation: GitOperation])[] = [
  ['MERGE_HEAD', 'merge'],
  ['rebase-merge', 'rebase'],
  ['rebase-apply', 'rebase'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
]

/** What was begun and waits for the person, for example a merge with conflicts. */
export const operationOf = async (git: PersonGit): Promise<GitOperation | null> => {
  const { text } = await git.run(['rev-parse', '--absolute-git-dir'])
  const dir = text.trim()
  return (
    OPERATIONS.find(([name]) => lstatSync(`${dir}/${name}`, { throwIfNoEntry: false }))?.[1] ?? null
  )
}

export const abort = async (git: PersonGit): Promise<void> => {
  const operation = await operationOf(git)
  if (!operation) throw invalid('Nothing is in progress.', { code: 'git_nothing_in_progress' })
  git.requireOwnFilters()
  await git.write([operation, '--abort'], () => pathsOfAbort(git))
}

export const log = async (git: PersonGit, skip: number, max: number): Promise<GitLogEntry[]> => {
  if (!(await hasCommit(git))) return []
  const { text } = await git.run([
    'log',
    '-z',
    `--skip=${skip}`,
    `--max-count=${max}`,
    '--format=%H%x09%an%x09%at%x09%D%x09%B',
    'HEAD',
    '--',
  ])
  return text.split('\0').flatMap(record => {
    const [id = '', author = '', date = '', refs = '', ...message] = record.split('\t')
    return id
      ? { id, author, committed_at: Number(date), refs, message: message.join('\t').trimEnd() }
      : []
  })
}
