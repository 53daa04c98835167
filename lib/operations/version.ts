/** The version: from git in our own checkout, or else from the build, or else `unknown`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runGit } from '../base/git.ts'
import { readText } from '../store/read-text.ts'

const GIT_TIMEOUT_MS = 3_000

/** Written by the container build beside router.ts. */
const VERSION_FILE = 'VERSION'

/** Used in a header and a page: only a tag or a hash is accepted. */
const clean = (text: string | undefined): string | undefined => {
  const line = text?.trim() ?? ''
  return /^[0-9A-Za-z][0-9A-Za-z._+/-]{0,99}$/.test(line) ? line : undefined
}

const describe = async (root: string, path: string): Promise<string | undefined> => {
  // Only PATH: an inherited GIT_DIR would describe another repository.
  const env = { PATH: path, LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0' }
  const options = { cwd: root, env, timeoutMs: GIT_TIMEOUT_MS }
  try {
    const result = await runGit(['describe', '--tags', '--always', '--dirty'], options)
    return result.code === 0 ? clean(result.stdout.toString()) : undefined
  } catch {
    // No git here.
    return undefined
  }
}

/**
 * `root` is the directory of router.ts; a `.git` in a parent directory is another project. `builtIn` is the version that
 * the bundle was built with; `path` is the PATH to find git.
 */
export const readVersion = async ({
  root,
  builtIn,
  path = '',
}: {
  root: string
  builtIn?: string | undefined
  path?: string | undefined
}): Promise<string> => {
  const described = existsSync(join(root, '.git')) ? await describe(root, path) : undefined
  if (described) return described
  return clean(readText(join(root, VERSION_FILE)).text ?? undefined) ?? clean(builtIn) ?? 'unknown'
}
