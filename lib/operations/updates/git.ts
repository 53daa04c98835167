/** Runs git in a checkout to be updated, with network access but without prompts. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runGit } from '../../base/git.ts'
import { messageOf } from '../../errors.ts'

export const FETCH_MS = 15_000
export const PULL_MS = 30_000
const OTHER_MS = 10_000

/** `out` is trimmed; `message` describes a failure. */
export type GitResult = { ok: boolean; out: string; message: string }
export type Git = (args: readonly string[], timeoutMs?: number) => Promise<GitResult>

/** Variables git needs to reach a remote. Others are dropped: an inherited GIT_DIR would select another repository. */
const ALLOWED_VARIABLES =
  /^(PATH|HOME|USER|LOGNAME|USERPROFILE|SYSTEMROOT|TMPDIR|SSH_AUTH_SOCK|XDG_CONFIG_HOME|https?_proxy|no_proxy|all_proxy|SSL_CERT_(FILE|DIR)|GIT_SSL_CAINFO|NODE_EXTRA_CA_CERTS|npm_config_.*|GIT_CONFIG_(GLOBAL|SYSTEM|NOSYSTEM))$/i

export const allowedEnvironment = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => ALLOWED_VARIABLES.test(name)))

export const isCheckout = (dir: string | null): dir is string =>
  dir !== null && existsSync(join(dir, '.git'))

export const gitIn = (dir: string, env: Readonly<Record<string, string>>): Git => {
  const environment = {
    ...allowedEnvironment(env),
    LC_ALL: 'C',
    // Without it ssh asks for a password and waits forever.
    GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
    GIT_EDITOR: 'true',
  }
  return async (args, timeoutMs = OTHER_MS) => {
    try {
      const result = await runGit(args, { cwd: dir, env: environment, timeoutMs })
      const out = result.stdout.toString().trim()
      const ok = result.code === 0 && result.stopped === null
      const why = result.stopped === 'timeout' ? 'git took too long' : `exit code ${result.code}`
      return { ok, out, message: result.stderr.trim() || out || (ok ? '' : why) }
    } catch (error) {
      return { ok: false, out: '', message: messageOf(error) }
    }
  }
}

/** The text of a successful call; empty for a failed one. */
export const outputOf = async (answer: Promise<GitResult>): Promise<string> => {
  const { ok, out } = await answer
  return ok ? out : ''
}

/** The branch this checkout follows; empty when it follows none. */
export const upstreamOf = (git: Git): Promise<string> =>
  outputOf(git(['rev-parse', '--abbrev-ref', '--symbolic-full-name', '@{upstream}']))

/** What to compare with: the upstream, else the remote's default branch. */
export const compareRef = async (git: Git): Promise<string> => {
  const upstream = await upstreamOf(git)
  if (upstream) return upstream
  const head = await outputOf(
    git(['symbolic-ref', '--quiet', '--short', 'refs/remotes/origin/HEAD']),
  )
  if (head) return head
  for (const name of ['origin/master', 'origin/main']) {
    if ((await git(['rev-parse', '--verify', '--quiet', `refs/remotes/${name}`])).ok) return name
  }
  return 'origin/master'
}
