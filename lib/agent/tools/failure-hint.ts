/** What the model should know about the failure of a command in a sandbox. */
import type { CommandAccess, CommandRunner } from '../tool-services.ts'

const NO_WRITE = /Read-only file system|EROFS|Device or resource busy/i
/** Operations of Git that write down programs to run, and its configuration. */
const NO_GIT =
  /rebase-(?:merge|apply)|\bBISECT_|\.git\/(?:worktrees|modules|info|lfs)\b|could not lock config file|unable to write upstream branch configuration/
const NO_NETWORK =
  /Could not resolve (?:host|proxy)|Temporary failure in name resolution|getaddrinfo|ENOTFOUND|EAI_AGAIN|Network is unreachable|ENETUNREACH/i

/** Null: nothing about the sandbox. */
export const failureHint = (
  output: string,
  access: CommandAccess,
  { canLeave, isReadOnly }: Pick<CommandRunner, 'canLeave' | 'isReadOnly'>,
): string | null => {
  if (isReadOnly)
    return NO_WRITE.test(output) || NO_NETWORK.test(output)
      ? 'Plan mode is on: commands can change only /tmp, and there is no network.'
      : null
  if (access === 'unconfined') return null
  if (NO_GIT.test(output))
    return `In the sandbox Git can add, commit, branch, merge, stash, reset, and fetch. Its configuration and hooks, rebase, bisect, worktrees, submodules, and LFS need access "unconfined"${canLeave ? '; the user is asked' : ', which is not offered here'}. A branch without tracking can be made with --no-track.`
  const otherwise = canLeave
    ? ' Where the task needs more, repeat the command with access "unconfined"; the user is asked.'
    : ''
  if (NO_WRITE.test(output))
    return `In the sandbox only the workspace and /tmp can be changed, .git only by commands that run nothing but git.${otherwise}`
  return NO_NETWORK.test(output)
    ? `The network of the sandbox is a proxy that HTTP_PROXY and ALL_PROXY name; other connections fail.${otherwise}`
    : null
}
