/** What the files of a workspace say about it: its entries, its package managers, and the commands that run its tests. */
import { opendirSync } from 'node:fs'
import { join } from 'node:path'
import { shorten } from '../../base/shorten.ts'
import { asObject, fieldsOf } from '../../base/json.ts'
import { visibleName } from '../../base/visible.ts'
import type { Bounds } from '../../store/dir-handle.ts'
import { readContextFile } from './read-context-file.ts'
import type { WorkspaceGitOptions } from '../../workspaces/git.ts'
import { projectRoot } from './context-files.ts'
import { changedFiles, openFacts, STATUS } from './git-facts.ts'

const MAX_NAMES = 40
const MAX_NAME_CHARS = 40
const MAX_LISTING_CHARS = 700
/** Enough to name the first ones in order; a larger directory is counted up to here. */
const MAX_ENTRIES = 2_000

/** Lock files and manifests, and what they are managed with. */
const MANAGERS: readonly (readonly [file: string, manager: string])[] = [
  ['package-lock.json', 'npm'],
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['deno.lock', 'deno'],
  ['uv.lock', 'uv'],
  ['poetry.lock', 'poetry'],
  ['Pipfile.lock', 'pipenv'],
  ['requirements.txt', 'pip'],
  ['Cargo.toml', 'cargo'],
  ['go.mod', 'go'],
  ['Gemfile.lock', 'bundler'],
  ['composer.lock', 'composer'],
  ['mix.exs', 'mix'],
  ['pom.xml', 'maven'],
  ['build.gradle', 'gradle'],
  ['build.gradle.kts', 'gradle'],
]

type Entries = { names: ReadonlySet<string>; listing: string }

/** Directories end with `/`. Null for an unreadable directory. */
const readEntries = (dir: string): Entries | null => {
  const entries: { name: string; isDir: boolean }[] = []
  try {
    using opened = opendirSync(dir)
    for (let entry = opened.readSync(); entry; entry = opened.readSync()) {
      if (entry.name !== '.git') entries.push({ name: entry.name, isDir: entry.isDirectory() })
      if (entries.length >= MAX_ENTRIES) break
    }
  } catch {
    // Missing or not readable: the tools will say so.
    return null
  }
  entries.sort((a, b) => Number(b.isDir) - Number(a.isDir) || (a.name < b.name ? -1 : 1))
  const names: string[] = []
  let chars = 0
  for (const { name, isDir } of entries.slice(0, MAX_NAMES)) {
    const text = shorten(visibleName(name), MAX_NAME_CHARS) + (isDir ? '/' : '')
    chars += text.length + 2
    if (chars > MAX_LISTING_CHARS) break
    names.push(text)
  }
  const count = entries.length - names.length
  const more =
    count > 0 ? ` … and ${count}${entries.length >= MAX_ENTRIES ? ' or more' : ''} others` : ''
  return {
    names: new Set(entries.map(({ name }) => name)),
    listing: names.length === 0 ? 'empty' : names.join(', ') + more,
  }
}

/** What `npm init` writes in place of a test command. */
const NO_TEST = /no test specified/

/** Commands that the files name for certain; a guess would send the model the wrong way. */
const testCommands = (
  names: ReadonlySet<string>,
  managers: readonly string[],
  read: (name: string) => string | undefined,
): string[] => {
  const commands: string[] = []
  if (names.has('package.json')) {
    const { test } = asObject(fieldsOf(read('package.json') ?? '').scripts)
    const manager = ['pnpm', 'yarn', 'bun'].find(name => managers.includes(name)) ?? 'npm'
    if (typeof test === 'string' && !NO_TEST.test(test))
      commands.push(manager === 'bun' ? 'bun run test' : `${manager} test`)
  }
  if (names.has('deno.json') && 'test' in asObject(fieldsOf(read('deno.json') ?? '').tasks))
    commands.push('deno task test')
  if (names.has('Cargo.toml')) commands.push('cargo test')
  if (names.has('go.mod')) commands.push('go test ./...')
  const python = `${read('pyproject.toml') ?? ''}\n${names.has('pytest.ini') ? '[pytest]' : ''}`
  if (/^\[(?:tool\.pytest[.\w]*|pytest)\]/m.test(python)) {
    const runner = ['uv', 'poetry', 'pipenv'].find(name => managers.includes(name))
    commands.push(runner ? `${runner} run pytest` : 'pytest')
  }
  if (names.has('mix.exs')) commands.push('mix test')
  if (/^test[ \t]*:(?!=)/m.test(read('Makefile') ?? '')) commands.push('make test')
  return commands
}

