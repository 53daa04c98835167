/** Programs that reading git commands start because of a repository's configuration, and how plan mode prevents it. */
import { dirname, join, resolve } from 'node:path'
import { configEnv, localGitEnv } from '../../base/git.ts'
import { readScript } from './local-programs.ts'

/** Sections and keys of gitconfig(5) that name programs for `status`, `diff`, `log`, and `show`, or other files. */
const NAMES_PROGRAM =
  /\[\s*(?:filter|include|includeif|gpg|diff\s*["'.])|\b(?:external|textconv|showsignature)\b/i

const MAX_DEPTH = 64

/** The git directory that applies in a directory; null when there is none. */
const gitDirOf = (start: string): string | null => {
  let dir = start
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const path = join(dir, '.git')
    if (readScript(join(path, 'HEAD'))) return path
    // Of a worktree or a submodule.
    const target = /^gitdir: (.+)$/m.exec(readScript(path)?.text ?? '')?.[1]
    if (target !== undefined) return resolve(dir, target)
    const parent = dirname(dir)
    if (parent === dir) return null
    dir = parent
  }
  return null
}

/** True when the repository's own configuration names programs, or cannot be found out. `paths`: the values of `-C`. */
export const hasProgramConfig = (cwd: string | null, paths: readonly string[]): boolean => {
  if (cwd === null) return true
  const gitDir = gitDirOf(resolve(cwd, ...paths))
  if (gitDir === null) return false
  const common = readScript(join(gitDir, 'commondir'))?.text.trim()
  const dirs = [gitDir, ...(common ? [resolve(gitDir, common)] : [])]
  return dirs
    .flatMap(dir => [join(dir, 'config'), join(dir, 'config.worktree')])
    .map(readScript)
    .some(file => file !== null && (!file.isWhole || NAMES_PROGRAM.test(file.text)))
}

const { PATH: _, LC_ALL: __, GIT_LITERAL_PATHSPECS: ___, ...STAYS_HERE } = localGitEnv(undefined)

/** Added to the environment of commands in plan mode: git refreshes no index, and starts no monitor, hook, or filter. */
export const READING_GIT_ENV: Readonly<Record<string, string>> = {
  ...STAYS_HERE,
  ...configEnv([
    ['core.fsmonitor', 'false'],
    ['core.hooksPath', '/dev/null'],
    ['core.untrackedCache', 'false'],
    ['filter.lfs.process', ''],
    ['filter.lfs.clean', ''],
    ['filter.lfs.required', 'false'],
  ]),
  GIT_OPTIONAL_LOCKS: '0',
  GIT_PAGER: 'cat',
}
