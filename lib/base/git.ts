/** Runs git: without prompts, bounded in time and output. Uses Node: not for the page. */
import { delimiter, isAbsolute } from 'node:path'
import { run, type RunOptions, type RunResult } from './process.ts'

const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'

/** The absolute entries of a search path. A relative one is resolved in the repository, where anyone may put a `git`. */
export const safePath = (path = DEFAULT_PATH): string =>
  path
    .split(delimiter)
    .filter(entry => isAbsolute(entry))
    .join(delimiter)

export type GitConfig = readonly (readonly [key: string, value: string])[]

/** Configuration in environment variables (git-config, GIT_CONFIG_COUNT): keys may contain any character. */
export const configEnv = (pairs: GitConfig): Record<string, string> =>
  Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(pairs.length)],
    ...pairs.flatMap(([key, value], n) => [
      [`GIT_CONFIG_KEY_${n}`, key],
      [`GIT_CONFIG_VALUE_${n}`, value],
    ]),
  ])

/** The environment of a git that stays on this machine: no protocol is allowed, so missing objects are not fetched. */
export const localGitEnv = (path: string | undefined): Record<string, string> => ({
  PATH: safePath(path),
  LC_ALL: 'C.UTF-8',
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_LITERAL_PATHSPECS: '1',
})

/** Rejects only when git cannot be started. `env` is all that git gets; a prompt on a terminal would never be answered. */
export const runGit = (args: readonly string[], options: RunOptions): Promise<RunResult> =>
  run('git', args, { ...options, env: { ...options.env, GIT_TERMINAL_PROMPT: '0' } })