type Project = { managers: string[]; tests: string[] }

const projectIn = (bounds: Bounds, dir: string, names: ReadonlySet<string>): Project => {
  const managers = [
    ...new Set(MANAGERS.filter(([file]) => names.has(file)).map(([, manager]) => manager)),
  ]
  const read = (name: string) =>
    names.has(name) ? readContextFile(bounds, join(dir, name))?.text : undefined
  return { managers, tests: testCommands(names, managers, read) }
}

/**
 * Lines for the prompt; empty for a directory that cannot be read. Both are real paths; the repository's root, which is
 * also that of the bounds, describes the project where the workspace itself does not.
 */
export const projectFacts = (bounds: Bounds, workspace: string): string[] => {
  const entries = readEntries(workspace)
  if (!entries) return []
  const own = projectIn(bounds, workspace, entries.names)
  const isOwn = workspace === bounds.root || [...own.managers, ...own.tests].length > 0
  const { managers, tests } = isOwn
    ? own
    : projectIn(bounds, bounds.root, readEntries(bounds.root)?.names ?? new Set())
  const where = isOwn ? '' : ` (in ${visibleName(bounds.root)})`
  return [
    `- Workspace entries: ${entries.listing}`,
    ...(managers.length > 0 ? [`- Package managers${where}: ${managers.join(', ')}`] : []),
    ...(tests.length > 0 ? [`- Tests${where}: ${tests.join(', ')}`] : []),
  ]
}

/** What the page suggests from the files of a workspace. */
const startingProject = (bounds: Bounds) => {
  const names = readEntries(bounds.root)?.names ?? new Set<string>()
  return {
    empty: names.size === 0,
    readme: [...names].some(name => /^readme(?:\.|$)/i.test(name)),
    test_command: projectIn(bounds, bounds.root, names).tests[0] ?? null,
  }
}

export type StartingFacts = {
  /** There is nothing in the directory. */
  empty: boolean
  readme: boolean
  /** The command that runs the tests, where a file names it. */
  test_command: string | null
  /** Uncommitted files; null without a repository, or when git did not answer in time. */
  changed_files: number | null
  /** TODO and FIXME marks in files that git tracks; null like `changed_files`. */
  todos: number | null
}

const NO_MATCH = 1

const countChanges = async (root: string, options: WorkspaceGitOptions) => {
  const read = await openFacts(root, options)
  const [status, marks] = await Promise.all([
    read?.(STATUS),
    read?.(['grep', '-I', '-c', '-w', '--no-color', '-e', 'TODO', '-e', 'FIXME'], NO_MATCH),
  ])
  const counts = marks?.split('\n').map(line => Number(/:(\d+)$/.exec(line)?.[1] ?? 0))
  return {
    changed_files: status == null ? null : changedFiles(status).length,
    todos: counts ? counts.reduce((sum, count) => sum + count, 0) : null,
  }
}

/** `bounds`: the workspace, without what is hidden from requests. */
export const startingFacts = async (
  bounds: Bounds,
  git: WorkspaceGitOptions,
): Promise<StartingFacts> => ({
  ...startingProject(bounds),
  ...(await countChanges(projectRoot(bounds.root), git)),
})
