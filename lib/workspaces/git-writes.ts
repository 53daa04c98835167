/** Which files of the working tree a command of git would change, so that a person who may not change one is refused before it runs. */
import { readWholeText } from '../store/read-text.ts'
import type { PersonGit } from './git-person.ts'

/** Both names of a renamed file, and submodules. */
const NAMES = ['-z', '--name-only', '--no-renames', '--ignore-submodules=none']

const lines = (text: string): string[] => text.split('\0').filter(Boolean)

const idOf = async (git: PersonGit, name: string): Promise<string> => {
  const { text, code } = await git.try([
    'rev-parse',
    '--verify',
    '--quiet',
    '--end-of-options',
    name,
  ])
  return code === 0 ? text.trim() : ''
}

/** The tree of the current commit; before the first one, the empty tree. */
const headTree = async (git: PersonGit): Promise<string> =>
  (await idOf(git, 'HEAD^{tree}')) ||
  (await git.run(['hash-object', '-t', 'tree', '--stdin'], { input: '' })).text.trim()

const between = async (git: PersonGit, from: string, to: string): Promise<string[]> =>
  lines((await git.run(['diff-tree', '-r', ...NAMES, from, to, '--'])).text)

/** Of a change from the current commit to another, as a switch or a fast-forward makes it. Nothing for an unknown one: git refuses it. */
export const pathsTo = async (git: PersonGit, target: string): Promise<string[]> => {
  const id = await idOf(git, `${target}^{tree}`)
  return id === '' ? [] : between(git, await headTree(git), id)
}

/** The tree that a merge leaves, also one with conflicts. */
const mergedTree = async (git: PersonGit, ours: string, theirs: string): Promise<string> => {
  const args = ['merge-tree', '--write-tree', '--no-messages', '-z', '--', ours, theirs]
  const { text, code } = await git.try(args)
  // 1: with conflicts. The first field is the tree in both cases.
  return code === 0 || code === 1 ? (lines(text)[0] ?? '') : (await git.run(args)).text
}

/** Of a merge of `name` into the current commit. */
export const pathsOfMerge = async (git: PersonGit, name: string): Promise<string[]> =>
  between(git, await headTree(git), await mergedTree(git, 'HEAD', name))

const untrackedOf = async (git: PersonGit, stash: string): Promise<string[]> => {
  const id = await idOf(git, `${stash}^3`)
  return id === '' ? [] : lines((await git.run(['ls-tree', '-r', '-z', '--name-only', id])).text)
}

/** Of a return to the current commit: what differs from it. */
const pathsOfReset = async (git: PersonGit): Promise<string[]> => {
  // A reset also overwrites files that are marked as unchanged, which a diff leaves out.
  await git.try(['update-index', '-q', '--really-refresh'])
  const head = await headTree(git)
  const listed = await Promise.all([
    git.run(['diff', '--no-ext-diff', ...NAMES, head, '--']),
    git.run(['diff', '--no-ext-diff', '--cached', ...NAMES, head, '--']),
  ])
  return listed.flatMap(({ text }) => lines(text))
}

/** Files in the Git directory that name the commit an abort returns to, and changes that it brings back. */
const RETURNS = ['rebase-merge/orig-head', 'rebase-apply/orig-head', 'sequencer/head']
const PUT_ASIDE = ['MERGE_AUTOSTASH', 'rebase-merge/autostash', 'rebase-apply/autostash']

const idIn = async (git: PersonGit, dir: string, name: string): Promise<string> => {
  try {
    return await idOf(git, readWholeText(`${dir}/${name}`).trim())
  } catch {
    // This operation has none.
    return ''
  }
}

/** Of aborting what is in progress. */
export const pathsOfAbort = async (git: PersonGit): Promise<string[]> => {
  const dir = (await git.run(['rev-parse', '--absolute-git-dir'])).text.trim()
  const paths = await pathsOfReset(git)
  for (const name of RETURNS) {
    const id = await idIn(git, dir, name)
    if (id !== '') paths.push(...(await pathsTo(git, id)))
  }
  for (const name of PUT_ASIDE) {
    const id = await idIn(git, dir, name)
    if (id === '') continue
    paths.push(...(await pathsTo(git, id)), ...(await between(git, `${id}^1`, id)))
    paths.push(...(await untrackedOf(git, id)))
  }
  return paths
}
