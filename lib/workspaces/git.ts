/** Runs git read-only in a workspace. No program named in the repository's configuration is executed. */
import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { configEnv, type GitConfig, localGitEnv, runGit } from '../base/git.ts'
import { messageOf, unavailable } from '../errors.ts'
import { errorCode } from '../store/file-error.ts'

const TIMEOUT_MS = 3_000

export type WorkspaceGitOptions = {
  /** The search path and the home that git is started with. */
  path: string | undefined
  userHome: string
  xdgConfigHome?: string | undefined
  timeoutMs?: number
}

export type GitOutput = { text: string; code: number; isCut: boolean }
export type Git = (args: readonly string[], options?: { maxBytes?: number }) => Promise<GitOutput>

/** Turns off what would start programs or depend on the user's settings. */
const SAFE_CONFIG: GitConfig = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.quotePath', 'false'],
  ['core.untrackedCache', 'false'],
  ['diff.ignoreSubmodules', 'dirty'],
  // Signatures are checked by `gpg.program`.
  ['log.showSignature', 'false'],
  ['status.submoduleSummary', 'false'],
]

/** Overrides for keys of the repository that name programs: filters run even for `git status`. */
const programConfig = (names: string): GitConfig =>
  names
    .split('\0')
    .filter(name =>
      /^(?:filter\..*\.(?:clean|smudge|process|required)|diff\..*\.(?:command|textconv))$/s.test(
        name,
      ),
    )
    .map(name => [name, name.endsWith('.required') ? 'false' : ''] as const)

const environment = (root: string, { path, userHome, xdgConfigHome }: WorkspaceGitOptions) => ({
  ...localGitEnv(path),
  HOME: userHome,
  ...(xdgConfigHome ? { XDG_CONFIG_HOME: xdgConfigHome } : {}),
  // The work tree is the workspace even if `core.worktree` is set; repositories further up are ignored.
  GIT_WORK_TREE: root,
  GIT_CEILING_DIRECTORIES: dirname(root),
  GIT_OPTIONAL_LOCKS: '0',
  GIT_PAGER: 'cat',
})

type Run = {
  root: string
  env: Record<string, string>
  args: readonly string[]
  maxBytes: number
  timeoutMs?: number | undefined
}

const run = async (given: Run): Promise<GitOutput> => {
  const { root, env, args, maxBytes, timeoutMs = TIMEOUT_MS } = given
  const options = { cwd: root, env, maxBytes, timeoutMs }
  const done = await runGit(['--no-pager', ...args], options).catch((error: unknown) => {
    throw unavailable(`git could not be started: ${errorCode(error) || messageOf(error)}`, {
      code: 'git_missing',
    })
  })
  if (done.stopped === 'timeout')
    throw unavailable('git did not answer within 3 seconds', { code: 'git_timeout' })
  return { text: done.stdout.toString(), code: done.code ?? 1, isCut: done.stopped === 'limit' }
}

/** Only a repository in the workspace itself; one further up is not used. */
export const hasRepository = (root: string): boolean =>
  lstatSync(join(root, '.git'), { throwIfNoEntry: false }) !== undefined

/** Undefined without a usable repository. */
export const openGit = async (
  root: string,
  places: WorkspaceGitOptions,
): Promise<Git | undefined> => {
  if (!hasRepository(root)) return undefined
  const { timeoutMs } = places
  const start = (env: Record<string, string>, args: readonly string[], maxBytes: number) =>
    run({ root, env: { ...environment(root, places), ...env }, args, maxBytes, timeoutMs })
  const listing = ['config', '--null', '--name-only', '--list']
  const names = await start(configEnv(SAFE_CONFIG), listing, 1024 * 1024)
  // Damaged, owned by another user, or with an absurdly large configuration: not used.
  if (names.code !== 0) return undefined
  const silent = configEnv([...SAFE_CONFIG, ...programConfig(names.text)])
  return (args, { maxBytes = 8 * 1024 * 1024 } = {}) => start(silent, args, maxBytes)
}
