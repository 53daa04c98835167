/** Branches and remotes, as the person changes them in the Changes tab. */
import { dirname, resolve } from 'node:path'
import { conflict, invalid } from '../errors.ts'
import type { GitBranch } from '../schema/git.ts'
import { isInside } from '../store/path-within.ts'
import { readWholeText } from '../store/read-text.ts'
import { decideHooks, type HookChoice } from './git-changes.ts'
import type { PersonGit } from './git-person.ts'
import { pathsTo } from './git-writes.ts'

const BRANCH_FIELDS = [
  '%(refname)',
  '%(HEAD)',
  '%(upstream:short)',
  '%(upstream:track,nobracket)',
  '%(committerdate:unix)',
]

export const branches = async (git: PersonGit): Promise<GitBranch[]> => {
  const { text } = await git.run([
    'for-each-ref',
    '--sort=-committerdate',
    '--count=500',
    `--format=${BRANCH_FIELDS.join('%09')}`,
    'refs/heads',
    'refs/remotes',
  ])
  return text.split('\n').flatMap(line => {
    const [ref = '', head, upstream = '', track = '', date = ''] = line.split('\t')
    if (!ref || ref.endsWith('/HEAD')) return []
    const remote = ref.startsWith('refs/remotes/')
    const count = (word: string) => Number(new RegExp(`${word} (\\d+)`).exec(track)?.[1] ?? 0)
    return {
      name: ref.replace(/^refs\/(?:heads|remotes)\//, ''),
      remote,
      current: head === '*',
      ...(upstream ? { upstream } : {}),
      ahead: count('ahead'),
      behind: count('behind'),
      committed_at: Number(date),
    }
  })
}

export const requireBranchName = async (git: PersonGit, name: string): Promise<void> => {
  const { code } = await git.try(['check-ref-format', '--branch', name])
  if (code !== 0 || name.startsWith('-'))
    throw invalid(`“${name}” cannot be the name of a branch.`, {
      code: 'invalid_branch',
      values: { name },
    })
}

/** git refuses when local changes would be lost. A branch of a remote is switched to as a new local one that follows it. */
export const switchBranch = async (
  git: PersonGit,
  { name, create, remote }: { name: string; create: boolean; remote: boolean },
): Promise<void> => {
  git.requireOwnFilters()
  if (remote) {
    await requireBranchName(git, name)
    await git.write(['switch', '--quiet', '--track', name], () =>
      pathsTo(git, `refs/remotes/${name}`),
    )
    return
  }
  await requireBranchName(git, name)
  await git.write(
    ['switch', '--quiet', '--no-guess', ...(create ? ['--create'] : []), name],
    async () => (create ? [] : pathsTo(git, `refs/heads/${name}`)),
  )
}

const currentBranch = async (git: PersonGit): Promise<string> => {
  const { text, code } = await git.try(['symbolic-ref', '--quiet', '--short', 'HEAD'])
  if (code !== 0)
    throw conflict('You are on no branch. Create one first.', { code: 'git_no_branch' })
  return text.trim()
}

const upstreamOf = async (
  git: PersonGit,
  branch: string,
): Promise<{ remote: string; ref: string } | null> => {
  const read = async (key: string) =>
    (await git.try(['config', `branch.${branch}.${key}`])).text.trim()
  const [remote, ref] = [await read('remote'), await read('merge')]
  return remote && ref ? { remote, ref } : null
}

export const fetchRemotes = async (git: PersonGit): Promise<void> => {
  git.requireOwnConnection()
  await git.run(['fetch', '--quiet', '--all', '--prune', '--no-recurse-submodules'], {
    isRemote: true,
  })
}

const noUpstream = (branch: string) =>
  conflict(`The branch “${branch}” follows no branch of a remote. Push it first.`, {
    code: 'git_no_upstream',
    values: { branch },
  })

/** The commit of the followed branch that the last fetch found. */
const fetchedCommit = async (git: PersonGit, branch: string): Promise<string> => {
  const place = await git.run(['rev-parse', '--path-format=absolute', '--git-path', 'FETCH_HEAD'])
  const [line = ''] = readWholeText(place.text.trim()).split('\n')
  const [id = '', isOther] = line.split('\t')
  if (!id || isOther) throw noUpstream(branch)
  return id
}

/** Fast-forward only: it never makes a commit and never leaves conflicts. */
export const pull = async (git: PersonGit): Promise<void> => {
  git.requireOwnConnection()
  git.requireOwnFilters()
  const branch = await currentBranch(git)
  if (!(await upstreamOf(git, branch))) throw noUpstream(branch)
  await git.run(['fetch', '--quiet', '--no-recurse-submodules'], { isRemote: true })
  const target = await fetchedCommit(git, branch)
  await git.write(['merge', '--quiet', '--ff-only', target], () => pathsTo(git, target))
}

/** The path of an address on this computer, by git's own rule (url_is_local_not_ssh); null for other hosts. */
const localPath = (address: string): string | null => {
  const file = /^file:\/\/[^/]*(\/.*)$/.exec(address)
  if (file) return file[1]!
  return /^[^/:]*:/.test(address) ? null : address
}

/** A push to a repository on this computer runs its hooks, and a workspace may bring one. */
const requireForeignRemote = async (git: PersonGit, remote: string): Promise<void> => {
  const urls = await git.try(['remote', 'get-url', '--push', '--all', '--', remote])
  // A branch can follow an address, or `.`, instead of a remote.
  const addresses = urls.code === 0 ? urls.text.split('\n').filter(Boolean) : [remote]
  const { text } = await git.run([
    'rev-parse',
    '--path-format=absolute',
    '--show-toplevel',
    '--git-common-dir',
  ])
  const [root = '', common = ''] = text.split('\n')
  for (const path of addresses.map(localPath)) {
    if (path === null) continue
    // git expands a home directory, and decodes file: addresses.
    const isUnclear = /^~|%/.test(path)
    const place = resolve(root, path)
    if (isUnclear || [root, dirname(common)].some(each => isInside(each, place)))
      throw conflict(
        'The remote may be a repository in this workspace, and a push runs its hooks. Push in the terminal.',
        { code: 'git_push_terminal' },
      )
  }
}

/** Never by force. A branch that follows none gets one of its name on `origin`, or on the only remote. */
export const push = async (git: PersonGit, { hooks }: { hooks?: HookChoice }): Promise<void> => {
  git.requireOwnConnection()
  const hasHooks = decideHooks(await git.hooks(['pre-push', 'reference-transaction']), hooks)
  const branch = await currentBranch(git)
  const upstream = await upstreamOf(git, branch)
  const remotes = (await git.run(['remote'])).text.split('\n').filter(Boolean)
  const remote =
    upstream?.remote ??
    (remotes.includes('origin') ? 'origin' : remotes.length === 1 ? remotes[0] : undefined)
  if (!remote)
    throw conflict(
      remotes.length
        ? 'Which remote to push to is not clear. Push once in the terminal.'
        : 'This repository has no remote.',
      { code: remotes.length ? 'git_remote_unclear' : 'git_no_remote' },
    )
  await requireForeignRemote(git, remote)
  const target = `refs/heads/${branch}:${upstream?.ref ?? `refs/heads/${branch}`}`
  await git.run(
    ['push', '--quiet', ...(upstream ? [] : ['--set-upstream']), '--', remote, target],
    {
      isRemote: true,
      hasHooks,
    },
  )
}
