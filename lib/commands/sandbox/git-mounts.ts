/** What a sandbox shows in place of the Git directory of its workspace. */
import { join } from 'node:path'
import { realPath } from '../../store/path-within.ts'
import type { GitDirectories, Repository } from './git-directories.ts'
import { gitOf, type Mount, type SandboxFiles } from './mounts.ts'
import {
  firstGitIn,
  privateGitFor,
  type PrivateGit,
  repositoriesInIndex,
  variablesFor,
} from './private-git.ts'

export type GitPlan = {
  git: GitDirectories | null
  /** Submodules. */
  nested: string[]
}

export const planGit = (place: SandboxFiles): GitPlan => {
  const git = gitOf(place)
  const nested = git?.repository ? repositoriesInIndex(git.repository) : []
  return { git, nested: nested.map(path => join(git?.root ?? '', path)) }
}

export type GitPlacement = {
  mounts: Mount[]
  /** Where the private directory could not have the name of the real one. */
  env: Readonly<Record<string, string>>
  finish: () => Promise<string | null>
}

type GitMountInput = GitPlan & {
  mounts: readonly Mount[]
  workspace: string | null
  changesGit: boolean
}

/** What a private Git directory takes the place of, as real paths, and where the real one is visible instead. */
type Private = PrivateGit & { at: string; below: string | null; more: Mount[] }

const REAL_GIT = '/run/repository.git'

/** None where a running command could replace the real one, which has no mount then. */
const privateGit = (repository: Repository, mounts: readonly Mount[]): Private[] => {
  const at = realPath(repository.common)
  if (!mounts.some(({ path, source = path, access }) => source === at && access === 'read'))
    return []
  const more = [{ path: REAL_GIT, access: 'read', source: at } as const]
  return [{ ...privateGitFor(repository, { visibleAt: REAL_GIT }), at, below: null, more }]
}

const firstGit = (workspace: string, parent: string): Private => {
  const at = join(workspace, '.git')
  return { ...firstGitIn(at, parent), at, below: workspace, more: [] }
}

const withPrivate = (mounts: Mount[], { dir, at, below, more }: Private): Mount[] => {
  const places = mounts.flatMap(({ path, source = path }) =>
    source === at ? [path] : source === below ? [join(path, '.git')] : [],
  )
  return [
    ...mounts.filter(({ path }) => !places.includes(path)),
    ...more,
    ...places.map((path): Mount => ({ path, access: 'write', source: dir })),
  ]
}

/** `parent`: where what is private can be made, which no command sees. */
export const mountGit = (
  { git, mounts, workspace, changesGit }: GitMountInput,
  parent: string,
): GitPlacement => {
  const all = [
    ...(changesGit && git?.repository ? privateGit(git.repository, mounts) : []),
    ...(workspace !== null && git?.root !== workspace
      ? [firstGit(realPath(workspace), parent)]
      : []),
  ]
  return {
    mounts: all.reduce(withPrivate, [...mounts]),
    env: {},
    async finish() {
      const notes = await Promise.all(all.map(({ finish }) => finish()))
      return notes.filter(note => note !== null).join(' ') || null
    },
  }
}

/** On macOS, where a rule applies to a name, whether it exists or not: a command cannot make a repository. */
export const nameGit = ({ git, mounts, workspace, changesGit }: GitMountInput): GitPlacement => {
  const isFirst = workspace !== null && git?.root !== workspace
  // With a HEAD, the workspace itself would be one.
  const guarded = (isFirst ? ['.git', 'HEAD'] : []).map(
    (name): Mount => ({ path: join(realPath(workspace ?? ''), name), access: 'read' }),
  )
  if (!changesGit || !git?.repository)
    return { mounts: [...mounts, ...guarded], env: {}, finish: async () => null }
  const { dir, finish } = privateGitFor(git.repository, { visibleAt: git.repository.common })
  return {
    mounts: [...mounts, ...guarded, { path: dir, access: 'write' }],
    env: variablesFor(git, dir),
    finish,
  }
}
