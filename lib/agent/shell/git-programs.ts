/** Programs that reading git commands start because of a repository's configuration, and how plan mode prevents it. */
import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { configEnv, localGitEnv } from '../../base/git.ts'

/**
 * Sections and keys of gitconfig(5) that name programs for `status`, `diff`, `log`, and `show`, or other files. `ignore`
 * can make git look into a submodule, whose own configuration would apply.
 */
const NAMES_PROGRAM =
  /\[\s*(?:filter|include|includeif|gpg|diff\s*["'.])|\b(?:external|textconv|showsignature|hookspath|worktree)\b|\bfsmonitor\s*=\s*(?!true\b|false\b)|\bignore\s*=/i

const MAX_DEPTH = 64
const MAX_CONFIG_BYTES = 200_000

const readScript = (path: string): { text: string; isWhole: boolean } | null => {
  let fd: number
  try {
    // Opening a pipe would wait.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    // Missing or unreadable: Git does not read it either.
    return null
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size > MAX_CONFIG_BYTES) return { text: '', isWhole: false }
    return { text: readFileSync(fd, 'utf8'), isWhole: true }
  } finally {
    closeSync(fd)
  }
}

/** As git decides it; anything else it passes over. */
const isGitDir = (dir: string): boolean =>
  /^(?:ref: refs\/|[0-9a-f]{40})/.test(readScript(join(dir, 'HEAD'))?.text ?? '') &&
  ['objects', 'refs'].every(name => existsSync(join(dir, name)))

/** Configuration of a repository. A worktree shares that of another directory. */
const configsOf = (gitDir: string): string[] => {
  const common = readScript(join(gitDir, 'commondir'))?.text.trim()
  const dirs = [gitDir, ...(common ? [resolve(gitDir, common)] : [])]
  return dirs.flatMap(dir => [join(dir, 'config'), join(dir, 'config.worktree')])
}

/** The configuration files that may apply in a directory, which may also be in a bare repository. */
const configFiles = (start: string): string[] => {
  const files: string[] = []
  let dir = start
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const path = join(dir, '.git')
    files.push(join(dir, '.gitmodules'))
    // A worktree or a submodule has a file that names the directory.
    const target = /^gitdir: (.+)$/m.exec(readScript(path)?.text ?? '')?.[1]
    if (target !== undefined) return [...files, ...configsOf(resolve(dir, target))]
    files.push(...configsOf(path), ...configsOf(dir))
    const parent = dirname(dir)
    if (isGitDir(path) || isGitDir(dir) || parent === dir) break
    dir = parent
  }
  return files
}

/** Whether Git would take a folder below the workspace for a repository: the agent could have made it. */
export const isInNestedRepository = (cwd: string, workspace: string): boolean => {
  for (let dir = cwd; dir !== workspace; dir = dirname(dir)) {
    if (dir === dirname(dir) || existsSync(join(dir, '.git')) || isGitDir(dir)) return true
  }
  return isGitDir(workspace)
}

/** True when the repository's own configuration names programs, or cannot be found out. `paths`: the values of `-C`. */
export const hasProgramConfig = (cwd: string | null, paths: readonly string[]): boolean =>
  cwd === null ||
  configFiles(resolve(cwd, ...paths))
    .map(readScript)
    .some(file => file !== null && (!file.isWhole || NAMES_PROGRAM.test(file.text)))

const { PATH: _, LC_ALL: __, GIT_LITERAL_PATHSPECS: ___, ...STAYS_HERE } = localGitEnv(undefined)

/** Added to the environment of commands in plan mode: git refreshes no index, and starts no monitor, hook, or filter. */
export const READING_GIT_ENV: Readonly<Record<string, string>> = {
  ...STAYS_HERE,
  ...configEnv([
    ['core.fsmonitor', 'false'],
    ['core.hooksPath', '/dev/null'],
    ['core.untrackedCache', 'false'],
    ['diff.autoRefreshIndex', 'false'],
    // A submodule has a configuration of its own.
    ['diff.ignoreSubmodules', 'dirty'],
    ['diff.submodule', 'short'],
    ['filter.lfs.process', ''],
    ['filter.lfs.clean', ''],
    ['filter.lfs.required', 'false'],
  ]),
  GIT_OPTIONAL_LOCKS: '0',
  GIT_PAGER: 'cat',
}
