/** Runs git in a workspace. For reading: no program named in the repository's configuration is executed. */
import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { configEnv, type GitConfig, localGitEnv, runGit } from '../base/git.ts'
import { toSeconds } from '../base/clock.ts'
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

export type GitOutput = { bytes: Buffer; text: string; code: number; error: string; isCut: boolean }

/** The work tree is the workspace even if `core.worktree` is set; repositories further up are ignored. */
export const startGit = async (
  root: string,
  args: readonly string[],
  setup: {
    env: Readonly<Record<string, string>>
    config: GitConfig
    timeoutMs: number
    maxBytes: number
    input?: string | Uint8Array | undefined
  },
): Promise<GitOutput> => {
  const { timeoutMs, maxBytes, input } = setup
  const env = {
    ...setup.env,
    GIT_WORK_TREE: root,
    GIT_CEILING_DIRECTORIES: dirname(root),
    GIT_PAGER: 'cat',
    ...configEnv(setup.config),
  }
  const options = { cwd: root, env, timeoutMs, maxBytes, ...(input !== undefined && { input }) }
  const exit = await runGit(['--no-pager', ...args], options).catch((error: unknown) => {
    throw unavailable(`git could not be started: ${errorCode(error) || messageOf(error)}`, {
      code: 'git_missing',
    })
  })
  if (exit.stopped === 'timeout')
    throw unavailable(
      `git ${args[0]} was stopped: it took longer than ${toSeconds(timeoutMs)} seconds.`,
      { code: 'git_timeout' },
    )
  const { stdout: bytes, code, stderr: error } = exit
  return { bytes, text: bytes.toString(), code: code ?? 1, error, isCut: exit.stopped === 'limit' }
}

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

/** Keys that name programs: filters run even for `git status`. */
const PROGRAM =
  /^(?:filter\..*\.(?:clean|smudge|process|required)|diff\..*\.(?:command|textconv))$/s

/** Overrides for these names of settings, so that no program runs. */
export const blank = (names: readonly string[]): GitConfig =>
  names.map(name => [name, name.endsWith('.required') ? 'false' : ''] as const)

/** Only a repository in the workspace itself; one further up is not used. */
export const hasRepository = (root: string): boolean =>
  lstatSync(join(root, '.git'), { throwIfNoEntry: false }) !== undefined

/** Undefined without a usable repository. */
export const openGit = async (
  root: string,
  { path, userHome, xdgConfigHome, timeoutMs = TIMEOUT_MS }: WorkspaceGitOptions,
): Promise<Git | undefined> => {
  if (!hasRepository(root)) return undefined
  const env = {
    ...localGitEnv(path),
    HOME: userHome,
    ...(xdgConfigHome ? { XDG_CONFIG_HOME: xdgConfigHome } : {}),
    GIT_OPTIONAL_LOCKS: '0',
  }
  const start = (args: readonly string[], config: GitConfig, maxBytes: number) =>
    startGit(root, args, { env, config, timeoutMs, maxBytes })
  const listing = ['config', '--null', '--name-only', '--list']
  const { text, code } = await start(listing, SAFE_CONFIG, 1024 * 1024)
  // Damaged, owned by another user, or with an absurdly large configuration: not used.
  if (code !== 0) return undefined
  const config = [...SAFE_CONFIG, ...blank(text.split('\0').filter(name => PROGRAM.test(name)))]
  return (args, { maxBytes = 8 * 1024 * 1024 } = {}) => start(args, config, maxBytes)
}
