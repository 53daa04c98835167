/** Real git repositories for tests: a remote, a clone that pushes to it, and a checkout. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { tempDir } from './_temp-dir.ts'

/** Excludes the user's git configuration: no hooks, no signing, no name. */
export const GIT_ENV = {
  PATH: process.env.PATH ?? '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.invalid',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.invalid',
  LC_ALL: 'C',
}

export const git = (dir: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd: dir, env: GIT_ENV, encoding: 'utf8', stdio: 'pipe' }).trim()

export const writeFiles = (dir: string, files: Readonly<Record<string, string>>): void => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
}

/** Creating a repository takes a dozen processes; copying one takes none. */
const templates = new Map<string, string>()

const makeTemplate = (files: Readonly<Record<string, string>>): string => {
  const root = tempDir('git-template')
  process.once('exit', () => rmSync(root, { recursive: true, force: true }))
  const at = (name: string) => join(root, name)
  git(root, 'init', '--quiet', '--template=', '--bare', '--initial-branch=main', 'remote')
  git(root, 'clone', '--quiet', '--template=', 'remote', 'other')
  writeFiles(at('other'), files)
  git(at('other'), 'add', '-A')
  git(at('other'), 'commit', '--quiet', '-m', 'first')
  git(at('other'), 'push', '--quiet', 'origin', 'HEAD:main')
  git(root, 'clone', '--quiet', '--template=', 'remote', 'checkout')
  // Relative, so that a copy of all three is self-contained.
  for (const name of ['other', 'checkout'])
    git(at(name), 'remote', 'set-url', 'origin', '../remote')
  return root
}

export type Repositories = ReturnType<typeof createRepositories>

/** `checkout` is a clone of `remote`; `push` commits and pushes in a second clone. */
export const createRepositories = (files: Readonly<Record<string, string>>) => {
  const key = JSON.stringify(files)
  const template = templates.get(key) ?? makeTemplate(files)
  templates.set(key, template)
  const root = tempDir('git')
  cpSync(template, root, { recursive: true, preserveTimestamps: true })
  const [remote, other, checkout] = ['remote', 'other', 'checkout'].map(name =>
    join(root, name),
  ) as [string, string, string]
  return {
    root,
    remote,
    checkout,
    push(changed: Readonly<Record<string, string>>): string {
      writeFiles(other, changed)
      git(other, 'add', '-A')
      git(other, 'commit', '--quiet', '-m', 'change')
      git(other, 'push', '--quiet', 'origin', 'HEAD:main')
      return git(other, 'rev-parse', 'HEAD')
    },
    head: () => git(checkout, 'rev-parse', 'HEAD'),
    status: () => git(checkout, 'status', '--porcelain'),
    git: (...args: string[]) => git(checkout, ...args),
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}
